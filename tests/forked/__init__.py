"""Processes of the tool that tests start: forks of one that has torch and Triton imported, and no new interpreters.

To import torch takes two seconds of a core, and a reduction starts some seven interpreters that do. Nothing is
stood in for: what runs in a fork is the worker or the lane itself, below the keeper and the guard that it always has.
Only how the process came to be is another way. Tests about that (tests/runner, tests/hostile) start interpreters, and
so does one test of each kind in the other rooms. A process whose environment is another one, or that has no virtual
GPU of NVIDIA's, is a new interpreter in any case.

    server     imports torch, and forks keepers, whose commands are forks as those of a zygote are
    keepers    has keepers of this process come from a server
    command    the file that is `shrink` with such keepers
"""
