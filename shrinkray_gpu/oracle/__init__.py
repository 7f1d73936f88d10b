"""Decides whether a Run shows the same fault. `parse` what the user typed, `calibrate` by the original, then `judge`.

spec.py          the one table of what can be typed, and its parser
oracle.py        what all oracles share, and their composition
needs.py         what kind of run an oracle judges, read by the runner and the calibration
sticky.py words.py endings.py hang.py compiled.py build_failure.py differs.py sanitizer_report.py script.py  kinds
same.py carried.py     a kind, bound to the original's own fault
driver_error.py  the sticky error of a run, and who says so
speech.py        what counts as a failing run's own words
fault.py         the Fault that a Run shows, compared by meaning
adopt.py         the SPEC for a fault seen, and words for one that was not
"""

from shrinkray_gpu.oracle.adopt import adopt, beside_kernels, describe, nearest, obstacle, swallowed
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.oracle.oracle import Oracle, all_of
from shrinkray_gpu.oracle.spec import parse, table, typed
from shrinkray_gpu.oracle.verdict import Answer, Verdict

__all__ = [
    "Answer",
    "Fault",
    "Oracle",
    "Verdict",
    "adopt",
    "all_of",
    "beside_kernels",
    "describe",
    "nearest",
    "obstacle",
    "parse",
    "swallowed",
    "table",
    "typed",
]
