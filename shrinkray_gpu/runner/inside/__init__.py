"""What runs in the user's interpreter: standard library only, nothing of ours installed there.

Loaded as the package `shrinkray_inside` by `main.py`, so that no name of ours can hide a module of the script
(`device`, `script`, `knobs` are likely names beside a kernel), and as `shrinkray_gpu.runner.inside` by the tool's
tests.
"""
