"""What may be taken away from CUDA C++ in string literals: passes like those on Python, in the same reduction.

They read `Program.literals` and find nothing in a program without any. `shrinkray_gpu.source.cuda` has what they share.
"""
