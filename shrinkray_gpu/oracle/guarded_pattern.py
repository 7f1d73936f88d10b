"""A regex that somebody typed, with an end: `(a+)+$` would look at a line of 40 letters for years, and nothing else of
this process would run meanwhile. What can take long is searched in a process of its own, which the kernel ends when
its time is over."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
import threading
from dataclasses import dataclass
from typing import IO

from shrinkray_gpu.errors import UsageError

SECONDS = 2.0
"""Of the processor's time that one search may take."""
SHORT = 20_000
"""Characters in which a regex of one quantifier, not of a group, is always done in time."""
_QUANTIFIER = re.compile(r"\)?(?:[*+]|\{\d*,?\d*\}|(?<![(*+}?])\?)")
_SEARCHER = """
import re, signal, struct, sys
data, out = sys.stdin.buffer, sys.stdout.buffer
while head := data.read(24):
    flags, regex, text = struct.unpack("<qqq", head)
    regex, text = (data.read(size).decode("utf-8", "surrogatepass") for size in (regex, text))
    signal.setitimer(signal.ITIMER_PROF, %r)
    found = re.compile(regex, flags).search(text)
    signal.setitimer(signal.ITIMER_PROF, 0)
    out.write(struct.pack("<q", found.start() if found else -1))
    out.flush()
"""


class TooSlow(UsageError):
    """A search did not end in its time."""


@dataclass(frozen=True)
class FoundText:
    """Where a match begins, as a `re.Match` says it."""

    string: str
    begin: int

    def start(self) -> int:
        return self.begin


@dataclass(frozen=True)
class GuardedPattern:
    pattern: str
    flags: int

    def search(self, text: str) -> FoundText | None:
        """Raises TooSlow."""
        quantifiers = _QUANTIFIER.findall(self.pattern)
        single = len(quantifiers) == 1 and not quantifiers[0].startswith(")")
        if not quantifiers or (single and len(text) <= SHORT):
            match = re.compile(self.pattern, self.flags).search(text)
            return FoundText(text, match.start()) if match else None
        begin = _searcher.start(self.pattern, self.flags, text)
        return FoundText(text, begin) if begin >= 0 else None


Pattern = re.Pattern[str] | GuardedPattern


class _Searcher:
    """The process that searches, started when it is needed. It ends with this one, whose end of the pipe closes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, pattern: str, flags: int, text: str) -> int:
        """The offset at which the first match begins; -1 for none."""
        regex, data = (one.encode("utf-8", "surrogatepass") for one in (pattern, text))
        with self._lock:
            stdin, stdout = self._pipes()
            try:
                stdin.write(struct.pack("<qqq", flags, len(regex), len(data)) + regex + data)
                stdin.flush()
                answer = stdout.read(8)
            except BrokenPipeError:
                answer = b""
            if len(answer) == 8:
                return int(struct.unpack("<q", answer)[0])
            self._forget()
        raise TooSlow(
            f"the regex {pattern!r} takes more than {SECONDS:g} s on {len(text)} characters: repeat nothing that is "
            "repeated itself, as (a+)+ does"
        )

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        if self._process is None:
            words = [sys.executable, "-I", "-S", "-c", _SEARCHER % SECONDS]
            self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdin is not None and self._process.stdout is not None
        return self._process.stdin, self._process.stdout

    def _forget(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.communicate()
        self._process = None


_searcher = _Searcher()
