"""What a pass died of, so that two runs can be compared: its kind, its words, the source file they name, the pass."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field

from shrinkray_gpu.intermediate.compiler import Trial
from shrinkray_gpu.oracle.speech import signal_name

_ASSERTION = re.compile(r"^\S*?: ?(?P<file>[^\s:]+):\d+: (?P<function>.*?): Assertion `(?P<words>.*)' failed\.?$", re.M)
_UNREACHABLE = re.compile(r"^(?P<words>.*)\nUNREACHABLE executed at (?P<file>[^\s:]+):\d+", re.M)
_FATAL = re.compile(r"^LLVM ERROR: (?P<words>.*)$", re.M)
_ERROR = re.compile(r"^[^\n]*?\berror: (?P<words>.*)$", re.M)
_ECHO = re.compile(r"A signal was caught while processing|Failures have been detected while processing")
"""What MLIR says of any pass that fails, after the words that tell why."""
_CAUGHT = re.compile(r"A signal was caught while processing")
"""A segmentation fault, which MLIR turns into a failure of its pass."""
_LOOSE = (
    (re.compile(r"'[^' ]*<[^']*'"), "'_'"),
    (re.compile(r"tensor<[^>]*>"), "tensor<_>"),
    (re.compile(r"%[\w#]+"), "%_"),
    (re.compile(r"\b\d+\b"), "_"),
)
"""What differs between a program and a smaller one with the same fault, in words that quote the program."""


ASSERTION = "assertion"


@dataclass(frozen=True)
class IrFault:
    """One fault; equal faults are the same fault."""

    name: str
    """Of the pass."""
    kind: str
    words: str = field(compare=False)
    """As the compiler says them."""
    file: str = ""
    """The file of the assertion, without folders."""
    function: str = ""
    """The function that asserts."""
    compared: str = field(init=False, repr=False)
    """The words without numbers, types and names of the program's own; those of an assertion are the compiler's own."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "compared", self.words if self.kind == ASSERTION else _loose(self.words))

    def __str__(self) -> str:
        """In one line."""
        where = f"{self.file}: " if self.file else ""
        # An assertion in a header says little without the types of its function.
        function = f" in {self.function}" if self.file.endswith(".h") else ""
        return " ".join(f"{self.name}: {where}{self.words or self.kind}{function}".split())

    def is_told_by(self, line: str) -> bool:
        """Whether such a line, of another run, is of this fault."""
        return line == str(self) or self.kind != ASSERTION and _loose(line) == _loose(str(self))


def fault_in(trial: Trial, name: str) -> IrFault | None:
    """The fault of the step that the trial ended in, whose pass is called so; None if all steps were done."""
    if trial.done or trial.timed_out:
        return None
    if told := fault_told(trial.said, name):
        return told
    ended_by = os.WTERMSIG(trial.status) if os.WIFSIGNALED(trial.status) else None
    kind = kind_without_words(trial.said, ended_by)
    return IrFault(name, kind, "" if ended_by or "PassManager" in trial.raised else trial.raised.strip())


def kind_without_words(said: str, ended_by: int | None) -> str:
    """What a pass did of which the compiler tells nothing more; `ended_by`: the signal of its process."""
    if ended_by:
        return f"signal {signal_name(ended_by)}"
    return "a crash without words" if _CAUGHT.search(said) else "a failure without words"


def fault_told(said: str, name: str) -> IrFault | None:
    """The fault that these words of the compiler tell of; None if they tell of none."""
    if found := _ASSERTION.search(said):
        function = re.sub(r"\s+", " ", found["function"])
        return IrFault(name, ASSERTION, found["words"], _file(found["file"]), function)
    if found := _UNREACHABLE.search(said):
        return IrFault(name, "unreachable", found["words"].strip(), _file(found["file"]))
    if found := _FATAL.search(said):
        # What is fatal may be the same words for each reason, which an error before it tells.
        reason = _error(said[: found.start()])
        return IrFault(name, "LLVM error", "; ".join(filter(None, (reason, found["words"].strip()))))
    reason = _error(said)
    return IrFault(name, "error", reason) if reason else None


def _error(said: str) -> str:
    """The first error that is told, without what MLIR says of any pass that fails; empty if there is none."""
    told = (found["words"].strip() for found in _ERROR.finditer(said) if not _ECHO.search(found["words"]))
    return next(told, "")


def _file(path: str) -> str:
    return path.rpartition("/")[2]


def _loose(words: str) -> str:
    for pattern, instead in _LOOSE:
        words = pattern.sub(instead, words)
    return words.strip()
