"""Passes for what a compiler of kernels reads: accesses, masks, tiles, inline assembly."""
