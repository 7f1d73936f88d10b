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
_SHAPES = r"(?:shapes?|strides?|dtypes?|types?|devices?|ranks?|layouts?|grids?|sizes?|dim\w*)"
_ATTRIBUTE = re.compile(
    r"attribute '[^\n]*|Scalars are not [^\n]*"
    rf"|\b{_SHAPES}(?: \w+)? (?:(?:do|does|is|are|did)(?: not|n't) |mis)?(?:match|agree|equal|differ)\w*"
    rf"|\b(?:mismatch\w*|incorrect|different)(?: \w+)? {_SHAPES}\b",
    re.IGNORECASE,
)
"""The same of what values have beside themselves, and of two numbers that may be anything."""
_COMPARES = re.compile(
    r"\b(?:all_?close|array_equal|is_?close|assert_\w*close|isnan|isfinite)\b|\btorch\.equal\b|\.(?:abs|norm)\("
)
"""Source that looks at the values of tensors."""
_METADATA = re.compile(
    r"\.asm\b|\bmetadata\b|\bn_(?:regs|spills)\b|\bis_contiguous\b"
    r"|\.(?:shape|stride\([^)]*\)|dtype|device)(?:\[[^]]*\])? *[!=]="
)
"""Source that looks at something else."""
_FRAME = re.compile(r'^ +File "(?P<file>[^"\n]*)", line \d+[^\n]*(?:\n +(?P<code>\S[^\n]*))?', re.MULTILINE)
_LIBRARY = re.compile(r"[/\\](?:site|dist)-packages[/\\]|[/\\]lib[/\\]python3")
_TESTING = re.compile(r"[/\\](?:testing|unittest|_?pytest)[/\\]|[/\\]triton[/\\]testing\.py$")
"""Libraries, and those of them whose errors are what a check says."""


def failed_check(run: Run) -> str:
    """The check of values that the run ends in, in its own words; empty where it ends in another way."""
    failure = speech.uncaught(run)
    if failure is not None:
        return speech.clip(speech.last_line(failure)) if _is_check(failure) else ""
    if run.signal is not None or run.timed_out or not run.exit:
        return ""
    return next((speech.clip(line) for line in _last_lines(run) if _says_wrong(line)), "")


def is_of_values(run: Run) -> bool:
    """Whether the check that the run ends in says itself that it is of values: in its words, or in its source."""
    failure = speech.uncaught(run)
    if failure is None:
        return bool(failed_check(run))
    asserted = _asserted(failure)
    return _says_wrong(failure.text) or _says_wrong(asserted) or bool(_COMPARES.search(asserted))


def _last_lines(run: Run) -> list[str]:
    """Of each stream, the last one that is not empty."""
    return [text.rstrip().rpartition("\n")[2] for text in (run.stderr, run.stdout)]


def _says_wrong(text: str) -> bool:
    return bool(_WORDS.search(_ATTRIBUTE.sub("", text)))


def _asserted(failure: Failure) -> str:
    """The source line of the assertion that failed; empty where it is none of the script's."""
    frames = list(_FRAME.finditer(failure.traceback))
    code = str(frames[-1]["code"]) if frames else ""
    return code if code.startswith("assert") else ""


def _is_check(failure: Failure) -> bool:
    frames = list(_FRAME.finditer(failure.traceback))
    last = frames[-1]["file"] if frames else ""
    if _LIBRARY.search(last) and not _TESTING.search(last):
        return False  # an error of the library's own, whatever it is called
    asserted = _asserted(failure)
    if _METADATA.search(asserted) and not _COMPARES.search(asserted):
        return False
    kind = failure.type.rpartition(".")[2]
    names = (kind, *(base.rpartition(".")[2] for base in failure.bases))
    raised = bool(frames) and str(frames[-1]["code"]).startswith("raise ")
    return any(map(CHECK.search, names)) or (raised and _says_wrong(failure.text))
