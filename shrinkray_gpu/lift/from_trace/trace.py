"""A trace written by tritonparse in the place of a program: one of its launches, as a script.

A trace is a file of JSON objects, one a line: `compilation` events hold a kernel's source and `launch` events its
arguments by shape, stride and address, as tritonparse 0.6 writes them, plain or with gzip, or as its parser rewrites
them (which adds kinds of events that are not needed here). Large ones are gigabytes of IR, so one line is held at a
time. `trace_launch` makes a launch of two events, `trace_source` a kernel that stands alone of its file's text.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import IO, Any

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.lift.emit import lifts, obstacle
from shrinkray_gpu.lift.from_trace import trace_launch
from shrinkray_gpu.lift.from_trace.trace_values import Odd
from shrinkray_gpu.reduction.comment_above import one_line

SUFFIXES = (".ndjson", ".ndjson.gz")
ANOTHER = "Choose another one with --launch, or reduce the program that was traced"
LONGEST = 1 << 29
"""Bytes of a line, which holds a kernel's IR in all its stages."""
TOLD = 30
"""Lines of the list of launches that a message shows."""
TOLD_OF = 200
"""Characters of a name that it shows."""
_BROKEN = "broken off"
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


def is_trace(path: Path) -> bool:
    return path.name.endswith(SUFFIXES)


def stem(path: Path) -> str:
    """The name of a trace without what says that it is one."""
    name = path.name
    for suffix in (".gz", ".ndjson", ".bin"):
        name = name.removesuffix(suffix)
    return name


def script(path: Path, launch: int | None = None) -> str:
    """The script that makes this launch of the trace again. Launches count from 0, as in the list that the message
    shows when `launch` is needed and missing; -1 is the last one, also by default where there is only one kernel."""
    trace = _read(path)
    number = _chosen(trace, launch)
    event = next(e for n, e in enumerate(_launches(path)) if n == number)
    where = f"launch {number} of {one_line(path.name)}"
    try:
        record = trace_launch.record(event, trace.compilations, where)
        texts = lifts(record)
    except Odd as error:
        raise UsageError(f"{where}: {error}. {ANOTHER}") from error
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        why = "its source is nested too deep" if isinstance(error, (RecursionError, MemoryError)) else str(error)
        raise UsageError(f"{where} cannot be made a script: {one_line(why)}. {ANOTHER}") from error
    if not texts:
        raise UsageError(
            f"{where}, kernel {record['kernel']}, cannot be made a script: "
            f"{obstacle(record) or 'an argument of it cannot be written down'}. {ANOTHER}"
        )
    return f"# Launch {number} of {one_line(path.name)}, a trace by tritonparse.\n{texts[0]}"


def script_file(path: Path, launch: int | None, folder: Path) -> Path:
    """The script as a file in this folder. It stays, and is the program that is reduced."""
    text = script(path, launch)
    number = text.split()[2]
    file = folder / f"{stem(path)}_launch{number}.py"
    try:
        if file.exists() and file.read_text(encoding="utf-8") != text:
            raise UsageError(
                f"{file} is there already and is not what launch {number} of {path.name} becomes. Reduce that file, "
                "move it away, or choose another place with --output"
            )
        file.write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(
            f"cannot write {file}, the launch as a script: {error}. Choose another place with --output"
        ) from error
    return file


@dataclass(frozen=True)
class _Trace:
    path: Path
    launches: Sequence[tuple[str, str]]
    """Kernel and grid of each."""
    compilations: Sequence[Mapping[str, Any]]
    """Their `metadata` and `python_source`."""
    broken: int
    """The number of a last line that breaks off; 0 if none does."""

    def launch_list(self) -> str:
        """The launches, those of one kernel that follow each other in one line."""
        lines = []
        for key, group in groupby(enumerate(self.launches), key=lambda item: item[1]):
            numbers = [number for number, _ in group]
            which = str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
            lines.append(f"\n  {which:>12}  {key[0]}, grid {key[1]}")
        more = [f"\n  {'...':>12}"] if len(lines) > TOLD else []
        return "".join([*lines[: TOLD - 1], *more, lines[-1]] if more else lines)


def _read(path: Path) -> _Trace:
    launches: list[tuple[str, str]] = []
    compilations: list[Mapping[str, Any]] = []
    broken = 0
    for event in _events(path):
        kind = event["event_type"]
        if kind == "launch":
            grid = event.get("grid")
            shown = str(tuple(grid)) if isinstance(grid, list) else "not known"
            launches.append((one_line(str(event.get("name")))[:TOLD_OF], one_line(shown)[:TOLD_OF]))
        elif kind == "compilation" and isinstance(event.get("payload"), dict):
            parts = {key: event["payload"].get(key) for key in ("metadata", "python_source")}
            compilations.append({key: part if isinstance(part, dict) else {} for key, part in parts.items()})
        elif kind == _BROKEN:
            broken = event["line"]
    if not launches:
        if not compilations:
            raise UsageError(f"{path} is no trace by tritonparse: no line of it tells of a compilation or a launch")
        raise UsageError(
            f"{path} tells of {len(compilations)} compilations and no launch, so nothing is known of the arguments. "
            "Trace again with enable_trace_launch=True in tritonparse's init, or TRITON_TRACE_LAUNCH=1"
        )
    return _Trace(path, launches, compilations, broken)


def _chosen(trace: _Trace, launch: int | None) -> int:
    count = len(trace.launches)
    if launch is not None:
        if not -count <= launch < count:
            raise UsageError(f"{trace.path.name} has no launch {launch}. It holds these:{trace.launch_list()}")
        return launch % count
    if trace.broken:
        raise UsageError(
            f"{trace.path.name} breaks off in line {trace.broken}, perhaps in the very launch that is wanted. "
            f"Choose one before it with --launch N:{trace.launch_list()}"
        )
    if len({kernel for kernel, _ in trace.launches}) > 1:
        raise UsageError(
            f"{trace.path.name} holds launches of several kernels: choose one with --launch N (-1 is the last)"
            f":{trace.launch_list()}"
        )
    return count - 1


def _launches(path: Path) -> Iterator[dict[str, Any]]:
    return (event for event in _events(path) if event["event_type"] == "launch")


def _events(path: Path) -> Iterator[dict[str, Any]]:
    """All events; at last one of type `broken off` where the last line is cut short."""
    wrong = 0
    for number, line in enumerate(_lines(path), 1):
        if wrong:
            raise UsageError(
                f"{path.name}, line {wrong}, is no JSON: a trace by tritonparse has one JSON object a line. "
                "Name the trace itself, or reduce a script"
            )
        if not line.strip():
            continue
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            wrong = number
            continue
        if not isinstance(event, dict) or not isinstance(event.get("event_type"), str):
            raise UsageError(f"{path.name}, line {number}, is no event: this is no trace by tritonparse")
        yield event
    if wrong == 1:
        raise UsageError(f"{path.name} is no trace by tritonparse: its only line is no JSON")
    if wrong:
        yield {"event_type": _BROKEN, "line": wrong}


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of the text. Compression is told by content: `.bin.ndjson` may be of either kind."""
    try:
        with open(path, "rb") as file:
            head = file.read(4)
            file.seek(0)
            if head.startswith(_ZSTD):
                raise UsageError(f"{path.name} is compressed with zstd, which Python cannot read: `zstd -d` it first")
            if not head.startswith(_GZIP):
                yield from _short_lines(file, path)
                return
            with gzip.open(file) as text:
                try:
                    yield from _short_lines(text, path)
                except (EOFError, zlib.error):
                    yield b"{"  # what was read before it is good
    except gzip.BadGzipFile as error:
        raise UsageError(f"{path.name} is damaged: {error}") from error
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}. Check the path of the trace") from error


def _short_lines(file: IO[bytes] | gzip.GzipFile, path: Path) -> Iterator[bytes]:
    """The lines of an open file. One without an end would take all memory."""
    while line := file.readline(LONGEST + 1):
        if len(line) > LONGEST:
            raise UsageError(
                f"{path.name} has a line of more than {LONGEST >> 20} MiB: this is no trace by tritonparse"
            )
        yield line
