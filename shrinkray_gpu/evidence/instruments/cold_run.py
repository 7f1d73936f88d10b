"""The first run: the driver's code, and the last launch. All other instruments are asked because of what it shows."""

from __future__ import annotations

from dataclasses import replace

from shrinkray_gpu.device import error_table
from shrinkray_gpu.evidence.instruments.instrument import PRESENT, Statement, Subject, watched
from shrinkray_gpu.oracle import speech
from shrinkray_gpu.oracle.driver_error import sticky_code
from shrinkray_gpu.runner.run import Run

RUN = "run"
_AT_WORK = {
    "device": ", and the GPU is still at work",
    "left": ", and it ends with the GPU still at work",
    "host": ", and the host is at work, the GPU is not",
}


def cold(subject: Subject, wants: tuple[str, ...]) -> tuple[Run, Statement]:
    """The driver's code and the last launch: a cold run of ours, watched."""
    every = tuple(dict.fromkeys((*subject.script.wants, *wants)))
    return stated(*watched(subject, replace(subject.script, wants=every, sanitizer="", twins=()), subject.setup))


def stated(run: Run, seconds: float = 0.0) -> tuple[Run, Statement]:
    """What a run says, which took so many seconds of this examination."""
    code, who = sticky_code(run)
    last = run.launches[-1].kernel if run.launches else ""
    count = len(run.launches)
    launched = f"{count} launches, the last of {last}" if count > 1 else f"launch of {last}" if last else "no launch"
    said = f"{who} {error_table.by_code(code)}" if code else run.trouble or speech.ending(run)
    return run, Statement(RUN, PRESENT, f"{said}{_AT_WORK.get(run.hanging, '')}; {launched}", seconds)
