"""What may be taken away: the passes of the reducer, and the order in which they run (`schedule`).

A pass reads a Program and yields Edits; it never searches, never runs and never judges. A new pass is one file with a
`find`, one line in the table of `schedule`, one test file. Each is for a shape of programs, which its docstring names.
What must be left alone (what the user keeps, what calls that delete or write hang on) is no pass's concern:
`reduction/keep.py` takes such edits out.
"""

from __future__ import annotations

from shrinkray_gpu.passes.layout.layout import layout
from shrinkray_gpu.passes.schedule import ONE_LAUNCH, PASSES, Pass, order_for

__all__ = ["ONE_LAUNCH", "PASSES", "Pass", "layout", "order_for"]
