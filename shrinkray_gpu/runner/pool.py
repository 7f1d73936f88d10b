"""Hands candidates to lanes: spare ones that are warm already, a worker for each preamble, or a cold process."""

from __future__ import annotations

import contextlib
import tempfile
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shrinkray_gpu.runner import preamble
from shrinkray_gpu.runner.lanes import START, Lane, Request, Setup, Worker, cold
from shrinkray_gpu.runner.run import Run

COLD = 60.0
"""Seconds more for a cold process than for a lane: it imports what the lane has."""
WORKERS = 3
"""Fork servers kept at once. Another environment before the imports needs another one."""


@dataclass(frozen=True)
class Script:
    """How the user runs the program: everything about it that does not change with the text."""

    path: Path
    argv: tuple[str, ...] = ()
    cwd: Path = Path(".")
    asserts: bool = True
    wants: tuple[str, ...] = ()

    def request(self, source: str, *, values: bool = False, watch: bool = True, capture: bool = False) -> Request:
        given = (source, str(self.path), self.argv, str(self.cwd), self.asserts, watch, self.wants, values, capture)
        return Request(*given)


class Pool:
    """Lanes for candidates of one script. Thread-safe: `jobs` calls of `run` go on at a time, the others wait.

    `setup.environment` is the user's; `mode` names the runs it makes. `mode="cold"` starts a process for each.
    """

    def __init__(
        self,
        script: Script,
        setup: Setup,
        *,
        mode: str,
        jobs: int,
        seconds: float,
        devices: tuple[str, ...] = (),
        extra: float = COLD,
    ) -> None:
        self.script, self.setup, self.mode, self.jobs = script, setup, mode, jobs
        self.seconds = seconds
        self.extra = extra
        self.devices = devices or ("",)
        self.reuse = setup.reuse
        self.peak = 0
        """The most device memory that a candidate held, in bytes."""
        self.retired: Counter[str] = Counter()
        """Why lanes came to their end."""
        self.arch: int | None = None
        self.device_name = ""
        self.free_bytes = 0
        self._turn = 0
        self._workers: OrderedDict[tuple[object, ...], _Stock] = OrderedDict()
        self._lock = threading.Lock()
        self._free = threading.BoundedSemaphore(jobs)

    def start(self, source: str) -> Mapping[str, Any]:
        """Bring up the worker for `source`, and its spare lanes. Returns what the worker says of its interpreter."""
        stocks = [self._stock(source, device) for device in self.devices]
        return stocks[0].worker.report

    def run(self, source: str, *, values: bool = False, fresh: bool = False, capture: bool = False) -> Run:
        """Run a candidate; `fresh` insists on a context that nothing ran in before."""
        with self._free:
            return self._run(source, values, fresh, capture)

    def _run(self, source: str, values: bool, fresh: bool, capture: bool) -> Run:
        request = self.script.request(source, values=values, capture=capture)
        if self.mode == "cold":
            return self.cold(source, values=values, capture=capture)
        stock = self._stock(source, self._device())
        trouble = ""
        for _ in range(3):
            lane = stock.take(fresh)
            if not lane.wait_ready(START):
                trouble = lane.trouble
                lane.kill()
                stock.release()
                continue
            if lane.device:
                self.arch, self.device_name = lane.device["arch"], lane.device["name"]
                self.free_bytes = self.free_bytes or lane.device["free"]
            mode = "warm" if lane.used else self.mode
            run, over, peak = lane.run(request, mode=mode, seconds=self.seconds)
            self.peak = max(self.peak, peak)
            self.retired[over] += 1
            stock.give_back(lane, again=not over and self.reuse)
            if not run.trouble:
                return run
            trouble = run.trouble
        return Run(mode=self.mode, exit=None, trouble=trouble)

    def cold(self, source: str, *, values: bool = False, capture: bool = False) -> Run:
        """Run a candidate in a process of its own, nothing imported and no kernel compiled beforehand."""
        request = self.script.request(source, values=values, capture=capture)
        with tempfile.TemporaryDirectory(dir=self.setup.scratch, ignore_cleanup_errors=True) as cache:
            environment = {**self._environment((), self._device()), "TRITON_CACHE_DIR": cache}
            setup = replace(self.setup, warm=False, reuse=False, environment=environment)
            return cold(setup, request, seconds=self.seconds + self.extra)

    def limit(self, jobs: int) -> None:
        """Fewer lanes at a time. Only before any candidate runs."""
        self.jobs, self._free = jobs, threading.BoundedSemaphore(jobs)

    def close(self) -> None:
        with self._lock:
            for stock in self._workers.values():
                stock.close()
            self._workers.clear()

    def _device(self) -> str:
        with self._lock:
            self._turn += 1
            return self.devices[self._turn % len(self.devices)]

    def _stock(self, source: str, device: str) -> _Stock:
        """The worker whose environment fits what the candidate sets before its imports."""
        head = preamble.read(source)
        key = (head.environment, device)
        with self._lock:
            stock = self._workers.get(key)
            if stock is None:
                imports = tuple(dict.fromkeys((*head.imports, *self.setup.imports)))
                setup = replace(self.setup, imports=imports, environment=self._environment(head.environment, device))
                stock = self._workers[key] = _Stock(Worker(setup), self.jobs // len(self.devices) + 1)
                if len(self._workers) > WORKERS * len(self.devices):
                    _, oldest = self._workers.popitem(last=False)
                    oldest.close()
            self._workers.move_to_end(key)
            return stock

    def _environment(self, settings: tuple[tuple[str, str], ...], device: str) -> Mapping[str, str]:
        chosen = {"CUDA_VISIBLE_DEVICES": device} if device else {}
        if self.setup.arch:
            chosen = {"CUDA_VISIBLE_DEVICES": ""}  # the virtual GPU stays clear of a real one
        # From the start, since tempfile remembers its folder: the parent's warm-up would fix it at /tmp.
        return {**self.setup.environment, "TMPDIR": self.setup.scratch, **dict(settings), **chosen}


class _Stock:
    """The lanes of one worker: spare ones on the way, and used ones that came out clean."""

    def __init__(self, worker: Worker, spares: int) -> None:
        self.worker = worker
        self.lock = threading.Lock()
        self.most = spares
        self.clean: deque[Lane] = deque()
        self.spares: deque[Lane] = deque(worker.spawn() for _ in range(spares))
        self.closed = False

    def take(self, fresh: bool) -> Lane:
        with self.lock:
            if self.clean and not fresh:
                return self.clean.pop()
            lane = self.spares.popleft()
            with contextlib.suppress(OSError):
                self.spares.append(self.worker.spawn())
            return lane

    def give_back(self, lane: Lane, *, again: bool) -> None:
        with self.lock:
            if again and not self.closed and len(self.clean) < self.most:  # each holds a context of 0.5 GB
                self.clean.append(lane)
                return
        lane.kill()

    def release(self) -> None:
        """End the idle lanes that were used before: their contexts hold memory that a fresh one may want."""
        with self.lock:
            for lane in self.clean:
                lane.kill()
            self.clean.clear()

    def close(self) -> None:
        with self.lock:
            self.closed = True
            for lane in (*self.clean, *self.spares):
                lane.link.close()
        self.worker.close()
