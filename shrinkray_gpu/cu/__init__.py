"""A CUDA program in a .cu, `main()` included: its nvcc line, what nvcc and a run say of it, and its reduction.

options      what may be asked for
cu_file      the file with its own headers in it, and how nvcc builds it
cu_program   its text as a Program, so that the engine and the passes on CUDA C++ reduce it
nvcc_words   what the compilers say, as messages that can be compared
nvcc_trial   one text, compiled as far as the fault needs, and run if a run shows it
cu_fault     what must persist
access_survey  which accesses of a run are wrong, and which of them a GPU sees
reduce_cu    the reduction, in the order of time
cu_result    the files that come of it, and a result once more
"""
