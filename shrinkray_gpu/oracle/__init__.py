"""Decides whether a Run shows the same fault. `parse` what the user typed, `calibrated` by the original, then `judge`.

spec.py         the one table of what can be typed, and its parser
oracle.py       what all oracles share, and their composition
sticky.py words.py endings.py compiled.py script.py     the kinds
speech.py       what counts as a failing run's own words
cuda_errors.py  the table of CUDA errors
fault.py        the Fault that a Run shows, compared by meaning
adopt.py        the SPEC for a fault seen, and words for one that was not
"""

from .adopt import adopt, describe, nearest, obstacle
from .fault import Fault
from .oracle import Oracle, all_of
from .spec import markdown_table, parse, table
from .verdict import Answer, Verdict

__all__ = [
    "Answer",
    "Fault",
    "Oracle",
    "Verdict",
    "adopt",
    "all_of",
    "describe",
    "nearest",
    "obstacle",
    "markdown_table",
    "parse",
    "table",
]
