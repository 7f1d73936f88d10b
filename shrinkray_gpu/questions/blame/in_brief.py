"""The verdict at the end of a reduction: of the user's own program, from the run that showed its fault.

Nothing is experimented on: the run is there, and only the smallest change that is enough may take more of them, on the
virtual GPU and for a few seconds.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from shrinkray_gpu.evidence.instruments.instrument import Subject
from shrinkray_gpu.evidence.instruments.static_rules import observation
from shrinkray_gpu.evidence.synthesis import assemble
from shrinkray_gpu.questions.blame.blame import Blame
from shrinkray_gpu.questions.blame.trials import BlameTrials
from shrinkray_gpu.questions.blame.verdict import blame
from shrinkray_gpu.questions.blame.way import way
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.runner.scratch_folder import scratch_folder

SECONDS = 15.0
"""For each of the two searches for a change, in the kernel and beside it; a few where nothing else is at work."""


def blame_in_brief(
    text: str, script: Script, setup: Setup, run: Run, *, seconds: float, up: Pool | None = None
) -> Blame:
    """Whose fault it is that this run of the program shows. `seconds`: for one more run of it, in a lane of `up`: see
    BlameTrials."""
    with scratch_folder(setup.scratch) as folder:
        subject = Subject(text, script, setup, seconds, Path(folder))
        seen = assemble(subject, run, code=False)
        at = f"{seen.place.file}:{seen.place.line}" if seen.place is not None else ""
        trials = BlameTrials(text, script, setup, seconds, run, at, patience=SECONDS, up=up)
        try:
            told = replace(blame(seen, trials), next=(), line=str(seen.place or ""))
            return _located(told, trials, subject) if trials.arch is not None else told
        finally:
            trials.close()


def _located(told: Blame, trials: BlameTrials, subject: Subject) -> Blame:
    """With the program's own line, and the line that launches, which the search did not ask for: one run tells both."""
    if told.reached and (told.place or told.line):
        return told
    run = trials.run(trials.text)
    broken = next((launch for launch in run.launches if launch.fault), None)
    predicted = [observation(broken)] if broken is not None else []
    place = assemble(subject, run, predicted, code=False).place
    return replace(told, reached=told.reached or way(run, trials.script), line=told.line or str(place or ""))
