"""What reaches global memory in a kernel's machine code, by the place in the source: how many bytes at once.

Read from LLVM's IR, where Triton writes these instructions as PTX. Its own IR does not say how wide they become: a
thread's four elements may be one instruction or four.
"""

from __future__ import annotations

import functools
import re
from typing import Dict, FrozenSet, Optional, Set

from ..static.locations import SourceLocation

_LINE = re.compile(r'asm (?:sideeffect )?"((?:[^"\\]|\\.)*)".*!dbg !(\d+)')
_ACCESS = re.compile(r"(?<![a-z.])(?:ld|st|atom|red)\.[\w.:]+")  # after `\09`, a tab
_COPY = re.compile(r"(?<![a-z.])cp\.async\.[\w.:]+ \[[^\]]*\], \[[^\]]*\], (0x[0-9a-fA-F]+|\d+)")
_TYPE = re.compile(r"(?:[bsuf]|bf)(\d+)(x2)?$")
_PLACE = re.compile(r"^!(\d+) = (?:distinct )?!DILocation\(line: (\d+), column: (\d+), scope: !(\d+)", re.M)
_SCOPE = re.compile(r"^!(\d+) = (?:distinct )?!DI(?:Subprogram|LexicalBlock\w*)\(.*?file: !(\d+)", re.M)
_FILE = re.compile(r'^!(\d+) = !DIFile\(filename: "([^"]*)", directory: "([^"]*)"', re.M)


@functools.lru_cache(maxsize=16)
def widths(llir: str) -> Dict[SourceLocation, FrozenSet[int]]:
    """Bytes of each instruction that reaches global memory, by file name, line and column."""
    files = {number: name for number, name, _ in _FILE.findall(llir)}
    scopes = {number: files.get(file, "") for number, file in _SCOPE.findall(llir)}
    places = {n: (scopes.get(scope, ""), int(line), int(column)) for n, line, column, scope in _PLACE.findall(llir)}
    found: Dict[SourceLocation, Set[int]] = {}
    for text, number in _LINE.findall(llir):
        taken = _taken(text)
        if taken and number in places:
            found.setdefault(places[number], set()).update(taken)
    return {place: frozenset(taken) for place, taken in found.items()}


def widest(llir: str) -> int:
    """Bytes of the widest one, wherever it comes from; 0 where none is known."""
    return max(_taken(llir), default=0)


def _taken(text: str) -> Set[int]:
    sizes = {int(size, 0) for size in _COPY.findall(text)}
    return sizes | {width for each in set(_ACCESS.findall(text)) for width in [_width(each)] if width}


def _width(instruction: str) -> Optional[int]:
    """Bytes of `ld.global.v4.b32`; None of what is not about global memory."""
    parts = instruction.split(".")
    types = [found for found in map(_TYPE.match, parts) if found]
    if "global" not in parts or not types:
        return None
    vector = next((int(part[1:]) for part in parts if re.match(r"v\d$", part)), 1)
    return vector * int(types[-1].group(1)) * (2 if types[-1].group(2) else 1) // 8
