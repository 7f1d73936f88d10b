"""What ptxas died of, or complained of, so that two runs can be compared."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from shrinkray_gpu.oracle.guarded_pattern import Pattern
from shrinkray_gpu.oracle.speech import signal_name

_MESSAGE = re.compile(r"^ptxas (?:.*?, line (?P<line>\d+); *)?(?P<level>error|fatal) *: (?P<words>.*)$", re.M)
_ECHO = re.compile(r"Ptx assembly aborted due to errors")
"""What it says of any error, behind the words that tell why."""
_REGISTER = re.compile(r"%[A-Za-z_]\w*")
_NUMBER = re.compile(r"\b(?:0x[0-9a-f]+|\d+)\b")
_KILLERS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_NO_MEMORY = re.compile(r"^ptxas .*Memory allocation failure", re.M)
KILLED = "ptxas was killed (out of memory?)"
_VERSION = re.compile(r"Unsupported \.version|is not defined for option 'gpu-name'")
"""What it says of PTX, or of a target, that is newer or older than it knows."""


@dataclass(frozen=True)
class PtxasMessage:
    """One error, without numbers and names of registers. `statement`: the key of the one that it is told of, 0 for
    none. The same words of another statement are another error, for an edit may have made that one."""

    words: str
    statement: int = 0


@dataclass(frozen=True)
class PtxasFault:
    """How ptxas ended; equal in `kind` and `message` is the same fault."""

    kind: str
    """`error`, `signal SIGSEGV`, `no end`, `exit status 1`."""
    message: PtxasMessage | None
    """The one that the fault is known by; a crash may have none."""
    said: frozenset[PtxasMessage] = frozenset()
    """All errors. One that the file did not have before is of an edit's making."""

    def __str__(self) -> str:
        """In one line."""
        words = self.message.words if self.message is not None else ""
        return words if self.kind == "error" and words else f"{self.kind}{f': {words}' if words else ''}"

    @property
    def anywhere(self) -> PtxasFault:
        """The same fault, whichever statements it is told of."""
        bare = {message: replace(message, statement=0) for message in self.said}
        message = bare[self.message] if self.message is not None else None
        return replace(self, message=message, said=frozenset(bare.values()))

    @property
    def of_release(self) -> bool:
        """Whether this release of ptxas just does not know the version or the target that the file names."""
        return any(_VERSION.search(each.words) for each in self.said)


def messages(said: str, keys: Mapping[int, int]) -> list[tuple[PtxasMessage, str]]:
    """The errors, in the order told, each with its words as they were; `keys`: of the statements, by line."""
    return [
        (PtxasMessage(_loose(found["words"]), keys.get(int(found["line"] or 0), 0)), found["words"].strip())
        for found in _MESSAGE.finditer(said)
        if not _ECHO.search(found["words"])
    ]


def says(said: str, words: Iterable[Pattern]) -> bool:
    """Whether all words are there, in an error or anywhere else."""
    told = [said, *(as_told for _, as_told in messages(said, {}))]
    return all(any(map(each.search, told)) for each in words)


def was_killed(status: int | None, said: str) -> bool:
    """Whether the machine, or somebody, ended it: that tells nothing of the text."""
    return _signal(status) in _KILLERS or bool(status) and bool(_NO_MEMORY.search(said))


def fault_in(
    status: int | None, said: str, keys: Mapping[int, int], like: PtxasFault | None = None
) -> PtxasFault | None:
    """The fault of a run that ended so, `None` for a run whose time was over. Known by the message of `like` where it
    has that one, else by the first; None for a run without a fault, and for one that was killed."""
    if status == 0 or was_killed(status, said):
        return None
    told = [message for message, _ in messages(said, keys)]
    kind = _kind(status, bool(told))
    wanted = like.message if like is not None else None
    message = wanted if wanted in told else next(iter(told), None)
    return PtxasFault(kind, message, frozenset(told))


def _kind(status: int | None, told: bool) -> str:
    if status is None:
        return "no end"
    if (died := _signal(status)) is not None:
        return f"signal {signal_name(died)}"
    return "error" if told else f"exit status {status}"


def _signal(status: int | None) -> int | None:
    if status is None or status < 0:
        return status and -status
    number = status - 128  # a shell around ptxas counts from 128
    return number if number in signal.Signals.__members__.values() else None


def _loose(words: str) -> str:
    return _NUMBER.sub("N", _REGISTER.sub("%_", words)).strip()
