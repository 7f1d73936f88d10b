"""Whether a run ends in a check of values, or in any other error: words that fit any two tensors need their kernel."""

from __future__ import annotations

import re

from shrinkray_gpu.oracle import speech
from shrinkray_gpu.runner.run import Failure, Run

CHECK = re.compile(r"^Failed$|Assert|Tolerance|Mismatch")
"""Exceptions that a check raises: pytest.fail's, Python's, and those of people's own that are called so."""
_WORDS = re.compile(
    r"mismatch|(?:not|n't) (?:match|agree|equal|all ?close|close|finite)|differ(?!ent (?:device|dtype|type|shape))"
    r"|disagree|wrong (?:result|value|output|number)|incorrect|toleranc|\bnans?\b|\binfs?\b|\b(?:max|abs|rel)\w* err",
    re.IGNORECASE,
)
"""How scripts say of values that they are not what they should be."""
_FRAME = re.compile(r'^ +File "(?P<file>[^"\n]*)", line \d+[^\n]*(?:\n +(?P<code>\S[^\n]*))?', re.MULTILINE)
_LIBRARY = re.compile(r"[/\\](?:site|dist)-packages[/\\]|[/\\]lib[/\\]python3")
_TESTING = re.compile(r"[/\\](?:testing|unittest|_?pytest)[/\\]")
"""Libraries, and those of them whose errors are what a check says."""
LINES = 5
"""Last ones of what a script prints that exits by itself."""


def failed_check(run: Run) -> str:
    """The check of values that the run ends in, in its own words; empty where it ends in another way."""
    failure = speech.uncaught(run)
    if failure is not None:
        return speech.clip(speech.last_line(failure)) if _is_check(failure) else ""
    if run.signal is not None or run.timed_out or not run.exit:
        return ""
    printed = [line for text in (run.stdout, run.stderr) for line in text.splitlines()[-LINES:]]
    return next((speech.clip(line) for line in reversed(printed) if _WORDS.search(line)), "")


def _is_check(failure: Failure) -> bool:
    frames = list(_FRAME.finditer(failure.traceback))
    last = frames[-1]["file"] if frames else ""
    if _LIBRARY.search(last) and not _TESTING.search(last):
        return False  # an error of the library's own, whatever it is called
    kind = failure.type.rpartition(".")[2]
    names = (kind, *(base.rpartition(".")[2] for base in failure.bases))
    raised = bool(frames) and str(frames[-1]["code"]).startswith("raise ")
    return any(map(CHECK.search, names)) or (raised and bool(_WORDS.search(failure.text)))
