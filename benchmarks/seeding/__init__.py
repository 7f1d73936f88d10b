"""Seeded faults in kernels that nobody here wrote: the parts of `benchmarks/seeded.py`.

packages    released packages with Triton kernels, in a folder of their own, and copies with one file changed
programs    our calls of their kernels, a short script each, from the files in calls/
places      expressions of a source, each with its function and its statement
operators   one fault each: where a source could have it, the text with it, and the inverse
oracles     which oracle sees which operator's fault, and whether this tree has it
cases       which fault is planted where, by a seed; halves
runs        one run of a text
reducing    one reduction, by the command that users have
truth       whether a repro still has the planted fault: the fix, carried to what is left of its place
scoreboard  figures by half, package and operator, with 95 % intervals
"""
