"""CUDA C++ lifted: a kernel out of its extension, and a result as one .cu with a `main()`."""
