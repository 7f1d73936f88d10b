"""The headers that programs begin with, compiled once for all that begin with the same.

Half of what g++ does for a small program is to read `<vector>` and `<algorithm>`. The compiled header holds the same
text in the same order, so that a program means the same with it, and a name still needs its own header.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from threading import Lock

_HEAD = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/|#[ \t]*include[ \t]*<[^>\n]*>)*", re.S)
_INCLUDE = re.compile(r"//[^\n]*|/\*.*?\*/|(#[ \t]*include[ \t]*<[^>\n]*>)", re.S)
_OFTEN = 3
"""Programs that begin so before it is worth its while: to compile the headers takes longer than a program."""
_MOST = 12
"""Each takes some 30 MB."""


class CompiledHeaders:
    """In a folder. `prelude` is what each program begins with."""

    def __init__(self, folder: Path, prelude: str, compile: Callable[[Path], bool]) -> None:
        self.folder, self.prelude, self.compile = folder, prelude, compile
        self.seen: Counter[str] = Counter()
        self.made: dict[str, Path | None] = {}
        """By what it includes; None where that cannot be compiled alone, or is being compiled."""
        self.lock = Lock()

    def of(self, text: str) -> str:
        """The header to compile a program with: the prelude, or one that has what the program includes too."""
        includes = head(text)
        with self.lock:
            self.seen[includes] += 1
            wanted = includes and includes not in self.made
            if wanted and self.seen[includes] >= _OFTEN and len(self.made) < _MOST:
                path = self.folder / f"head{len(self.made)}.hpp"
                self.made[includes] = None
            else:
                return str(self.made.get(includes) or self.prelude)
        path.write_text(f'#include "{self.prelude}"\n{includes}\n', encoding="utf-8")
        made = self.compile(path)
        with self.lock:
            self.made[includes] = path if made else None
        return str(path if made else self.prelude)


def head(text: str) -> str:
    """The lines by which a program includes headers of the system, before it says anything else."""
    found = _HEAD.match(text)
    return "\n".join(each for each in _INCLUDE.findall(found[0]) if each) if found else ""
