"""The verdict at the end of a reduction: of the user's own program, from the run that showed its fault.

Nothing is experimented on: the run is there, and only the smallest change that is enough may take more of them, on the
virtual GPU and for a few seconds.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from shrinkray_gpu.evidence.instruments.instrument import Subject
from shrinkray_gpu.evidence.synthesis import assemble
from shrinkray_gpu.questions.blame.blame import Blame
from shrinkray_gpu.questions.blame.trials import BlameTrials
from shrinkray_gpu.questions.blame.verdict import blame
from shrinkray_gpu.questions.blame.way import way
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import COLD, Script
from shrinkray_gpu.runner.run import Run

SECONDS = 15.0
"""For each of the two searches for a change, in the kernel and beside it; a few where nothing else is at work."""


def blame_in_brief(text: str, script: Script, setup: Setup, run: Run, *, seconds: float) -> Blame:
    """Whose fault it is that this run of the program shows. `seconds`: for one more run of it."""
    with tempfile.TemporaryDirectory(dir=setup.scratch, ignore_cleanup_errors=True) as folder:
        subject = Subject(text, script, setup, seconds, Path(folder))
        seen = assemble(subject, run, code=False)
        at = f"{seen.place.file}:{seen.place.line}" if seen.place is not None else ""
        trials = BlameTrials(text, script, setup, seconds, COLD, run, at, patience=SECONDS)
        try:
            told = replace(blame(seen, trials), next=())
            if told.of_program and not told.reached and trials.arch is not None:
                told = replace(
                    told, reached=way(trials.run(text), script)
                )  # which line launches, the search did not ask
            return told
        finally:
            trials.close()
