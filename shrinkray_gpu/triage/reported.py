"""A failure as somebody reported it: a line of junit.xml, a part of a log, a capsule."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from shrinkray_gpu.oracle import speech
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.runner.run import Failure, Run

_SETUP = re.compile(r"^failed on (?:setup|teardown) with \"([\s\S]*)\"$")
_PYTEST_FRAME = re.compile(r"^(\S+?\.py):(\d+): ", re.MULTILINE)
_PYTHON_FRAME = re.compile(r'^ *File "([^"]+)", line (\d+), in ', re.MULTILINE)
_INSTALLED = re.compile(r"(?:site|dist)-packages/|/lib/python3|^<")
_TEST_FILE = re.compile(r"^(?:conftest|test_.*|.*_test)\.py$")
_TEST_FOLDERS = frozenset({"test", "tests", "testing"})
_KERNEL = re.compile(
    r"Triton compilation failed: (\w+)"
    r"|\bat \d+:\d+:\n(?:E? +)?(?:@.*\n(?:E? +)?)*def (\w+)\("
    r"|^=+ +at (\w+)\+0x",
    re.MULTILINE,
)


@dataclass(frozen=True)
class ReportedFailure:
    """One failure, in the words of who reported it."""

    name: str
    """The test's node id as far as it is known, the log's name, the capsule's."""
    source: str
    """The file that tells of it."""
    message: str
    """Type and text of the exception, or the line that the failure is told by."""
    text: str = ""
    """All that is told of it."""
    node: str = ""
    """What pytest is given to run it here; empty where that is not known."""
    capsule: str = ""
    """Path of the capsule."""
    died: int | None = None
    """Of a test that ended its process, how that ended: its exit status, or the number of a signal below 0."""

    @property
    def subject(self) -> str:
        """What is run to see it again: several reports may be of one."""
        return self.node or self.capsule

    @property
    def key(self) -> str:
        """Tells this report from all others."""
        words = "\0".join((self.source, self.name, self.message, self.text))
        return hashlib.sha256(words.encode()).hexdigest()[:16]

    @property
    def fault(self) -> Fault | None:
        """The fault as the text has it."""
        if self.died is not None:
            return Fault.of(Run(mode="plain", exit=self.died, stderr=self.text))
        said = self.message.strip()
        if wrapped := _SETUP.match(said):
            said = wrapped[1]
        first = next(iter(said.splitlines()), "")
        raised = speech.EXCEPTION.match(first)
        if raised is None or not (raised[2] or "." in raised[1] or raised[1][:1].isupper()):
            kind, words = "AssertionError", said.removeprefix("assert ")
        else:
            kind, words = raised[1], "\n".join([raised[2] or "", *said.splitlines()[1:]]).strip()
        if not words and not self.text:
            return None
        run = Run(mode="plain", exit=1, failure=Failure(kind, words, traceback=self.text), stderr=self.text)
        return Fault.of(run)

    @property
    def kernel(self) -> str:
        """The kernel that the text names; empty where it names none."""
        found = _KERNEL.search(f"{self.message}\n{self.text}")
        return next(filter(None, found.groups()), "") if found else ""

    @property
    def frames(self) -> tuple[str, ...]:
        """The program's own lines that the text tells, the outermost first."""
        return tuple(dict.fromkeys(f"{file}:{line}" for file, line in _frames(self.text)))


def _frames(text: str) -> Iterator[tuple[str, str]]:
    """Pytest's way to write a traceback is taken where there is one: Python's may be a quotation in it."""
    for pattern in (_PYTEST_FRAME, _PYTHON_FRAME):
        found = [(file, line) for file, line in pattern.findall(text) if not _INSTALLED.search(file)]
        if found:
            yield from found
            return


def of_package(node: str, frames: tuple[str, ...]) -> tuple[str, ...]:
    """The lines of the package below the test; none where what raises is no line of it: a helper of the tests, as
    `tests/utils.py`, or `conftest.py`, fails for many reasons."""
    own = Path(node.partition("::")[0]).name

    def is_of_tests(frame: str) -> bool:
        file = Path(frame.rpartition(":")[0])
        return file.name == own or bool(_TEST_FILE.search(file.name)) or not _TEST_FOLDERS.isdisjoint(file.parts[:-1])

    if not frames or is_of_tests(frames[-1]):
        return ()
    return tuple(frame for frame in frames if not is_of_tests(frame))


def function(name: str) -> str:
    """A test without its parameters."""
    return name.partition("[")[0]
