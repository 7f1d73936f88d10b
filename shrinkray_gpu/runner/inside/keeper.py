"""The keeper: a process beside the tool that starts what the tool asks for, each command below a guard of its own.

A guard adopts what loses its parent below it. It ends all of that once its command has ended, or the tool wants no more
of it, or the tool has ended, also by `kill -9`. The keeper in turn ends what a guard leaves that was killed.

A guard is a fork of the keeper, which is small: 2 ms. A fork of the command's own interpreter would cost 6.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from typing import Any, Callable, Dict, Iterable, List, Optional

from .process import descendants, host_memory, wire

Start = Callable[..., int]

TOLD_OF_PARENTS_END = 1
CLEANING = 1.0
"""Seconds that those have which clean up after a program, see `descendants.SPARED`."""
LOOKS = 0.1
"""Seconds between two looks at the memory that is left."""


def main() -> None:
    serve(json.loads(sys.argv[-2]), socket.socket(fileno=int(sys.argv[-1])), _start)


def serve(memory: Dict[str, Any], control: socket.socket, start: Start) -> None:
    """Be the keeper, to the end of this process. `start` begins a command in a guard, and returns its number."""
    watch = host_memory.Watch(memory["limit"]) if memory["watched"] else None
    control.set_inheritable(False)
    ctypes.CDLL(None).prctl(TOLD_OF_PARENTS_END, signal.SIGCONT, 0, 0, 0)  # wherever it was stopped
    descendants.adopt()
    wake = _told_of(signal.SIGCHLD)
    gc.disable()  # a collection writes to all memory, which a guard shares until then
    guards: Dict[int, Optional[bool]] = {}
    """And whether the children of its command are candidates each, and not the command. None: it is a keeper itself."""
    while True:
        waiting: List[Any] = [control, wake]
        ready, _, _ = select.select(waiting, [], [], LOOKS if watch is not None and guards else None)
        if watch is not None and guards:
            _end_the_largest(watch, guards, control)
        if wake in ready:
            os.read(wake, 4096)
            for pid, _ in descendants.ended():
                guards.pop(pid, None)
            _go_on(guards)
            descendants.end(set(descendants.children(os.getpid())) - set(guards))
        if control in ready:
            try:
                order, fds = wire.receive(control, fds=4)
            except OSError:
                _go_on(guards)
                _close(memory)
                os._exit(0)
            keeper = os.getpid()
            pid = os.fork()
            if not pid:
                try:
                    control.close()
                    _guard(keeper, order, start, *fds)
                finally:
                    os._exit(1)
            guards[pid] = order["server"]
            for fd in fds:
                os.close(fd)


def _go_on(guards: Iterable[int]) -> None:
    """Wherever they were stopped, by a candidate of theirs or by somebody else."""
    for guard in guards:
        os.kill(guard, signal.SIGCONT)


def _end_the_largest(watch: host_memory.Watch, guards: Dict[int, Optional[bool]], control: socket.socket) -> None:
    """Where memory runs short, end the candidate that holds most of it, once the tool can know why."""
    units: List[List[int]] = []
    for guard, server in guards.items():
        commands = descendants.children(guard)
        if server is not None:
            lanes = [[lane] for command in commands for lane in descendants.children(command)]
            units += lanes if server else [commands]
    found = watch.largest(units)
    if found is not None:
        pids, held = found
        with suppress(OSError):
            wire.send(control, {"ended": pids, "held": held}, seconds=0.1)
        descendants.end(pids, spare=False)


def _close(memory: Dict[str, Any]) -> None:
    """The tool is gone, and the guards learn of that: when they have ended, so has the control group."""
    if memory["group"]:
        with suppress(OSError):
            with open(os.path.join(memory["home"], "cgroup.procs"), "w") as procs:
                procs.write(str(os.getpid()))
            until = time.monotonic() + CLEANING + descendants.PATIENCE
            while open(os.path.join(memory["group"], "cgroup.procs")).read() and time.monotonic() < until:
                time.sleep(0.05)
            os.rmdir(memory["group"])


def _guard(keeper: int, order: Dict[str, Any], start: Start, tie: int, out: int, err: int, *links: int) -> None:
    """Start the command, with the numbers of `links` as its last arguments, and wait for its end. What there is to know
    of it is told on `tie`."""
    descendants.adopt()
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as first:
        first.write("1000")  # what is below here is the first that the kernel ends where memory runs short
    wake = _told_of(signal.SIGCHLD, signal.SIGTERM)
    ctypes.CDLL(None).prctl(TOLD_OF_PARENTS_END, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != keeper:
        return
    for fd in (tie, out, err):
        os.set_inheritable(fd, False)
    with socket.socket(fileno=tie) as tool:
        try:
            child = start(order, out, err, *links)
        except OSError as error:
            wire.send(tool, {"failed": error.errno})
            return
        for fd in (out, err, *links):
            os.close(fd)
        wire.send(tool, {"started": child})
        status = _status(child, wake, tool)
        descendants.end_children(CLEANING)
        if status is not None:
            with suppress(OSError):
                wire.send(tool, {"status": os.waitstatus_to_exitcode(status)})


def _start(order: Dict[str, Any], out: int, err: int, *links: int) -> int:
    os.chdir(order["cwd"])
    os.environ["PATH"] = order["environment"].get("PATH", os.defpath)
    command = [*order["command"], *map(str, links)]
    return os.posix_spawnp(
        command[0],
        command,
        order["environment"],
        file_actions=[(os.POSIX_SPAWN_DUP2, out, 1), (os.POSIX_SPAWN_DUP2, err, 2)],
        setsid=True,
        setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],  # Python ignores them, and a program inherits that
    )


def _status(child: int, wake: int, tool: socket.socket) -> Optional[int]:
    """Wait for the child. Returns its status, as `waitpid` does; None if it is to be ended before."""
    waiting = select.poll()
    waiting.register(wake, select.POLLIN)
    waiting.register(tool, select.POLLRDHUP)
    while True:
        ready = dict(waiting.poll())
        told = os.read(wake, 4096) if wake in ready else b""
        for pid, status in descendants.ended():
            if pid == child:
                return status
        if signal.SIGTERM in told or len(ready) > (wake in ready):
            return None


def _told_of(*numbers: int) -> int:
    """A file from which these signals are read, from here on."""
    wake, alarm = os.pipe()
    os.set_blocking(alarm, False)
    signal.set_wakeup_fd(alarm, warn_on_full_buffer=False)
    for number in numbers:
        signal.signal(number, lambda *_: None)
    return wake
