"""Processes that run candidates: a Worker forks Lanes; a Lane runs one candidate after another, or just one.

Two candidates are never judged in a context that has seen a sticky error: a lane ends with its first fault.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from weakref import WeakSet

from shrinkray_gpu.device import OF_AMD, gpus
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.runner.children import faults
from shrinkray_gpu.runner.guarded import MAIN, Guarded, KeeperKilled, MemoryCheck, answer
from shrinkray_gpu.runner.inside.capture import blackbox
from shrinkray_gpu.runner.inside.process import descendants, wire
from shrinkray_gpu.runner.output_pipes import TIMED_OUT, OutputPipes
from shrinkray_gpu.runner.reports import exited_problem, hanging_problem, hello_problem, ready_problem, report_problem
from shrinkray_gpu.runner.request import Request, RunSettings
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.runner.scratch_folder import scratch_folder
from shrinkray_gpu.runner.zygotes import ZYGOTES

ANSWER = 3.0
"""Seconds in which a process that was stopped at its time limit says what it hangs in."""
MEMORY = "host memory"
"""Why a lane is over: there was too little."""
COMES_UP = 20.0
"""Seconds in which a lane comes up: a fork, or an interpreter that imports nothing before the candidate comes. Half a
second on two cores with twenty processes at work."""
CONTEXTS = 60.0
"""The same where it makes a context first. A device makes one after another, of 0.35 to 0.85 s each."""
START = 180.0
"""Seconds that a worker may take to import what the script imports."""
TELLS = 10.0
"""Seconds in which a worker that closed its link tells how it ended: on a busy machine more than one."""


@dataclass(frozen=True)
class Setup:
    """What all lanes of a worker share."""

    python: str
    environment: Mapping[str, str]
    imports: tuple[str, ...]
    own: tuple[str, ...]
    """Folders whose modules belong to the script: not imported in advance."""
    scratch: str
    writable: tuple[str, ...] = ()
    arch: int | None = None
    """Compute capability times ten: the virtual GPU. None: the real one, if any."""
    warm: bool = False
    """Bring up a CUDA context before the candidate arrives."""
    reuse: bool = False
    prepare: bool = True
    """Warm the compiler in the worker's parent."""
    confine: bool = True
    left_open: tuple[str, ...] = ()
    """Parts of the fence that candidates run without: the program's fault needs what they refuse."""
    plain: bool = False
    """Whether the script imports nothing that could launch a kernel: then no virtual GPU is put up for it, which takes
    torch and Triton."""

    def message(self) -> dict[str, Any]:
        """What a process of ours in the user's interpreter is told."""
        return {
            "imports": list(self.imports),
            "own": list(self.own),
            "scratch": self.scratch,
            "writable": list(self.writable),
            "arch": None if self.plain else self.arch,
            "warm": self.warm,
            "reuse": self.reuse,
            "prepare": self.prepare,
            "capability": (not OF_AMD and gpus.capability()) or 0 if self.warm and self.prepare else 0,
            "confine": self.confine,
            "left_open": list(self.left_open),
            "cwd": os.getcwd(),
        }


class Lane:
    """The tool's end of one process that runs candidates. Used by one thread at a time."""

    def __init__(
        self,
        link: socket.socket,
        ended: Callable[[float], int | None],
        scratch: str,
        above: Callable[[], Iterable[int]],
    ) -> None:
        """`ended` waits so many seconds for the process to end, and returns how: None, if nobody tells. `above`: it
        and those it hangs on, which go on until it is up."""
        self.link, self.ended, self.scratch, self.above = link, ended, scratch, above
        self.pid = 0
        self.fence: tuple[str, ...] = ()
        """The parts of it that hold around the process."""
        self.device: dict[str, Any] = {}
        """Of a lane with a CUDA context: `name`, `arch`, and `free` bytes of memory when it came up."""
        self.used = 0
        self.number = 0
        """Of the last request; its answer carries it."""
        self.over = ""
        """Why it takes no other candidate, by its own account."""
        self.trouble = ""
        """Why it did not come up."""
        self.silent = False
        """Whether it did not even end."""

    @property
    def is_up(self) -> bool:
        """Whether it has come up, or came to its end before that: nobody waits for it."""
        if self.pid or self.link.fileno() < 0:
            return True
        waiting = select.poll()
        waiting.register(self.link, select.POLLIN)
        return bool(waiting.poll(0))

    def wait_ready(self, seconds: float) -> bool:
        """Wait for the process to come up. False if it died or hangs."""
        if self.pid:
            return True
        try:
            hello = answer(self.link, seconds, self.above)
        except OSError as error:
            self.trouble = f"a lane did not come up: {str(error) or 'its process ended'}"
            self.silent = isinstance(error, TimeoutError)
            return False
        if why := str(hello.get("broken", "")).strip().rpartition("\n")[2] or hello_problem(hello):
            self.trouble = f"a lane did not come up: {why}"
            return False
        self.pid, self.fence, self.device = hello["hello"], tuple(hello["fence"]), hello["device"]
        return True

    def run(self, request: Request, settings: RunSettings, *, mode: str, seconds: float) -> tuple[Run, str]:
        """Run a candidate. Returns what happened, and why the lane is over (empty if it can take another)."""
        with scratch_folder(self.scratch) as temporary:
            self.number += 1
            message = {**request.message(), **settings.message(), "temporary": temporary, "number": self.number}
            run, over, peak = self._run(message, mode, seconds)
            if settings.capture and run.captured is None:  # it did not live to tell
                run = replace(run, captured=blackbox.recover(os.path.join(temporary, blackbox.FOLDER)))
            return replace(run, pid=self.pid, peak=peak, fence=self.fence), over

    def _run(self, request: dict[str, Any], mode: str, seconds: float) -> tuple[Run, str, int]:
        started, memory = time.monotonic(), MemoryCheck()
        with OutputPipes() as streams:
            try:
                wire.send(self.link, request, streams.writers, wire.WHOLE)
            except OSError:
                return Run(mode=mode, exit=None, trouble="the lane was gone before the candidate came"), "gone", 0
            streams.close_writers()
            try:
                report = streams.until_report(self.link, started + seconds)
                if report:
                    _check_answer(report, request["number"])
            except wire.BrokenMessage as error:
                return Run(mode, None, trouble=f"the candidate's process answered with {error}"), "broken", 0
            spent = time.monotonic() - started
            if report is TIMED_OUT or (report is not None and "hanging" in report):
                told = _told(report) if report else self._what_hangs(request["number"]) if request["tell"] else {}
                self.kill()
                streams.drain()
                out, err = streams.texts()
                if why := memory.trouble(self.pid, True):  # it may wait for a process that is gone
                    return Run(mode, None, seconds=spent, trouble=why, stdout=out, stderr=err), MEMORY, 0
                ended = {"exit": None, "timed_out": True, "fresh": not self.used, **told}
                run = Run.from_json({**ended, "mode": mode, "seconds": spent, "stdout": out, "stderr": err})
                return run, "timeout", 0
            if report is None:
                status = self.ended(5.0)
                streams.drain()
                out, err = streams.texts()
                fresh = not self.used
                if why := memory.trouble(self.pid, status in (None, -signal.SIGKILL)):
                    return Run(mode, None, seconds=spent, trouble=why, stdout=out, stderr=err), MEMORY, 0
                if status is None:
                    return Run(mode, None, seconds=spent, trouble="the lane closed without an exit status"), "gone", 0
                if status == -wire.LOST:
                    return Run(mode, None, seconds=spent, trouble="the candidate's process cannot report"), "broken", 0
                if status < 0:
                    return Run(mode, None, -status, seconds=spent, stdout=out, stderr=err, fresh=fresh), "exit", 0
                return Run(mode, status, seconds=spent, stdout=out, stderr=err, fresh=fresh), "exit", 0
            streams.drain()
            out, err = streams.texts()
            if why := memory.trouble(self.pid, False):
                self.kill()
                return Run(mode, None, seconds=spent, trouble=why, stdout=out, stderr=err), MEMORY, 0
            if "broken" in report:
                return Run(mode, None, trouble=f"the worker itself failed: {report['broken']}"), "broken", 0
            if why := report_problem(report):
                return Run(mode, None, trouble=f"the worker's report is broken: {why}"), "broken", 0
            self.over, peak = report.pop("over"), report.pop("peak")
            self.used += 1
            run = Run.from_json({**report, "mode": mode, "seconds": spent, "stdout": out, "stderr": err})
            run = replace(run, children=faults(run.failure, err))
            return run, self.over, peak

    def _what_hangs(self, number: int) -> dict[str, Any]:
        """Ask the process what is still at work in it; nothing where it does not answer, or ends just then."""
        try:
            wire.send(self.link, {"tell": True}, seconds=ANSWER)
            answer, _ = wire.receive(self.link, ANSWER)
            _check_answer(answer, number)
        except OSError:
            return {}
        return _told(answer)

    def kill(self) -> None:
        """End the process and all that it started. One that has told of its end ends by itself."""
        if self.pid and not self.over:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        self.link.close()


class Exits:
    """How processes ended, as their parent reports it."""

    def __init__(self) -> None:
        self.statuses: dict[int, int] = {}
        self.changed = threading.Condition()
        self.closed = False

    def report(self, name: int, status: int) -> None:
        with self.changed:
            self.statuses[name] = status
            self.changed.notify_all()

    def close(self) -> None:
        with self.changed:
            self.closed = True
            self.changed.notify_all()

    def wait(self, name: int, seconds: float) -> int | None:
        """Exit status, or minus the signal; None if nobody tells within `seconds`."""
        with self.changed:
            self.changed.wait_for(lambda: name in self.statuses or self.closed, seconds)
            return self.statuses.pop(name, None)


class WorkerKilled(UsageError):
    """Somebody, or the kernel for its memory, killed the worker before it was up."""

    def __init__(self, python: str) -> None:
        super().__init__(
            f"the worker in {python} was killed while it started, by the kernel for its memory or by somebody. "
            "Make memory free and try again"
        )


class Worker:
    """A fork server in the user's interpreter."""

    @classmethod
    def start(cls, setup: Setup) -> Worker:
        """One that is up; one that is killed meanwhile is started once more. Raises UsageError."""
        try:
            return cls(setup)
        except WorkerKilled:
            return cls(setup)

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.exits = Exits()
        said, err = os.pipe()
        self.said = open(said, "rb")
        try:
            self.process, self.control = _start(setup, err=err)
        except KeeperKilled as error:
            raise WorkerKilled(setup.python) from error
        finally:
            os.close(err)
        try:
            wire.send(self.control, setup.message(), seconds=wire.WHOLE)
            self.report: dict[str, Any] = answer(self.control, START, self.process.whole).get("ready", {})
            if why := ready_problem(self.report):
                raise wire.BrokenMessage(f"its answer{why}")
        except OSError as error:
            killed = isinstance(error, ConnectionError) and self.process.wait(TELLS) in (None, -signal.SIGKILL)
            self.close()
            if killed:
                raise WorkerKilled(setup.python) from error
            text = self.said.read().decode(errors="replace").strip().splitlines()
            last = text[-1] if text else str(error) or "it said nothing"
            raise UsageError(f"the worker did not start in {setup.python}: {last}") from error
        self.lock = threading.Lock()
        self.names = 0
        self.lanes: WeakSet[Lane] = WeakSet()
        threading.Thread(target=self._listen, daemon=True).start()
        threading.Thread(target=self._discard_output, daemon=True).start()

    def spawn(self) -> Lane:
        """Fork a lane; it comes up on its own time."""
        ours, theirs = socket.socketpair()
        with self.lock, theirs:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process.pid, signal.SIGCONT)  # a candidate may have stopped it
            self.names += 1
            name = self.names
            wire.send(self.control, {"spawn": name}, (theirs.fileno(),), wire.WHOLE)
            lane = Lane(ours, partial(self.exits.wait, name), self.setup.scratch, self._on_the_way)
            self.lanes.add(lane)
        return lane

    def _on_the_way(self) -> set[int]:
        """The worker, what it hangs on, and its lanes that have a candidate yet to come. One that a candidate stopped
        stays so."""
        with self.lock:
            up = {lane.pid for lane in self.lanes}
        return {*self.process.whole(), *descendants.children(self.process.pid)} - up

    def close(self) -> None:
        """End the worker; it takes its lanes along."""
        self.process.close()
        self.control.close()

    def _listen(self) -> None:
        try:
            while True:
                message, _ = wire.receive(self.control)
                if exited_problem(message):
                    break
                self.exits.report(message["exited"], message["status"])
        except OSError:
            pass
        self.exits.close()

    def _discard_output(self) -> None:
        with self.said:
            while self.said.read(65536):
                pass


def cold(setup: Setup, request: Request, settings: RunSettings, *, seconds: float, forked: bool = False) -> Run:
    """Run a candidate in a new process of its own, with nothing imported before it; `forked`: with no more than it
    imports before all else."""
    try:
        process, link = _start(setup, "--cold", forked=forked)
    except KeeperKilled as error:
        return Run(mode="cold", exit=None, trouble=str(error))
    lane = Lane(link, process.wait, setup.scratch, process.whole)
    try:
        with contextlib.suppress(OSError):  # one that was killed does not come up
            wire.send(link, setup.message(), seconds=wire.WHOLE)
        if not lane.wait_ready(COMES_UP):
            return Run(mode="cold", exit=None, trouble="the interpreter did not start")
        return lane.run(request, settings, mode="cold", seconds=seconds)[0]
    finally:
        lane.kill()
        process.close()


def _start(setup: Setup, *options: str, err: int | None = None, forked: bool = True) -> tuple[Guarded, socket.socket]:
    """A worker, and our end of its link. On stderr it tells why it does not start. Raises UsageError, KeeperKilled."""
    ours, theirs = socket.socketpair()
    with theirs, open(os.devnull, "wb") as nowhere:
        try:
            process = Guarded(
                [setup.python, "-B", str(MAIN), *options],
                environment=setup.environment,
                cwd=os.getcwd(),
                out=nowhere.fileno(),
                err=nowhere.fileno() if err is None else err,
                links=(theirs.fileno(),),
                server=not options,
                zygote=None if setup.plain else ZYGOTES.get(setup.python, setup.environment, forked=forked),
            )
        except KeeperKilled:
            ours.close()
            raise
        except OSError as error:
            ours.close()
            raise UsageError(f"cannot run the interpreter {setup.python}: {error.strerror}") from error
    return process, ours


def _check_answer(answer: dict[str, Any], number: int) -> None:
    """Raises BrokenMessage where this does not answer the request of that number."""
    if answer.pop("number", None) != number:
        raise wire.BrokenMessage("a message that answers another request")
    if "hanging" in answer and (why := hanging_problem(answer)):
        raise wire.BrokenMessage(f"an odd message: {why}")


def _told(answer: Mapping[str, Any]) -> dict[str, Any]:
    return {name: answer[name] for name in ("hanging", "launches", "compiles") if name in answer}
