"""Whole programs of host Python, about 300 lines each, drawn from a seed: `program(seed)`.

spines     what a program does from `main` down to the method that fails
faults     how it fails there
surroundings    what else stands in such a file: helpers, tables, classes, of which a run uses some
draw       one of each, with names of its own
"""
