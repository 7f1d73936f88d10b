"""Whether a part of a seed came out as its goal says: the first expectation that does not hold is the reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.seeds.goals import Part, Twin

PASSES = "ended well (exit 0)"
"""What `shrink --check` says of a program without the fault. A twin that dies of another error has exit code 3, too."""

Shrink = Callable[[Sequence[str]], "Ended"]


@dataclass(frozen=True)
class Ended:
    """A command of the tool that has ended."""

    code: int
    text: str


class Unmet(Exception):
    """An expectation that does not hold."""


def judge(part: Part, ended: Ended, folder: Path, shrink: Shrink) -> int:
    """The repro's non-blank lines (0: there is none to be made); raises Unmet. `shrink` runs the tool's checks."""
    expected = part.expected
    if ended.code != expected.exit:
        raise Unmet(f"exit code {ended.code} instead of {expected.exit}: {last_line(ended.text)}")
    demand(expected.says, ended.text, "the output")
    if not part.check:
        return 0
    repro = folder / "repro.py"
    if not repro.exists():
        raise Unmet("there is no repro")
    text = repro.read_text(encoding="utf-8")
    lines = sum(1 for line in text.splitlines() if line.strip())
    if lines > expected.lines:
        raise Unmet(f"the repro has {lines} lines, {expected.lines} are allowed")
    demand(expected.repro, text, "the repro")
    if expected.issue:
        [issue] = folder.glob("*.shrink/ISSUE.md")
        demand(expected.issue, issue.read_text(encoding="utf-8"), "ISSUE.md")
    shown = shrink(part.check_words(repro))
    if shown.code:
        raise Unmet(f"the repro does not show the fault: {last_line(shown.text)}")
    for number, twin in enumerate(part.twins):
        _passes(part, twin, folder / f"twin_{number}.py", text, shrink)
    return lines


def demand(patterns: Sequence[str], text: str, where: str) -> None:
    for pattern in patterns:
        if not re.search(pattern, text, re.MULTILINE):
            raise Unmet(f"{where} lacks {pattern!r}")


def _passes(part: Part, twin: Twin, script: Path, repro: str, shrink: Shrink) -> None:
    changed = repro
    if twin.find:
        changed, count = re.subn(twin.find, twin.replace, repro, flags=re.MULTILINE)
        if not count:
            raise Unmet(f"the fix does not fit the repro, which lacks {twin.find!r}")
    script.write_text(changed, encoding="utf-8")
    ended = shrink(part.check_words(script, twin.env))
    if ended.code != 3 or PASSES not in ended.text:
        raise Unmet(f"the fix does not make the repro pass ({twin}): {last_line(ended.text)}")


def last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    told = next((line for line in reversed(lines) if line.startswith("shrink:")), lines[-1] if lines else "no output")
    return told[:300]
