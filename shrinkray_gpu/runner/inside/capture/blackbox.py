"""The black box: what is known of a process's launches, kept in files, so that it is there when the process dies.

An abort in the compiler, SIGKILL, `os._exit` or a hang that the tool ends: nobody reports then. So each new kind of
launch is written down in full before it runs (one line in `PID.jsonl`), and each launch leaves the little that differs
from others of its kind, with the time, in a slot of `PID.latest`, which is mapped into memory: that costs microseconds
and outlives the process. Children of the script have boxes of their own in the same folder.

Times are of the one monotonic clock that all processes of a machine share, so that launches of several can be put in
order.
"""

from __future__ import annotations

import json
import mmap
import os
import re
import struct
import sys
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple, TypedDict

from ..process.schema_check import problem
from . import schema
from .compilations import ONLY_COMPILED

Record = Dict[str, Any]

FOLDER = ".captured"
"""Where the boxes are, in the run's temporary folder."""
TROUBLE = "trouble."
SUSPECTS = 6
"""Kinds of launches that are tried where nobody knows which one faulted: the latest first."""
CAUGHT = 2
"""Of these, such as raised some time before the last one."""
NAMED = 24
"""Kinds told at most: after those the latest of each other kernel, should an instrument name it."""

_SLOT = 1024
_KINDS = 256
_HEAD = struct.Struct("<QII")
_EVENTS = 4096
"""Launches and compilations of a child that are told one by one."""


class BlackBox:
    """The writer: one a process, and after a fork another one by itself."""

    def __init__(self, folder: str, *, first: bool = True) -> None:
        """`first`: this is the script's own process, whose launches its worker tells."""
        self.folder = folder
        self.main = os.getpid() if first else 0
        self.closed = False
        os.makedirs(folder, exist_ok=True)
        self._open(_command())
        os.register_at_fork(after_in_child=self._forked)

    def _open(self, command: List[str]) -> None:
        stem = os.path.join(self.folder, str(os.getpid()))
        self._lines = os.open(stem + ".jsonl", os.O_CREAT | os.O_APPEND | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        slots = os.open(stem + ".latest", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        os.ftruncate(slots, _KINDS * _SLOT)
        self._slots = mmap.mmap(slots, _KINDS * _SLOT)
        os.close(slots)
        self._numbers: Dict[Any, int] = {}
        self._events = 0
        first = os.getpid() == self.main
        self._write({"command": command, "first": first, "started": time.monotonic_ns()})

    def _forked(self) -> None:
        if not self.closed:
            try:
                os.close(self._lines)
                self._open(["fork", "of", str(os.getppid())])
            except OSError:  # the folder is gone: the run is over
                self.closed = True

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            os.close(self._lines)
            self._slots.close()  # a hook for forks holds this object for the life of the process

    def before(self, kind: Any, write: Callable[[], Record], state: Record) -> None:
        """A launch of this kind is about to run; `write` describes it in full, and is called for the first only."""
        if self.closed:
            return
        number = self._numbers.get(kind)
        if number is None:
            number = self._numbers[kind] = len(self._numbers)
            self._write({"kind": number, "record": write()})
        self._note(number, state)

    def knows(self, kind: Any) -> bool:
        return kind in self._numbers

    def again(self, kind: Any, state: Record) -> None:
        """More is known of the launch that `before` told."""
        if not self.closed and kind in self._numbers:
            self._note(self._numbers[kind], state)

    def event(self, name: str, what: Record) -> None:
        """A launch or compilation, told one by one where nobody else will: in a child."""
        if os.getpid() != self.main and not self.closed and self._events < _EVENTS:
            self._events += 1
            self._write({name: what})

    def _note(self, number: int, state: Record) -> None:
        text = json.dumps(state).encode()[: _SLOT - _HEAD.size]
        at = number % _KINDS * _SLOT
        head = _HEAD.pack(time.monotonic_ns(), number, len(text))
        self._slots[at : at + _HEAD.size + len(text)] = head + text

    def _write(self, what: Record) -> None:
        try:
            os.write(self._lines, json.dumps(what).encode() + b"\n")
        except OSError:  # no room left: the script needs it more
            self.closed = True


def _command() -> List[str]:
    try:
        with open("/proc/self/cmdline", "rb") as f:
            return [word.decode(errors="replace") for word in f.read().split(b"\0")[:-1]]
    except OSError:
        return [sys.executable]


def recover(folder: str) -> Optional[schema.Captured]:
    """What is to be had of a run that did not report; None where nothing was written down. A process that dies may
    leave anything in its files: what is broken there is left out, or cannot be lifted."""
    processes = read(folder)
    found = [entry for process in processes for entry in process["entries"]]
    if not found and len(processes) < 2:
        return None
    return schema.sound({"launches": suspects(found), "children": children(processes)})


def children(processes: List[Record]) -> List[Record]:
    """The processes that launched or compiled something, or could not be captured (`trouble`), without the first."""
    return [
        {name: process[name] for name in ("process", "command", "launches", "compiles", "trouble")}
        for process in processes
        if not process["first"] and any(process[n] for n in ("launches", "compiles", "entries", "trouble"))
    ]


def suspects(entries: List[Record]) -> List[Record]:
    """The records of launches that may be the one that faults, likeliest first.

    On the virtual GPU the first that faults is it. One that raised is it. Otherwise the latest come first; but an
    autotuner's trials after all real launches, unless the last thing that happened was a trial: then the autotuner did
    not live to choose. What was compiled and not launched comes after all of these, unless the last thing was that.
    Two that raised and that somebody caught, as an autotuner does, are among the first, whatever came after them.
    """
    latest = sorted(entries, key=lambda entry: -int(entry["time"]))
    faulty = [entry for entry in latest if entry["fault"]]
    if faulty:
        return [faulty[-1]["record"]]
    raised = [entry for entry in latest[:1] if entry["raised"]]
    if not raised and latest and not latest[0]["tuning"]:
        latest.sort(key=lambda entry: bool(entry["tuning"]))  # stable
    if not raised and latest and latest[0]["record"].get("how") not in ONLY_COMPILED:
        latest.sort(key=lambda entry: entry["record"].get("how") in ONLY_COMPILED)
    caught = [entry for entry in latest[SUSPECTS - CAUGHT :] if entry["raised"]][:CAUGHT]
    first = [entry for entry in latest if entry not in caught][: SUSPECTS - len(caught)]
    latest = [*first, *caught, *(entry for entry in latest if entry not in first and entry not in caught)]
    return [entry["record"] for entry in raised or [*latest[:SUSPECTS], *_of_other_kernels(latest)]]


def _of_other_kernels(latest: List[Record]) -> List[Record]:
    """The latest entry of each kernel that is not among the first ones."""
    names = [_name(entry["record"]) for entry in latest]
    others = [entry for at, entry in enumerate(latest) if at >= SUSPECTS and names[at] not in names[:at]]
    return others[: NAMED - SUSPECTS]


def _name(record: Record) -> str:
    """Of the kernel, which is an object in a record that is not in words yet."""
    kernel = record["kernel"]
    return kernel if isinstance(kernel, str) else str(getattr(kernel, "__name__", "?"))


def read(folder: str) -> List[Record]:
    """Each process with its kinds of launches as entries for `suspects`; the script's own process first. A candidate
    may have put anything else in the folder."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    every = [_process(os.path.join(folder, str(pid)), pid) for pid in _numbers(names, "", ".jsonl")]
    every += [_troubled(os.path.join(folder, TROUBLE + str(pid)), pid) for pid in _numbers(names, TROUBLE, "")]
    return sorted(every, key=lambda process: (not process["first"], process["started"]))


def _numbers(names: List[str], before: str, behind: str) -> List[int]:
    """The processes whose files have such names."""
    found = [re.fullmatch(re.escape(before) + "([1-9][0-9]{0,9})" + re.escape(behind), name) for name in names]
    return [int(match[1]) for match in found if match]


def _troubled(path: str, pid: int) -> Record:
    """A child in which capture could not begin, and why."""
    with open(path, encoding="utf-8", errors="replace") as f:
        return {**_nothing(pid), "trouble": f.read()}


def _nothing(pid: int) -> Record:
    empty: Record = {"launches": [], "compiles": [], "entries": []}
    return {"process": pid, "first": False, "started": 0, "command": [], "trouble": "", **empty}


def _process(stem: str, pid: int) -> Record:
    out = _nothing(pid)
    kinds: Dict[int, Record] = {}
    for line in filter(_is_line, _lines(stem + ".jsonl")):
        out.update({name: line[name] for name in ("command", "first", "started") if name in line})
        if "kind" in line and "record" in line:
            kinds[line["kind"]] = schema.sound_launch(line["record"])
        for name, place in (("launch", "launches"), ("compile", "compiles")):
            if name in line:
                out[place].append(line[name])
    for number, at, state in _latest(stem + ".latest"):
        if number in kinds and not state.get("over"):
            record: Record = {**kinds[number], "tuning": bool(state.get("tuning"))}
            if not out["first"]:
                record["process"] = pid
            entry = {"time": at, "record": _with(record, state)}
            out["entries"].append({**entry, **{n: bool(state.get(n)) for n in ("tuning", "raised", "fault")}})
    return out


def _with(record: Record, state: Record) -> Record:
    """The record with the grid and the scalars of the latest launch of its kind."""
    if state.get("grid") is not None and "grid" in record:
        record = {**record, "grid": state["grid"]}
    if state.get("values") and "arguments" in record:
        arguments = list(record["arguments"])
        for index, text in state["values"]:
            if index < len(arguments):
                arguments[index] = {**arguments[index], "text": text}
        record = {**record, "arguments": arguments}
    return record


class _BoxLine(TypedDict, total=False):
    """What a process writes one by one."""

    command: List[str]
    first: bool
    started: int
    kind: int
    record: Dict[str, Any]
    launch: Dict[str, Any]
    compile: Dict[str, Any]


class _BoxState(TypedDict, total=False):
    """What a slot holds."""

    grid: Optional[List[int]]
    values: List[Any]
    tuning: bool
    raised: bool
    fault: bool
    over: bool


def _is_line(line: Any) -> bool:
    return not problem(_BoxLine)(line)


def _is_state(state: Any) -> bool:
    pairs = state.get("values", []) if isinstance(state, dict) else []
    return not problem(_BoxState)(state) and all(
        isinstance(pair, list) and list(map(type, pair)) == [int, str] and pair[0] >= 0 for pair in pairs
    )


def _lines(path: str) -> Iterator[Any]:
    with open(path, "rb") as f:
        for line in f:
            try:
                yield json.loads(line)
            except (ValueError, RecursionError):  # cut off: the process died while it wrote
                continue


def _latest(path: str) -> Iterator[Tuple[int, int, Record]]:
    try:
        with open(path, "rb") as f:
            data = f.read()
    except OSError:
        return
    for at in range(0, len(data) - _HEAD.size + 1, _SLOT):
        when, number, length = _HEAD.unpack_from(data, at)
        if when:
            try:
                state = json.loads(data[at + _HEAD.size : at + _HEAD.size + length])
            except (ValueError, RecursionError):  # too long for its slot
                state = None
            yield number, when, state if _is_state(state) else {}  # the kind as it was at first
