"""Which line of the source each line of a compiler's output stands for: MLIR locations, LLVM's debug metadata, `.loc`
of PTX, the line table that nvdisasm prints. Of code that was inlined from elsewhere: the line of ours that called it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from shrinkray_gpu.device.instruction import Instruction

_NAMED = re.compile(r"^(#loc\d*) = loc\((.*)\)\s*$", re.MULTILINE)
_AT_END = re.compile(r"\bloc\((#loc\d*|.*)\)\s*\{?$")
_FILE = re.compile(r'"([^"]*)":(\d+):\d+')
_USED = re.compile(r"#loc\d*\b")
_DBG = re.compile(r"!dbg !(\d+)")
_META = re.compile(r"^!(\d+) = (?:distinct )?(!DI\w+)\((.*)\)\s*$", re.MULTILINE)
_LOC = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)\s+\d+(?:.*inlined_at\s+(\d+)\s+(\d+))?")
_PTX_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', re.MULTILINE)


def source_lines(stage: str, text: str, file: str) -> list[int]:
    """For each line of the text the line of `file` (a name without folders), 0 where it has none."""
    if stage in ("ttir", "ttgir", "mlir"):
        return _of_mlir(text, file)
    if stage == "llir":
        return _of_llvm(text, file)
    if stage == "ptx":
        return _of_ptx(text, file)
    return [0] * len(text.splitlines())


def sass_lines(listing: Sequence[Instruction], file: str) -> list[int]:
    """The same for SASS."""
    return [one.line if _name(one.file) == file else 0 for one in listing]


def _of_mlir(text: str, file: str) -> list[int]:
    named = dict(_NAMED.findall(text))
    known: dict[str, int] = {}

    def line(told: str, depth: int = 0) -> int:
        """Of several places the first that is in our file: the callee's, then the caller's."""
        if depth > 20:
            return 0
        for name, number in _FILE.findall(told):
            if _name(name) == file:
                return int(number)
        for name in _USED.findall(told):
            if name not in known:
                known[name] = line(named.get(name, ""), depth + 1)
            if known[name]:
                return known[name]
        return 0

    found = []
    for each in text.splitlines():
        at = _AT_END.search(each)
        found.append(line(at.group(1)) if at and not each.startswith("#loc") else 0)
    return found


def _of_llvm(text: str, file: str) -> list[int]:
    meta = {number: (kind, fields) for number, kind, fields in _META.findall(text)}

    def line(number: str, depth: int = 0) -> int:
        kind, fields = meta.get(number, ("", ""))
        if kind != "!DILocation" or depth > 20:
            return 0
        if _name(_file_of(_field(fields, "scope"), meta)) == file:
            return int(_field(fields, "line") or 0)
        return line(_field(fields, "inlinedAt"), depth + 1)

    return [line(found.group(1)) if (found := _DBG.search(each)) else 0 for each in text.splitlines()]


def _file_of(scope: str, meta: Mapping[str, tuple[str, str]]) -> str:
    for _ in range(20):
        kind, fields = meta.get(scope, ("", ""))
        if kind == "!DIFile":
            found = re.search(r'filename: "([^"]*)"', fields)
            return found.group(1) if found else ""
        scope = _field(fields, "file") or _field(fields, "scope")
    return ""


def _field(fields: str, name: str) -> str:
    found = re.search(rf"\b{name}: !?(\d+)", fields)
    return found.group(1) if found else ""


def _of_ptx(text: str, file: str) -> list[int]:
    files = {number: _name(path) for number, path in _PTX_FILE.findall(text)}
    found, now = [], 0
    for each in text.splitlines():
        at = _LOC.match(each)
        if at:
            number, line, outer, outer_line = at.groups()
            now = int(line) if files.get(number) == file else int(outer_line or 0) if files.get(outer) == file else 0
        elif each.startswith(("}", ".visible", "\t.section", ".file")):
            now = 0
        found.append(now)
    return found


def _name(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]
