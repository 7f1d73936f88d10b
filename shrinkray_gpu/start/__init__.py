"""Lift first: before anything is calibrated, the program runs once, and its faulty launch alone becomes the program.

A program may take a minute to come to its fault, and all that is done with it later (calibration, controls,
fingerprints, the search) would take that minute again and again. So it runs once, cold, with its launches written down
(and again, where that run ends well: the fault may be a flaky one).
The scripts made of them are judged, each in a process of its own, by the oracle bound to the Fault of that run, and on
a device fault by the instruments (`same_fault.of_lifted`): the first that shows the same fault is what all else works
on. If none does, the program runs a second time, with what its tensors hold written down too, and at last the whole
list of its launches is tried. What that takes away tells which property the fault hangs on: the user is told.
"""

from __future__ import annotations

from shrinkray_gpu.start.beginning import begin, without
from shrinkray_gpu.start.given import Start, UserProgram

__all__ = ["UserProgram", "Start", "begin", "without"]
