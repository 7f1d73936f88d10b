"""Capture and emit with other releases of Triton than the one installed, each in an environment of its own."""
