"""From candidate to verdict, by the cheapest tier that tells: dry run, launches judged before, lane, cold process.

The runner says what happened, the oracle whether that is the fault; here they meet, and tries are counted. Where the
fault is flaky, each tier that really runs a candidate does so until `repeating` has its numbers.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any

from shrinkray_gpu.judging.repetition import Ask, Repeated
from shrinkray_gpu.oracle import Fault, Oracle
from shrinkray_gpu.oracle.same import SameFaultOracle
from shrinkray_gpu.oracle.verdict import Answer, Verdict, lacks
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner.pool import Pool
from shrinkray_gpu.runner.run import Run

DRY, CREDIT, LANE, COLD, SCRIPT = "dry run", "credit", "lane", "cold", "script"

STEADY = 2
"""Fresh contexts in which a fault that always showed must show again, before a cold process is asked as well. One that
got rarer, to two runs of three, passes them all once in three times, and is asked several times on the way."""
WASTED = 3
"""Dry runs that waited until their time was over, where the lane then had an answer sooner: no more are made."""
PLENTY = 1 << 30
"""Device memory, in bytes, from which on it matters how much the original takes."""
DRIED = 200
"""Dry runs made ahead that are kept."""
UNKNOWN_CONTENT = "#?"
"""In a launch's argument: what it holds was written by a kernel, and no kernel ran."""


class Judge:
    """Judges candidates in parallel.

    `pool` holds the lanes that decide. `dry`, where given, is a pool on the virtual GPU that sorts out in milliseconds,
    on the CPU, the candidates that never get to a launch, and recognises launches that were judged before: those are
    accepted on credit, which the engine has confirmed by cold runs. `predicts` says that the dry run of the original
    shows the fault itself: then a candidate whose dry run does not is out, be it that the fault is gone or that it
    comes with undefined behaviour of the candidate's own (a null pointer, a descriptor past its tensor), and one whose
    dry run does is believed on credit too.

    `repeats`, where given, says that the fault is flaky: candidates are run again until it decides, and nothing is
    taken on credit, since the same launches may fault or not.

    `brief`, where given, is for a kernel that hangs: a lane whose GPU is at work for so many seconds after the last
    launch is taken to hang until a probe or a cold run, which wait for as long as the oracle says, tells otherwise.
    From then on all lanes wait.

    Without `machine_code`, the kernels of candidates on the virtual GPU have none; those of cold runs do.
    """

    def __init__(
        self,
        oracle: Oracle,
        pool: Pool,
        *,
        dry: Pool | None = None,
        predicts: bool = False,
        credit: bool = True,
        repeats: Repeated | None = None,
        brief: float = 0.0,
        machine_code: bool = True,
    ) -> None:
        self.machine_code = machine_code
        self.oracle, self.pool, self.dry = oracle, pool, dry
        self.brief = brief
        # Outputs that are compared depend on seeds and memory, of which a dry run's launches tell nothing. Nor do they
        # of a fault that host code raises by what kernels computed: a dry run lets every such comparison hold.
        self.credit = (
            credit and repeats is None and not oracle.needs.twins and (predicts or not _raised_by_the_host(oracle))
        )
        self.predicts = predicts and repeats is None
        self.repeats = repeats
        self.memory = 2 * pool.peak if pool.peak > PLENTY else 0
        """Device memory, in bytes, that no candidate may hold; 0: any may. What shrinks the text may grow the tensors
        (int8 to the default type), and a repro that needs more than the original is of little use."""
        self.timed = False
        """Whether the fault is a matter of time between launches: only cold processes confirm it then, since a lane,
        where all is compiled and warm, is none."""
        self.check: Callable[[str, Run], Verdict | None] | None = None
        """Asked after a lane or cold run that shows the fault, with the candidate's text and that run (the first that
        shows it, of a flaky fault). The Verdict that it returns, if any, replaces the "yes"."""
        self.before_lane: Callable[[Run], None] | None = None
        """Told the dry run of a candidate that goes on to a lane, with its machine code if it made any, so that what
        `check` will ask of it is begun."""
        self.tries: Counter[str] = Counter()
        """By the tier that settled them."""
        self.lane_seconds = 0.0
        self.host_errors = 0
        """Tries in lanes that an error of the host code ended, which a dry run might have told."""
        self.mute: Counter[str] = Counter()
        """Dry runs that told nothing, by what became of them."""
        self.at_once = (dry.jobs if dry else pool.jobs) // 2
        """Tries under way up to which others are begun ahead: half of the lanes, since most of these are never asked
        for, and what is asked next must neither wait for them nor share its core with them."""
        self.scarce = False
        """Whether lanes are: then only the dry run of a try is made ahead, in which its kernels are compiled."""
        self.ahead = self.foreseen = 0
        """Tries that were begun before they were asked for, and how many of these were asked for in the end."""
        self._wasted = 0
        self._fresh = self._doubts_used = False
        self._known: dict[str, Future[Verdict]] = {}
        self._lock = threading.Lock()
        self._deciding = 0
        self._threads = ThreadPoolExecutor(pool.jobs + (dry.jobs if dry else 0), thread_name_prefix="judge")
        self._again = ThreadPoolExecutor(pool.jobs, thread_name_prefix="again")  # or a decision would wait for itself
        self._likely: Iterator[Program] = iter(())
        self._ahead: dict[str, Future[Verdict]] = {}
        self._dried: dict[str, Future[Run]] = {}

    def forget(self) -> None:
        """No verdict is taken on credit any more, nor the launches known that were judged before."""
        with self._lock:
            self.credit = False
            self._known.clear()
        self._drop_ahead()

    def doubt_used(self) -> None:
        """What was accepted was refuted. A context that passed another program before has other memory mapped beyond a
        tensor than a fresh one: from now on each "yes" of such a one is asked again in a fresh one."""
        with self._lock:
            self._doubts_used = self.repeats is None
            self._known.clear()
        self._drop_ahead()

    def insist(self, on: bool) -> None:
        """In the last round, repeat in fresh contexts what a reused one denied."""
        self._fresh = on
        self._drop_ahead()

    def foresee(self, likely: Iterable[Program]) -> None:
        """What will most likely be asked after the next call, soonest first: judged beside it where lanes would idle.
        An answer that was not asked for in the end is thrown away, and a try that has not begun by then is cancelled.

        Chance decides on a flaky fault, and would decide otherwise on another day: there nothing is done ahead."""
        if self.repeats is None and self.pool.jobs > 1:
            self._likely = iter(likely)

    def __call__(self, programs: Sequence[Program]) -> list[Verdict]:
        """Verdicts in the order of the programs."""
        stale = [text for text, future in self._ahead.items() if future.cancel()]
        self._dried = {text: future for text, future in self._dried.items() if not future.cancel()}
        asked = []
        for program in programs:
            known = None if program.text in stale else self._ahead.pop(program.text, None)
            dried = self._dried.pop(program.text, None)
            self.foreseen += known is not None or dried is not None
            asked.append(known or self._threads.submit(self.judge, program.text, dried))
        for text in stale:
            self._ahead.pop(text, None)
        self._wait(asked)
        return [future.result() for future in asked]

    def _wait(self, asked: Sequence[Future[Verdict]]) -> None:
        """Keep the lanes busy with what is likely to be asked next, until all that was asked is answered."""
        likely, self._likely = self._likely, iter(())
        while waiting := [future for future in asked if not future.done()]:
            busy: list[Future[Any]] = [*waiting, *self._ahead.values(), *self._dried.values()]
            busy = [future for future in busy if not future.done()]
            program = next(likely, None) if len(busy) <= self.at_once else None
            if program is None:
                wait(busy if len(busy) > self.at_once else waiting, return_when=FIRST_COMPLETED)
            elif program.text not in self._ahead and program.text not in self._dried:
                self.ahead += 1
                self._begin(program.text)

    def _begin(self, source: str) -> None:
        dry = self.dry
        if dry is not None and self.scarce:
            dried = self._dried
            while len(dried) >= DRIED:
                del dried[next(iter(dried))]
            dried[source] = self._threads.submit(self._dry_run, dry, source)
        else:
            self._ahead[source] = self._threads.submit(self.judge, source)

    def _drop_ahead(self) -> None:
        begun: list[Future[Any]] = [*self._ahead.values(), *self._dried.values()]
        self._ahead, self._dried = {}, {}  # new ones: this may be a thread of ours, while a call goes through the old
        for future in begun:
            future.cancel()

    def judge(self, source: str, dried: Future[Run] | None = None) -> Verdict:
        """`dried`: its dry run, if that is made already."""
        if self.oracle.needs.run:
            verdict = self._run(source, dried)
            if not verdict.faults:
                return verdict
        if self.oracle.needs.text:
            verdict = self._settled(source, lambda: (self._in_script(source), None), self._deciding_on(source))
        return verdict

    def _run(self, source: str, dried: Future[Run] | None) -> Verdict:
        dry = self.dry
        if dry is None:
            return self._lane(source)
        run = self._dry_run(dry, source) if dried is None else dried.result()
        if run.timed_out or run.trouble or (run.signal is not None and not self.predicts):
            with self._lock:
                self.mute[run.trouble or ("time limit" if run.timed_out else f"signal {run.signal}")] += 1
            return self._after_waiting(source, dry) if run.timed_out else self._lane(source)
        foreseen = self.oracle.judge(run)
        certain = self.repeats is None or self.repeats.certain(run)
        if run.failure is not None and not run.driver_error and not foreseen.faults and certain:
            self.count(DRY)
            why = f"dry run: {run.failure.type}: {run.failure.text[:100]}"
            return Verdict(Answer.PASSES, why, other=foreseen.other, certain=self.repeats is not None)
        if self.predicts and foreseen.answer is Answer.PASSES:
            self.count(DRY)
            return Verdict(Answer.PASSES, f"dry run: {foreseen.why}")
        if self.predicts and foreseen.faults and self.credit:
            self.count(CREDIT)
            return Verdict(Answer.FAULTS, f"on credit: {foreseen.why}", credit=True)
        # The launches of a CUDA C++ extension are seen by nobody.
        if (
            not self.credit
            or run.builds
            or any(UNKNOWN_CONTENT in arg for launch in run.launches for arg in launch.args)
        ):
            return self._after_dry(run, source)
        return self._once(_signature(run), run, source)

    def _dry_run(self, dry: Pool, source: str) -> Run:
        """Machine code is made where a lane will want it: without credit what shows the fault goes on to one."""
        code = self.machine_code or not self.credit
        wants = ("cubin",) if code and self.before_lane is not None else ()
        return dry.run(source, machine_code=code, wants=wants)

    def _after_dry(self, run: Run, source: str) -> Verdict:
        if self.before_lane is not None:
            self.before_lane(run)
        return self._lane(source)

    def _after_waiting(self, source: str, dry: Pool) -> Verdict:
        """The verdict of a lane where the dry run told nothing in its time. Soon none is made any more, unless the
        candidates themselves hang."""
        began = time.monotonic()
        verdict = self._lane(source)
        with self._lock:
            self._wasted += time.monotonic() - began < dry.seconds
            if self._wasted >= WASTED:
                self.dry = None
        return verdict

    def _once(self, signature: str, run: Run, source: str) -> Verdict:
        """One lane run for all candidates that make the same launches."""
        mine: Future[Verdict] = Future()
        with self._lock:
            known = self._known.setdefault(signature, mine)
        if known is not mine:
            verdict = known.result()
            if verdict.known and not (self._fresh and verdict.provisional):
                self.count(CREDIT)
                return replace(verdict, why="on credit: its launches were judged before", credit=True)
            return self._after_dry(run, source)
        try:
            verdict = self._after_dry(run, source)
        except BaseException as error:
            mine.set_exception(error)
            raise
        mine.set_result(verdict)
        if not verdict.known:
            with self._lock:
                self._known.pop(signature, None)
        return verdict

    def _lane(self, source: str, *, fresh: bool = False) -> Verdict:
        fresh = fresh or self._fresh
        return self._settled(source, lambda: self._in_lane(source, fresh), self._deciding_on(source, last=fresh))

    def _deciding_on(self, source: str, *, last: bool = False) -> Callable[[Repeated, Ask], Verdict]:
        return lambda repeats, ask: repeats.decide(ask, last=last or self._fresh, key=source)

    def _settled(
        self,
        source: str,
        once: Callable[[], tuple[Verdict, Run | None]],
        decide: Callable[[Repeated, Ask], Verdict],
    ) -> Verdict:
        """The verdict of one run, or of as many as chance demands; and then what the check says of a "yes"."""
        showing: list[Run] = []

        def verdict_of_one(_: int = 0) -> Verdict:
            verdict, run = once()
            if run is not None and verdict.faults:
                showing.append(run)
            return verdict

        if self.repeats is None:
            verdict = verdict_of_one()
        else:
            with self._lock:
                self._deciding += 1
            try:
                verdict = decide(self.repeats, self._several(verdict_of_one))
            finally:
                with self._lock:
                    self._deciding -= 1
        if verdict.faults and showing and self.check is not None:
            return self.check(source, showing[0]) or verdict
        return verdict

    def _several(self, once: Callable[[int], Verdict]) -> Ask:
        """Up to so many runs at once as there are lanes for each of the candidates that are being decided on."""

        def ask(useful: int) -> Sequence[Verdict]:
            count = min(useful, -(-self.pool.jobs // max(1, self._deciding)))
            return [once(0)] if count == 1 else list(self._again.map(once, range(count)))

        return ask

    def _in_lane(self, source: str, fresh: bool) -> tuple[Verdict, Run]:
        started, brief = time.monotonic(), 0.0 if fresh else self.brief
        run = self.pool.run(source, fresh=fresh, brief=brief, machine_code=self.machine_code)
        self.count(COLD if run.mode == "cold" else LANE, time.monotonic() - started)
        verdict = self.oracle.judge(run)
        if verdict.faults and self._doubts_used and not run.fresh:
            return self._in_lane(source, True)
        if verdict.faults and self.memory and run.peak > self.memory:
            return lacks(f"it holds {run.peak / 1e9:.1f} GB of device memory, far more than the original"), run
        if verdict.faults and brief and run.seconds < self.pool.seconds:
            return replace(
                verdict, why=f"the GPU is at work {brief:g} s after the last launch, and maybe for ever"
            ), run
        if verdict.answer is not Answer.PASSES:
            return verdict, run
        fault = Fault.of(run)
        with self._lock:
            self.host_errors += fault is not None and fault.phase == "python"
        if self.repeats is not None:
            return replace(verdict, certain=self.repeats.certain(run)), run
        return replace(verdict, provisional=not run.fresh), run

    def _in_script(self, source: str) -> Verdict:
        self.count(SCRIPT)
        return self.oracle.judge_text(source, self.pool.script.path.name)

    def count(self, tier: str, seconds: float = 0.0) -> None:
        """One try more, and the seconds that it held a lane."""
        with self._lock:
            self.tries[tier] += 1
            self.lane_seconds += seconds

    def values(self, program: Program) -> Mapping[int, str]:
        """The values that a program with watched expressions computes: on the virtual GPU, where that shows the fault
        too, since it takes no context. What kernels would have written is made up there; the fault does without."""
        dry = self.dry
        pool = dry if self.predicts and dry is not None else self.pool
        return pool.run(program.text, values=True, machine_code=self.machine_code).values

    def capture(self, program: Program) -> Run:
        """Run the program once more, and write down the launch that faults. A flaky one until it does, if it will."""
        for _ in range(self.repeats.clean if self.repeats else 1):
            run = self.pool.run(program.text, fresh=True, capture="launch")
            if self.oracle.judge(run).faults:
                break
        return run

    def confirm(self, program: Program) -> Future[Verdict]:
        """Judge the program in a cold process, beside the search. Of a flaky fault the rate is confirmed first."""
        return self._threads.submit(self._heeded, self._confirmed, program.text)

    def probe(self, program: Program) -> Future[Verdict]:
        """Judge the program in a fresh context of a lane, beside the search: quicker than a cold process."""
        return self._threads.submit(self._heeded, self._rate_confirmed, program.text)

    def sighted(self, program: Program) -> Future[Verdict]:
        """Judge the program in cold processes, beside the search, until it shows the fault: one for a "yes"."""
        return self._threads.submit(self.cold, program.text)

    def steady(self, program: Program) -> Future[Verdict]:
        """Judge the program several times, beside the search, the last time in a cold process. Of a fault that always
        showed, a program that shows it now and then is not what was asked for: the final check would refuse it."""
        return self._threads.submit(self._steady, program.text)

    def cold(self, source: str) -> Verdict:
        """The verdict of a cold process. Of a flaky fault: whether it shows at all in as many as a "no" must rest on,
        since each takes seconds, and the rate is for the lanes to see to."""
        return self._settled(source, lambda: self._in_process(source), Repeated.sighted)

    def _heeded(self, confirm: Callable[[str], Verdict], source: str) -> Verdict:
        verdict = confirm(source)
        if self.brief and verdict.answer is Answer.PASSES:
            self.brief = 0.0
            self.forget()
        return verdict

    def _confirmed(self, source: str) -> Verdict:
        if self.repeats is None or (self.pool.mode != "cold" and not self.timed):
            verdict = self._rate_confirmed(source) if self.repeats is not None else None
            return self.cold(source) if verdict is None or verdict.faults else verdict
        return self._settled(source, lambda: self._in_process(source), Repeated.confirm)

    def _rate_confirmed(self, source: str) -> Verdict:
        if not self.oracle.needs.run:
            return self._settled(source, lambda: (self._in_script(source), None), Repeated.confirm)
        return self._settled(source, lambda: self._in_lane(source, True), Repeated.confirm)

    def _steady(self, source: str) -> Verdict:
        for _ in range(STEADY):
            verdict = self._rate_confirmed(source)
            if not verdict.faults:
                return verdict
        return self.cold(source)

    def _in_process(self, source: str) -> tuple[Verdict, Run | None]:
        runs: list[Run] = []

        def run(text: str) -> Run:
            self.count(COLD)
            runs.append(self.pool.cold(text))
            return runs[-1]

        verdict = whole(self.oracle, source, self.pool.script.path.name, run)
        if runs and self.repeats is not None and verdict.answer is Answer.PASSES:
            verdict = replace(verdict, certain=self.repeats.certain(runs[-1]))
        return verdict, runs[-1] if runs else None

    def close(self) -> None:
        self._threads.shutdown(wait=True, cancel_futures=True)
        self._again.shutdown(wait=True, cancel_futures=True)


def whole(oracle: Oracle, source: str, name: str, run: Callable[[str], Run]) -> Verdict:
    """All that the oracle asks of one program: of its run, of its text, or of both."""
    if oracle.needs.run:
        verdict = oracle.judge(run(source))
        if not verdict.faults or not oracle.needs.text:
            return verdict
    return oracle.judge_text(source, name)


def _raised_by_the_host(oracle: Oracle) -> bool:
    reference = oracle.reference if isinstance(oracle, SameFaultOracle) else None
    return reference is not None and reference.fault.phase in ("python", "exit")


def _signature(run: Run) -> str:
    """The launches that a program asks for, free of names and addresses, and how its host code ended."""
    kernels = {compiled.hash: (compiled.ttir_key, sorted(compiled.options.items())) for compiled in run.compiles}
    launches = [(kernels.get(x.hash, x.hash), x.grid, x.args, x.synced, bool(x.fault)) for x in run.launches]
    failed = [(c.failure.type, c.failure.text) for c in run.compiles if c.failure]
    ended = (run.exit, run.signal, run.failure.type if run.failure else "", run.driver_error)
    return hashlib.sha256(repr((launches, failed, ended)).encode()).hexdigest()
