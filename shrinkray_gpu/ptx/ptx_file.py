"""A file that holds PTX: is it one, where in it the PTX stands, how ptxas was called; and the head of a result."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from shrinkray_gpu.device import architectures
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.intermediate.ir_file import last_module
from shrinkray_gpu.ptx.ptx_text import NotPtx, PtxModule, read

SUFFIX = ".ptx"
_RESULT = "// ptxas -arch="
"""How a result begins, whatever its name."""
_LOGS = (".log", ".txt", ".out", ".err")
_BEGIN = re.compile(r"^[ \t]*\.version[ \t]+\d+\.\d+", re.M)
_TARGET = re.compile(r"^[ \t]*\.target[ \t]+(\w+)", re.M)
_RULE = re.compile(r"^={20,}[ \t]*$", re.M)
"""What Triton puts behind the PTX that it prints."""
_OF_HEAD = re.compile(r"^// (\S*ptxas) (?![\d.]*: )(.*)$", re.M)
_PRINTED = re.compile(r"^Repro command: *(\S*ptxas\S*) (.*)$", re.M)
_FAULT = re.compile(r"^// Fault: (.*)$", re.M)
_ORACLE = re.compile(r"^// Oracle: (.*)$", re.M)
_NO_END = re.compile(r"no end in ([\d.e+]+) s")
_ARCH = re.compile(r"(?:--gpu-name|-arch)[ =](\w+)")
_SNIFFED = 1 << 22
"""Characters in which PTX must begin."""


@dataclass(frozen=True)
class PtxFile:
    """PTX, and what the file says of it."""

    text: str
    flags: tuple[str, ...]
    """What ptxas was called with, but for the target and the files."""
    fault: str
    """What a result says of its fault; empty where a file says nothing."""
    arch: str = ""
    """What ptxas was called for, `sm_90`; empty where the file tells no command."""
    seconds: float | None = None
    """After which ptxas counted as one that does not end, where that is the fault."""
    oracle: tuple[str, ...] = ()
    """What ptxas was to say beside that, as `--oracle` names it."""

    @property
    def target(self) -> str:
        found = _TARGET.search(self.text)
        return found[1] if found else ""

    def module(self, path: Path) -> PtxModule:
        """Raises UsageError where the text is no PTX."""
        try:
            return read(self.text)
        except NotPtx as error:
            raise UsageError(f"{path} is no PTX that can be read: {error}. Give the whole file") from error


def holds_ptx(path: Path) -> bool:
    """Whether a file is to be taken for PTX: by its suffix, a result by how it begins, or a log with PTX in it and no
    module of IR behind."""
    if path.suffix.lower() == SUFFIX:
        return True
    is_log = path.suffix.lower() in _LOGS
    try:
        if not is_log and not path.is_file():
            return False
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            text = file.read(_SNIFFED if is_log else len(_RESULT))
            if not is_log:
                return text == _RESULT
    except OSError:
        return False
    begins = [each.start() for each in _BEGIN.finditer(text)]
    return bool(begins and _TARGET.search(text)) and begins[-1] > last_module(text)


def read_ptx(path: Path) -> PtxFile:
    """The PTX in a file; of a log the last. Raises UsageError where it cannot be read or holds none."""
    try:
        whole = path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    return ptx_in(whole, path)


def ptx_in(whole: str, path: Path) -> PtxFile:
    """The same of the text of a file, which `path` names in messages."""
    begins = list(_BEGIN.finditer(whole))
    if not begins:
        raise UsageError(f"{path} holds no PTX: no line begins with .version. Give the text that ptxas fails on")
    start = begins[-1].start()
    end = _RULE.search(whole, start)
    above = _comments_above(whole[:start])
    fault, command = _FAULT.search(above), _OF_HEAD.search(above) or _printed(whole, [each.start() for each in begins])
    told = fault[1].strip() if fault else ""
    no_end = _NO_END.fullmatch(told)
    return PtxFile(
        whole[start : end.start() if end else len(whole)],
        _flags(command[2]) if command else (),
        "no end" if no_end else told,
        arch=found[1] if command and (found := _ARCH.search(command[2])) else "",
        seconds=float(no_end[1]) if no_end else None,
        oracle=tuple(each.strip() for each in _ORACLE.findall(above)),
    )


def _comments_above(text: str) -> str:
    """The comments and empty lines that it ends with: the head of a result."""
    lines = text.splitlines()
    first = len(lines)
    while first and (not lines[first - 1].strip() or lines[first - 1].startswith("//")):
        first -= 1
    return "\n".join(lines[first:])


def _printed(whole: str, begins: Sequence[int]) -> re.Match[str] | None:
    """The command that Triton prints with the last PTX: in the block that it stands in, or behind it."""
    rules = [each.end() for each in _RULE.finditer(whole, 0, begins[-1])]
    block = max(rules[-1] if rules else 0, begins[-2] if len(begins) > 1 else 0)
    alone = not any(block <= begin < begins[-1] for begin in begins)
    before = list(_PRINTED.finditer(whole, block, begins[-1])) if alone else []
    return before[-1] if before else _PRINTED.search(whole, begins[-1])


def _flags(command: str) -> tuple[str, ...]:
    """Without target, files and what only prints."""
    words = _ARCH.sub("", command)
    words = re.sub(r"(?:^| )(?:-o|--output-file)[ =]\S+", " ", words)
    try:
        parts = shlex.split(words)
    except ValueError:
        parts = words.split()
    return tuple(each for each in parts if not each.endswith(SUFFIX) and each not in ("-v", "--verbose", "FILE"))


def gpu_name(file: PtxFile, arch: str, path: Path) -> str:
    """For what to assemble: `sm_90a` where the file's own target is that, and `--arch` says sm_90; without `--arch`
    what the file's command names, else its target. Raises UsageError where both are of two architectures, or there is
    none."""
    target = file.target
    if not arch and file.arch:
        return file.arch
    if not arch:
        if not target:
            raise UsageError(f"{path} names no .target: give --arch sm_90")
        return target
    number = architectures.number(arch)
    if number is None or not architectures.name(number).startswith("sm_"):
        raise UsageError(f"--arch {arch}: ptxas knows no such architecture; name one as sm_90")
    found = re.fullmatch(r"sm_(\d+)([a-z]?)", target)
    if found is None or int(found[1]) == number:
        return target or architectures.name(number)
    if found[2] or int(found[1]) > number:
        raise UsageError(f"{path} is for {target}, which is not assembled for {arch}: leave --arch out")
    return architectures.name(number)


def written(
    text: str,
    flags: Sequence[str],
    *,
    arch: str,
    fault: str,
    oracle: Sequence[str] = (),
    releases: Sequence[str] = (),
) -> str:
    """A result: how to call ptxas, what it then says, what it was to say, and what `releases` do, one line each."""
    head = [
        f"// ptxas {shlex.join([f'-arch={arch}', *flags])} FILE",
        f"// Fault: {fault}",
        *(f"// Oracle: {' '.join(each.splitlines())}" for each in oracle),
        *(f"// {line}" for line in releases),
        "// Again: shrink replay FILE, or with other releases: shrink replay FILE --ptxas 12.8,13.0",
    ]
    return "\n".join(head) + "\n" + text
