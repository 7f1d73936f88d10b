"""Questions about what a compiler makes of a kernel, where nothing crashes: does this Triton emit TMA for it at all?

A number alone answers nothing. Zero may mean that the compiler does not do it, or that the pattern does not fit this
release; a hit may be a comment. So a question is put to several programs: controls, in which the answer is known, and
the ones that are asked about.

patterns.py   what is counted, in which stage of the code
counts.py     counted in code, and not in names, comments and source locations
plan.py       from the command to the programs
study.py      all of them run, counted and judged
ir_tables.py  the answers for people and for machines
"""
