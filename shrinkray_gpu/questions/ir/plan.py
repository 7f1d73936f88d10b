"""From the command to the programs: the file itself, another file, settings, arguments; and what each is asked for."""

from __future__ import annotations

import enum
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.questions.varying import Axis, ConfiguredProgram, Setting, UserScript, configure, program_at
from shrinkray_gpu.questions.varying.settings import setting


class Role(enum.Enum):
    KNOWN = "known"
    """It surely has what is counted: a zero here is a pattern that does not fit."""
    GOOD = "good"
    """The positive control: all is as it should be, so it should have it."""
    BAD = "bad"
    """The negative control: it cannot have it."""
    STRESS = "stress"
    """What the question is about."""
    OVER = "over"
    """The first good one with one value changed."""


@dataclass(frozen=True)
class StudyTest:
    """One program, and its part in the study."""

    role: Role
    name: str
    """Unlike all others: `good`, `stress 2`, `NUM_STAGES=1`."""
    told: str
    """What it is, as typed."""
    program: ConfiguredProgram
    axis: str = ""

    @property
    def slug(self) -> str:
        """Its name as that of a folder, not unlike all others any more."""
        return re.sub(r"[^\w.=-]+", "_", self.name).strip("_")


def tests(
    file: Path,
    *,
    argv: Sequence[str] = (),
    known: Sequence[str] = (),
    good: Sequence[str] = (),
    bad: Sequence[str] = (),
    stress: Sequence[str] = (),
    over: Sequence[Axis] = (),
) -> list[StudyTest]:
    """All tests in the order in which they are judged. Without a `good` one that is the file as it is.

    Raises UsageError for a variant that names no file, or a name that the file does not have.
    """
    base = program_at(file, argv)
    found: list[StudyTest] = []
    for role, texts in ((Role.KNOWN, known), (Role.GOOD, good or [""]), (Role.BAD, bad), (Role.STRESS, stress)):
        for number, text in enumerate(texts, 1):
            name = role.value if len(texts) == 1 else f"{role.value} {number}"
            found.append(StudyTest(role, name, text or file.name, _variant(base, text, role)))
    for axis in over:
        for one in axis.settings:
            program = _variant(base, (good or [""])[0], Role.GOOD, one)
            found.append(StudyTest(Role.OVER, str(one), str(one), program, axis.name))
    return found


def _variant(base: UserScript, text: str, role: Role, *more: Setting) -> ConfiguredProgram:
    """`other.py BLOCK=64 -- --flag`: another file, settings, and after `--` other arguments, each of them optional."""
    option = f"--{role.value}"
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"{option} {text!r}: {error}") from error
    before, after = (words[: words.index("--")], words[words.index("--") + 1 :]) if "--" in words else (words, None)
    files = [word for word in before if word.endswith(".py") and "=" not in word]
    if len(files) > 1:
        raise UsageError(f"{option} {text!r} names {len(files)} files: a test is one program")
    program = base
    if files:
        program = program_at(Path(files[0]), () if after is None else after)
    elif after is not None:
        program = UserScript(base.path, base.text, tuple(after))
    return configure(program, [*(setting(word, option=option) for word in before if word not in files), *more])
