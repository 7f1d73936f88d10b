"""A CUDA program in a .cu: its text with its own headers in it, and how nvcc builds it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from shrinkray_gpu.device import architectures
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.lift.embed import with_includes
from shrinkray_gpu.reduction.program import normalise
from shrinkray_gpu.runner.inside.cuda_cpp.nvcc import for_any_architecture

_LINE = re.compile(r"^[ \t/*]*(?:\S*/)?nvcc[ \t]+(\S.*)$", re.MULTILINE)
_FAULT = re.compile(r"^// Fault: (.*)$", re.MULTILINE)
_SEEN = re.compile(r"^// Seen: (.*)$", re.MULTILINE)
_HEAD = re.compile(r"\A(?:[ \t]*(?://[^\n]*|/\*.*?\*/)?[ \t]*(?:\n|\Z))*", re.DOTALL)
_END = re.compile(r"\s(?:&&|;|\|\|?|>)(?:\s|$)")
_ALONE = frozenset(
    "-c --compile -dc --device-c -cubin --cubin -ptx --ptx -fatbin --fatbin -cuda --cuda -run --run -E -M -shared "
    "--shared".split()
)
"""Flags that say what is to come of a build."""
_OUTPUT = ("-o", "--output-file", "-odir", "--output-directory")
_SOURCES = (".cu", ".cpp", ".cc", ".cxx", ".c", ".o", ".obj")
_PATHS = ("-I", "-isystem", "--include-path", "--system-include", "-L", "--library-path", "-include")
_NAMED = re.compile(r"-(?:arch|-gpu-architecture|gencode|-generate-code)(?:=|$)")


@dataclass(frozen=True)
class CuFile:
    """The program as it will be reduced."""

    text: str
    """With the headers of its own in their places."""
    files: tuple[Path, ...]
    """The .cu, and those headers."""
    flags: tuple[str, ...]
    """For nvcc, the architecture included."""
    whole: str
    """All of the files as they are, one behind the other: what a result is compared with."""
    fault: str
    """What a result says of its fault; empty where a file says nothing."""
    seen: str = ""
    """What a result says that compute-sanitizer saw; empty likewise."""


def read_cu(path: Path, flags: Sequence[str] | None, arch: int | None, *, gpu: bool = False) -> CuFile:
    """The program in a file; `flags` for nvcc, None: those of its head. `gpu`: this machine has one.

    Raises UsageError where it cannot be read, where its nvcc line names further sources, or where nothing names an
    architecture.
    """
    try:
        files: list[Path] = []
        text = normalise(with_includes(path, files))
        whole = "\n".join(each.read_text(encoding="utf-8", errors="replace") for each in files)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    if not text.strip() or "\0" in text:
        raise UsageError(f"{path} is no CUDA program: it {'is empty' if not text.strip() else 'holds a zero byte'}")
    found = _HEAD.match(files[0].read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n"))
    head = found.group() if found else ""
    line = _LINE.search(head)
    given = list(flags) if flags is not None else _words(line[1], path) if line else []
    kept = _for_architecture([*_kept(given, path)], arch, path, gpu=gpu)
    told, seen = (found[1].strip() if (found := each.search(head)) else "" for each in (_FAULT, _SEEN))
    return CuFile(text, tuple(files), tuple(kept), whole, told, seen)


def _words(line: str, path: Path) -> list[str]:
    command = _END.split(line.rstrip("*/ \t"), maxsplit=1)[0]
    try:
        return shlex.split(command)
    except ValueError as error:
        raise UsageError(f"{path}: its nvcc line cannot be read ({error}). Give the flags by --nvcc 'FLAGS'") from error


def _kept(words: Sequence[str], path: Path) -> Iterator[str]:
    """The flags without what comes of the build, and without the file. Paths are absolute: a try has a folder of its
    own."""
    rest = iter(words)
    for word in rest:
        if word in _OUTPUT:
            next(rest, None)
        elif word in _ALONE or word.startswith(("-o=", "--output-file=")) or Path(word).name == path.name:
            continue
        elif not word.startswith("-") and word.endswith(_SOURCES):
            raise UsageError(
                f"{path}: its nvcc line names {word} too, and one .cu is reduced: include it, or reduce the whole "
                "command by a script"
            )
        elif word in _PATHS:
            yield word
            yield _absolute(next(rest, ""), path)
        elif word[:2] in ("-I", "-L") and len(word) > 2:
            yield word[:2] + _absolute(word[2:].removeprefix("="), path)
        else:
            yield word


def _absolute(place: str, path: Path) -> str:
    beside = path.parent.absolute() / place
    return str(beside if beside.exists() else Path.cwd() / place)


def _for_architecture(flags: list[str], arch: int | None, path: Path, *, gpu: bool) -> list[str]:
    if arch is None:
        if any(map(_NAMED.match, flags)):
            return flags
        if gpu:
            return ["-arch=native", *flags]
        raise UsageError(
            f"{path} names no architecture: give --arch sm_90, or flags by --nvcc '-arch=sm_90', or write a comment "
            "`// nvcc -arch=sm_90` into its head"
        )
    specific = "a" if re.search(rf"_{arch}a\b", " ".join(flags)) else ""
    return [f"-arch={architectures.name(arch)}{specific}", *for_any_architecture(flags)]
