"""Hands candidates to lanes: spare ones that are warm already, a worker for each preamble, or a cold process."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import os
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from shrinkray_gpu.device import coredump, gpus
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.runner import preamble, sanitizer, twins
from shrinkray_gpu.runner.driverless import driverless
from shrinkray_gpu.runner.gpu_groups import GpuGroups
from shrinkray_gpu.runner.host_memory import SHORT
from shrinkray_gpu.runner.inside.compare.comparison import AGAINST, KNOB
from shrinkray_gpu.runner.knob_settings import PLAIN, KnobSetting
from shrinkray_gpu.runner.lanes import MEMORY, Setup, Worker, WorkerKilled, cold
from shrinkray_gpu.runner.preamble import Preamble
from shrinkray_gpu.runner.request import Request, RunSettings
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.runner.scratch_folder import scratch_folder
from shrinkray_gpu.runner.shared_gpu import unshared
from shrinkray_gpu.runner.stock import LaneRecord, LaneTerms, Stock, Stocks
from shrinkray_gpu.runner.terms import Terms

COLD = 60.0
"""Seconds more for a cold process than for a lane: it imports what the lane has."""
WORKERS = 3
"""Fork servers kept at once. Another environment before the imports needs another one."""
OTHERS = 4
"""Fork servers kept besides, for ways that concern the whole process: the candidates never lose theirs to these."""
SPARES = 2
"""Lanes that such a server has ready once one was taken: each may hold a context on the GPU."""
NARROW = ("CUDA_DEVICE_MAX_CONNECTIONS", "1")
"""One hardware queue instead of eight: contexts come up 1.6 times (faulting) to 2.3 times (clean) faster on an H100, by
benchmarks/contexts.py. Streams may wait for one another then, so calibration must have seen the fault so."""
CODE = frozenset({"llir", "ptx", "cubin", "sass", "amdgcn", "figures"})
"""Stages that a kernel without machine code has not, or has unfinished."""
HARMLESS = coredump.VARIABLES | {"CUDA_LAUNCH_BLOCKING", "PYTORCH_NO_CUDA_MEMORY_CACHING", "TRITON_INTERPRET"}
"""Variables that no compiler reads: with them the kernels on disk stay the right ones."""


@dataclass(frozen=True)
class Script:
    """How the user runs the program: everything about it that does not change with the text."""

    path: Path
    argv: tuple[str, ...] = ()
    cwd: Path = Path(".")
    asserts: bool = True
    wants: tuple[str, ...] = ()
    twins: tuple[KnobSetting, ...] = ()
    """Ways in which each candidate is run once more, to be compared with the plain run."""
    elsewhere: KnobSetting | None = None
    """Another compiler: each candidate is run there as well, for what that makes of its kernels."""
    sanitizer: str = ""
    """The compute-sanitizer tool that each candidate runs under; empty: none."""
    tell: bool = False
    """Whether a run stopped at its time limit is asked what it hangs in."""
    name: str = ""
    """What the user calls it, where that is not the name of its file."""
    original: str = ""
    """The user's own text: it runs without a fence in a process of its own, as its user runs it."""

    @property
    def called(self) -> str:
        return self.name or self.path.name

    def request(self, source: str) -> Request:
        return Request(source, str(self.path), self.argv, str(self.cwd))

    def settings(self, *, way: KnobSetting = PLAIN, wants: tuple[str, ...] = (), **observed: Any) -> RunSettings:
        """Those of a run that is to observe this beside what the script asks of each: see RunSettings."""
        wants = tuple(dict.fromkeys((*self.wants, *wants)))
        settings = RunSettings(asserts=self.asserts, wants=wants, knobs=way.knobs, tell=self.tell, **observed)
        return settings if CODE.isdisjoint(wants) else replace(settings, machine_code=True)


class OtherHosts(Protocol):
    """Machines that run candidates in place of this one, each as its own pool would."""

    def run(self, pool: Pool, request: Request, settings: RunSettings, fresh: bool) -> Run: ...


class Pool:
    """Lanes for candidates of one script. Thread-safe: as many calls of `run` go on at a time as its terms allow.

    `setup.environment` is the user's. The terms of a pool never change: `on`, `beside` and `serving` give another view
    of the same lanes. To close one of the views ends the lanes of all.
    """

    def __init__(
        self,
        script: Script,
        setup: Setup,
        *,
        mode: str,
        jobs: int,
        seconds: float,
        groups: GpuGroups | None = None,
        extra: float = COLD,
        hosts: OtherHosts | None = None,
    ) -> None:
        self.script = script
        self.setup = twins.with_hash_seed(setup) if script.twins else setup
        self.terms = Terms(mode, jobs, seconds, extra, reuse=setup.reuse, narrow=setup.warm)
        self.groups = groups or GpuGroups()
        """Of GPUs: each has lanes of its own."""
        self.hosts = hosts
        """What runs plain candidates. What leaves files beside its answer, and each knob, has its run here."""
        self._record = LaneRecord()
        self._workers = Stocks(WORKERS * len(self.groups))
        self._others = Stocks(OTHERS * len(self.groups))
        self._free = threading.BoundedSemaphore(jobs)

    @property
    def mode(self) -> str:
        return self.terms.mode

    @property
    def jobs(self) -> int:
        return self.terms.jobs

    @property
    def seconds(self) -> float:
        return self.terms.seconds

    @property
    def extra(self) -> float:
        return self.terms.extra

    @property
    def peak(self) -> int:
        """The most device memory that a candidate held, in bytes, in a lane or in a process of its own."""
        return self._record.peak

    @property
    def free_bytes(self) -> int:
        """Device memory that was free when the first lane came up; 0 where none did, or it has no GPU."""
        return self._record.free_bytes

    @property
    def fence(self) -> tuple[str, ...] | None:
        """The parts of the fence that held around the last candidate; None where none ran yet."""
        return self._record.fence

    @property
    def retired(self) -> Counter[str]:
        """How many lanes came to their end so far, by the reason."""
        return self._record.retired.copy()

    def start(self, source: str, *, lanes: int = 0, way: KnobSetting = PLAIN) -> Mapping[str, Any]:
        """Bring up the worker for `source`, and so many lanes, which will be taken at once; that of a way in one group.
        Returns what the worker says of its interpreter."""
        stocks, request = self._workers if way.cheap else self._others, self.script.request(source)
        groups = self.groups.names if way.cheap else self.groups.names[:1]
        each = -(-lanes // len(groups))
        with ThreadPoolExecutor(len(groups), thread_name_prefix="up") as threads:
            made = threads.map(lambda group: stocks.start(*self._worker(request, group, way), lanes=each), groups)
            return [*made][0]

    def run(
        self,
        candidate: str | Request,
        *,
        values: bool = False,
        fresh: bool = False,
        capture: str = "",
        way: KnobSetting = PLAIN,
        wants: tuple[str, ...] = (),
        brief: float = 0.0,
        machine_code: bool = True,
        settled: Callable[[Run], bool] = lambda run: False,
    ) -> Run:
        """Run a candidate; `fresh` insists on a context that nothing ran in before, `way` turns a knob, `wants` are
        IR stages to deliver beside the script's own, `capture` (`launch` or `values`) writes launches down. `brief`: a
        lane is not waited for when its GPU is still at work so many seconds after the last launch. Without
        `machine_code` the virtual GPU's kernels have none, unless a stage that comes of it is wanted. Of a run that is
        `settled` the other compiler is not asked."""
        request = self.script.request(candidate) if isinstance(candidate, str) else candidate
        settings = self.script.settings(
            way=way, wants=wants, values=values, capture=capture, machine_code=machine_code,
            limit=brief if self.script.tell else 0.0,
        )  # fmt: skip
        with self._free:
            if way == PLAIN and self.script.twins and not (values or capture):
                return self._compared(settings, lambda asked, way: self._run(request, asked, fresh, way))
            run, bare = self._run(request, settings, fresh, way), replace(settings, capture="")
            return self._with_other(run, way, lambda other: self._run(request, bare, fresh, other), settled)

    def _run(self, request: Request, settings: RunSettings, fresh: bool, way: KnobSetting) -> Run:
        if self.hosts is None or way != PLAIN or settings.capture or settings.observe or settings.against:
            return self.run_here(request, settings, fresh, way)
        run = self.hosts.run(self, request, settings, fresh)
        self._record.peak = max(self._record.peak, run.peak)
        self._record.fence = run.fence if run.pid else self._record.fence
        return run

    def run_here(self, request: Request, settings: RunSettings, fresh: bool, way: KnobSetting = PLAIN) -> Run:
        """One run on this machine."""
        return self._on_a_gpu(partial(self._run_there, request, settings, fresh, way))

    def _on_a_gpu(self, make: Callable[[str], Run]) -> Run:
        return unshared(self.setup, lambda: self.groups.run(make))

    def _run_there(self, request: Request, settings: RunSettings, fresh: bool, way: KnobSetting, group: str) -> Run:
        if self.mode == "cold" or self.script.sanitizer:
            return self._cold(request, settings, way, group)
        terms = LaneTerms(self.mode, self.seconds, fresh, self.terms.reuse)
        key, make = self._worker(request, group, way)
        if way.cheap:
            settings = replace(settings, known=self._known(settings))
            try:
                run = self._workers.run(key, make, request, settings, terms, self._record)
            except WorkerKilled:  # no fork server now: the candidate has a process of its own
                return self._cold(request, settings, way, group)
            if run.pid:
                self._record.fence = run.fence
            return run
        try:
            terms = replace(terms, seconds=self.seconds + self.extra)
            return self._others.run(key, make, request, self._limited(settings), terms, self._record)
        except UsageError as error:
            with contextlib.suppress(UsageError, OSError):
                # No server there: its own process tells what is the matter.
                return self._cold(request, settings, way, group)
            return Run(mode=self.mode, exit=None, trouble=str(error))

    def _known(self, settings: RunSettings) -> str:
        """Where launches are kept that the interpreter need not run again. In lanes only, in which each candidate is
        held against what the original compared: a cold process runs all that it launches."""
        held = any(want.startswith(AGAINST) for want in settings.wants) and not set(settings.knobs) - {KNOB}
        if not held or self.setup.arch is not None or settings.values or settings.capture:
            return ""
        return os.path.join(self.setup.scratch, "launches")

    def _limited(self, settings: RunSettings) -> RunSettings:
        """For a run that has `extra` seconds: a GPU that is still at work this long after the last launch is waited for
        no longer. What hangs in a kernel would take all of them each time."""
        return replace(settings, limit=self.seconds) if settings.tell else settings

    def cold(self, source: str, *, capture: str = "", way: KnobSetting = PLAIN, wants: tuple[str, ...] = ()) -> Run:
        """Run a candidate in a process of its own, nothing imported and no kernel compiled beforehand."""
        request, settings = self.script.request(source), self.script.settings(capture=capture, way=way, wants=wants)
        if way == PLAIN and self.script.twins and not capture:
            return self._compared(settings, lambda asked, way: self._alone(request, asked, way))
        run, bare = self._alone(request, settings, way), replace(settings, capture="")
        return self._with_other(run, way, lambda other: self._alone(request, bare, other), lambda run: False)

    def _with_other(
        self, run: Run, way: KnobSetting, ask: Callable[[KnobSetting], Run], settled: Callable[[Run], bool]
    ) -> Run:
        other = self.script.elsewhere
        if other is None or way.python or settled(run):
            return run
        return twins.with_other_compiler(run, way, other, ask)

    def _alone(self, request: Request, settings: RunSettings, way: KnobSetting) -> Run:
        return self._on_a_gpu(partial(self._cold, request, settings, way))

    def _compared(self, settings: RunSettings, run: Callable[[RunSettings, KnobSetting], Run]) -> Run:
        """The plain run, and what those in other ways do otherwise."""

        def ask(way: KnobSetting, observe: str, against: str) -> Run:
            return run(replace(settings, knobs=way.knobs, observe=observe, against=against), way)

        virtual = self.setup.arch is not None
        return twins.compare_runs(self.script.twins, ask, scratch=self.setup.scratch, virtual=virtual)

    def _cold(self, request: Request, settings: RunSettings, way: KnobSetting, group: str) -> Run:
        with scratch_folder(self.setup.scratch) as cache:
            environment = {**self._environment((), group, way), "TRITON_CACHE_DIR": cache}
            setup = replace(
                self.setup,
                warm=False,
                reuse=False,
                environment=environment,
                python=way.python or self.setup.python,
                confine=self.setup.confine and request.source != self.script.original,
                imports=preamble.first_imports(request.source) if self.terms.forked else (),
            )
            if self.script.sanitizer and not (settings.values or settings.capture or settings.knobs):
                return self._sanitized(request.source, setup)
            limited, seconds = self._limited(settings), self.seconds + self.extra
            run = cold(setup, request, limited, seconds=seconds, forked=self.terms.forked)
            self._record.peak = max(self._record.peak, run.peak)
            if setup.confine and way.cheap:
                self._record.fence = run.fence
            self._record.retired[MEMORY] += run.trouble.startswith(SHORT)
            return run

    def _sanitized(self, source: str, setup: Setup) -> Run:
        """The plain program under compute-sanitizer: our worker has no place in there."""
        # Our scratch folder is too long a path for the tool's sockets.
        temporary = self.setup.environment.get("TMPDIR", tempfile.gettempdir())
        return sanitizer.run(
            source,
            self.script.path,
            self.script.argv,
            tool=self.script.sanitizer,
            python=setup.python,
            environment={**setup.environment, "TMPDIR": temporary},
            cwd=self.script.cwd,
            scratch=Path(setup.scratch),
            seconds=self.seconds + self.extra,
            fence=setup if setup.confine else None,
        )

    def on(self, terms: Terms) -> Pool:
        """The same lanes on other terms. Where only as many runs as before may go on at a time, both views count."""
        other = copy.copy(self)
        other.terms = terms
        if terms.jobs != self.jobs:
            other._free = threading.BoundedSemaphore(terms.jobs)
        return other

    def forking(self) -> Pool:
        """The same lanes, where a process of its own may be a fork of a zygote: not as evidence of how one begins."""
        return self.on(replace(self.terms, forked=True))

    def serving(self, script: Script, *, seconds: float) -> Pool:
        """The same lanes for another script."""
        other = self.on(replace(self.terms, seconds=seconds))
        other.script = script
        return other

    def leaving_open(self, parts: tuple[str, ...]) -> Pool:
        """Other lanes on the same terms, whose fence has not these parts."""
        other = self.on(self.terms)
        other.setup = replace(self.setup, left_open=parts)
        return other

    def beside(self, jobs: int) -> Pool:
        """The same lanes, so many at a time, whoever else holds some."""
        other = self.on(replace(self.terms, jobs=jobs))
        other._free = threading.BoundedSemaphore(jobs)
        return other

    def close(self) -> None:
        self._workers.close()
        self._others.close()

    def _worker(self, request: Request, group: str, way: KnobSetting) -> tuple[Hashable, Callable[[], Stock]]:
        """What tells the worker for this candidate from others, and what starts it. Its environment is the one that the
        candidate sets before its imports; a way may have an environment or an interpreter of its own, too."""
        key = (request.preamble.environment, group, self.terms.narrow, self.setup.left_open)
        if way.cheap:
            return key, lambda: self._plain(request.preamble, group)
        return (*key, tuple(sorted(way.environment.items())), way.python), lambda: self._other(
            request.preamble, group, way
        )

    def _plain(self, head: Preamble, group: str) -> Stock:
        most = SPARES if self.hosts is not None else self.jobs // len(self.groups) + 1
        return Stock(Worker.start(self._setup(head, group, PLAIN)), most)

    def _other(self, head: Preamble, group: str, way: KnobSetting) -> Stock:
        setup = self._setup(head, group, way)
        worker = Worker.start(setup)
        if setup.warm and setup.prepare and worker.report["spoilt"] and not worker.report["touched"]:
            worker.close()  # our own warming up started CUDA
            worker = Worker.start(replace(setup, prepare=False))
        if not (setup.warm and worker.report["touched"]):
            return Stock(worker, SPARES, first=0)
        worker.close()
        raise UsageError(f"with {way.name} the script's imports start CUDA, and a child forked then cannot use it")

    def _setup(self, head: Preamble, group: str, way: KnobSetting) -> Setup:
        environment = self._environment(head.environment, group, way)
        return replace(
            self.setup,
            imports=tuple(dict.fromkeys((*head.imports, *self.setup.imports))),
            environment=dict([NARROW]) | dict(environment) if self.terms.narrow else environment,
            python=way.python or self.setup.python,
        )

    def _environment(
        self, settings: tuple[tuple[str, str], ...], group: str, way: KnobSetting = PLAIN
    ) -> Mapping[str, str]:
        chosen = {"CUDA_VISIBLE_DEVICES": group} if group else {}
        if self.setup.arch:
            chosen = {"CUDA_VISIBLE_DEVICES": ""}  # the virtual GPU stays clear of a real one
            if gpus.driver():
                environment = {**self.setup.environment, **dict(settings), **way.environment}
                chosen |= driverless(self.setup.scratch, environment)
        if way.python or not HARMLESS.issuperset(way.environment):
            other = hashlib.sha256(way.name.encode()).hexdigest()[:12]
            chosen["TRITON_CACHE_DIR"] = os.path.join(self.setup.scratch, f"kernels-{other}")
        # From the start, since tempfile remembers its folder: the parent's warm-up would fix it at /tmp.
        return {**self.setup.environment, "TMPDIR": self.setup.scratch, **dict(settings), **way.environment, **chosen}
