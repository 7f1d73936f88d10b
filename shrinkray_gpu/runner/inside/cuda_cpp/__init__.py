"""CUDA C++ in the user's process: builds, raw kernels, host code run without a GPU."""
