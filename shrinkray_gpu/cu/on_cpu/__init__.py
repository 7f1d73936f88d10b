"""The kernels of a .cu on the CPU: an answer in half a second where a GPU and compute-sanitizer take several.

    prelude.hpp    what stands for CUDA where g++ reads the kernels
    machine.cpp    the machine that runs them, and looks at each access
    runtime.hpp    the calls of CUDA's runtime there
    pages.hpp      where a GPU has memory, and what is not known of that
    host_blocks.hpp  the blocks that the host's `new` gave
    survey.hpp     what a survey of a run notes
    cpu_text       a .cu as g++ can read it
    headers        what programs include, compiled once
    bounds         comparisons that are too lax by one step
    cpu_alone      the same without a GPU, beside nvcc: what it says is not confirmed
    cpu_trial      built and run so; whether that shows of the original what the GPU showed

A "yes" from here is a guess, which the GPU confirms beside the search; see `reduce_cu`.
"""
