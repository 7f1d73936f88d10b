"""Passes for any Python, host or kernel: statements, branches, definitions, expressions, numbers, names."""
