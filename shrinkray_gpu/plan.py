"""Before the search: does the original reproduce, how often, how fast, and in which mode may candidates be judged?

Calibration decides, not hope. The original must show its fault in a mode as it does in a cold process; otherwise the
plan steps down (reused context, fresh fork, cold process) and says so. A fault that shows in some runs only has its
rate measured in the mode in which candidates will run. Nothing here, nor in the everyday run, serialises launches.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from shrinkray_gpu import perturbing
from shrinkray_gpu.errors import NotReproduced, ShrinkError, UsageError
from shrinkray_gpu.judge import whole
from shrinkray_gpu.oracle import Fault, Oracle, adopt, describe, nearest, obstacle
from shrinkray_gpu.oracle.statistics import Rate, by_chance
from shrinkray_gpu.oracle.verdict import Answer, Verdict
from shrinkray_gpu.repeating import PROGRAMMING, Ask, measure
from shrinkray_gpu.runner import gpus, preamble
from shrinkray_gpu.runner.interpreter import check_python as check_python
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import COLD, Pool, Script
from shrinkray_gpu.runner.run import Run

FLOOR = 3.0
"""Seconds that any candidate may take, however fast the original is."""
BUILDING = 120.0
"""Seconds more, at most, where the original builds CUDA C++: its own lane run found that build made already. No more
than a few cold runs of it, which build, since a kernel that never ends holds its lane as long."""
PATIENCE = 300.0
"""Seconds that the original may take when no --timeout is given."""
CONTEXT_BYTES = 600 << 20
"""Device memory of a bare context with Triton's driver, rounded up."""
IMPORTS = 20.0
"""Seconds that imports may take in a cold process where the oracle itself sets a limit (`hang:5`)."""
FURTHER = 20
"""Runs more of a program that did not show its fault, which may be a flaky one: a fault in a seventh of all runs shows
in 20 of them with 95 %."""
FURTHER_SECONDS = 120.0
"""For these, and then enough."""
ALIKE = 3
"""Runs that end in one and the same other fault: that is no chance, and most likely the oracle is wrong."""
CHECKS = 5
"""Lane runs more of a program that always faulted so far."""
RARER = 0.1
"""Reused contexts that show a fault more rarely than fresh ones, beyond what chance does this often, are not used."""
LESS = 0.01
"""Lanes that show a fault so rarely that chance would do it with no more than this do not stand for cold processes."""


@dataclass(frozen=True)
class Plan:
    """How candidates will be run, and what the original showed."""

    mode: str
    """`virtual`, `warm` (contexts reused while clean), `fork` (a fresh child each) or `cold` (a process each)."""
    why: str
    oracle: Oracle
    reference: Run
    faulted: int
    runs: int
    cold_seconds: float
    warm_seconds: float
    pool: Pool
    gpu: bool
    starter: ThreadPoolExecutor
    dry: Pool | None = None
    dry_predicts: bool = False
    """Whether the dry run of the original shows the fault: then one that shows none is answer enough."""
    versions: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    rate: Rate | None = None
    """How often the original shows its fault where candidates run; None if it always did."""
    variant: perturbing.Variant | None = None
    """What raises the rate, as text before the program's own; see `perturbed`."""

    def tried(self, text: str, runs: int) -> Rate:
        """How often a program shows the fault in so many runs, each in a fresh context or process."""
        if self.pool.mode != "cold":  # a worker dies with the thread that made it, and this one's may end soon
            self.starter.submit(self.pool.start, text).result()
        verdicts = _asking(self.oracle, self.pool, text)(runs)
        return Rate(sum(verdict.faults for verdict in verdicts), sum(verdict.known for verdict in verdicts))

    def close(self) -> None:
        """End all workers."""
        _closed(self.pool, self.dry)
        self.starter.shutdown()


@dataclass(frozen=True)
class Lanes:
    """Where runs may be made: cold processes at once, workers that come up meanwhile. They are for one preamble."""

    cold: Pool
    starter: ThreadPoolExecutor
    """Workers die with the thread that started them: these live as long as the plan."""
    forking: Setup
    warm: Pool | None = None
    started: Future[Mapping[str, Any]] | None = None
    """What the worker of `warm` says of its interpreter."""
    dry: Pool | None = None
    dry_started: Future[Mapping[str, Any]] | None = None

    def close(self) -> None:
        _closed(self.warm, self.dry)
        self.starter.shutdown()


def limits(oracle: Oracle | None, timeout: float | None) -> tuple[float, float]:
    """Seconds for the original, and how many more of them for a cold process.

    A limit that the user sets is meant for `python FILE`, imports and all; the oracle's own is for the rest."""
    own = oracle.limit if oracle else None
    return own or timeout or PATIENCE, IMPORTS if own else 0.0 if timeout else COLD


def cold_lanes(
    script: Script,
    setup: Setup,
    *,
    oracle: Oracle | None,
    jobs: int,
    timeout: float | None,
    devices: tuple[str, ...],
) -> Pool:
    """A process of its own for each run. Raises UsageError where none may run at all."""
    if setup.arch is None and gpus.present():
        _refuse_mps(setup.environment)
    seconds, extra = limits(oracle, timeout)
    return Pool(script, setup, mode="cold", jobs=jobs, seconds=seconds, devices=devices, extra=extra)


def open_lanes(
    source: str,
    script: Script,
    setup: Setup,
    *,
    oracle: Oracle | None,
    jobs: int,
    timeout: float | None,
    devices: tuple[str, ...],
    mode: str | None = None,
) -> Lanes:
    """Bring up the workers that fit `source`, beside whatever runs cold meanwhile."""
    gpu = setup.arch is None and gpus.present()
    jobs = 1 if oracle and oracle.alone else jobs
    cold = cold_lanes(script, setup, oracle=oracle, jobs=jobs, timeout=timeout, devices=devices)
    # Triton, too, though the script may not import it by itself: each child would, to watch its launches (0.3 s).
    imports = (*preamble.read(source).imports, *setup.imports, "triton")
    forking = replace(setup, imports=imports, warm=gpu, reuse=gpu and mode != "fork")
    lanes = Lanes(cold, ThreadPoolExecutor(2, thread_name_prefix="starter"), forking)
    try:
        if mode != "cold":
            name = "virtual" if setup.arch else "fork"
            pool = Pool(script, forking, mode=name, jobs=jobs, seconds=cold.seconds, devices=devices, extra=cold.extra)
            lanes = replace(lanes, warm=pool, started=lanes.starter.submit(pool.start, source))
        # Under compute-sanitizer each try is a process of its own: what does not even compile must not get there.
        sanitized = oracle is not None and bool(oracle.sanitizer) and "cpp_extension" in source
        arch = gpus.capability() if gpu and (mode is None or sanitized) else None
        if arch:
            virtual = replace(forking, arch=arch, warm=False, reuse=False)
            dry = Pool(replace(script, asserts=False), virtual, mode="virtual", jobs=jobs, seconds=cold.seconds)
            lanes = replace(lanes, dry=dry, dry_started=lanes.starter.submit(dry.start, source))
    except BaseException:
        lanes.close()
        raise
    return lanes


def make(
    source: str,
    script: Script,
    setup: Setup,
    *,
    oracle: Callable[[Run], Oracle] | Oracle,
    jobs: int,
    timeout: float | None,
    devices: tuple[str, ...],
    mode: str | None = None,
    seen: Sequence[Run] = (),
    bound: bool = False,
    lanes: Lanes | None = None,
) -> Plan:
    """Run the original cold, then in the modes that may stand for that. Raises NotReproduced or UsageError.

    `seen` are cold runs of it that were made before; `bound` says that the oracle knows the fault already: then that
    one is the reference, and not what this program shows. `lanes`: those that are up for it.
    """
    gpu = setup.arch is None and gpus.present()
    given = oracle if isinstance(oracle, Oracle) else None
    own = given.limit if given else None
    jobs = 1 if given and given.alone else jobs
    lanes = lanes or open_lanes(
        source, script, setup, oracle=given, jobs=jobs, timeout=timeout, devices=devices, mode=mode
    )
    cold_pool, starter, forking = lanes.cold, lanes.starter, lanes.forking
    pool, dry, started, dry_started = lanes.warm, lanes.dry, lanes.started, lanes.dry_started
    limit, extra = cold_pool.seconds, cold_pool.extra
    try:
        colds = [*seen, *_several(cold_pool, source, (3 if gpu else 1) - len(seen))]

        def cheapest() -> Pool:
            """Where further runs are cheapest."""
            if pool is None or started is None or not (given is None or given.needs_run):
                return cold_pool
            report = started.result()
            return cold_pool if gpu and (report["touched"] or report["spoilt"]) else pool

        # The fault to look for, and a run that shows it.
        looked, first = _adopting(colds, source, cheapest) if given is None else (colds, colds[0])
        judged = oracle if isinstance(oracle, Oracle) else oracle(first)
        if judged.alone and jobs > 1:
            jobs = 1
            for one in (cold_pool, pool, dry):
                if one is not None:
                    one.limit(1)
        verdicts = [_judged(judged, source, script, run) for run in looked]
        if not any(verdict.faults for verdict in verdicts):
            _once_more(looked, verdicts, judged, source, cheapest)
        reference = next((run for run, verdict in zip(looked, verdicts) if verdict.faults), None)
        if reference is None:
            raise _explain(looked, verdicts[0], judged, setup, script, timeout)
        if not bound:
            judged = judged.calibrated(reference)
        faulted = sum(verdict.faults for verdict in verdicts[: len(colds)])
        plan = Plan(
            mode="cold",
            why="as asked",
            oracle=judged,
            reference=reference,
            faulted=faulted,
            runs=len(colds),
            cold_seconds=min(run.seconds for run in colds),
            warm_seconds=min(run.seconds for run in colds),
            pool=cold_pool,
            gpu=gpu,
            starter=starter,
        )
        if not judged.needs_run:
            pool, dry = _closed(pool, dry)
            return _rated(replace(plan, why="the oracle runs the program itself"), source)
        if pool is None or started is None:
            plan = _rated(plan, source)
            if dry is not None and dry_started is not None:
                dry_started.result()
                plan = _gated(plan, dry, source)
                plan.pool.seconds = own or timeout or max(FLOOR, 4 * max(run.seconds for run in colds))
            return plan
        report = started.result()
        plan = replace(plan, versions=report["versions"])
        touched, spoilt = gpu and bool(report["touched"]), gpu and bool(report["spoilt"])
        if spoilt and not touched:  # by our own warming up
            pool.close()
            bare = replace(forking, prepare=False)
            pool = Pool(script, bare, mode="fork", jobs=jobs, seconds=limit, devices=devices, extra=extra)
            touched = bool(starter.submit(pool.start, source).result()["touched"])
        try:
            plan = _in_a_fork(plan, pool, source, touched=touched)
        except _StepDown as reason:
            pool, dry = _closed(pool, dry)
            return _rated(replace(plan, why=str(reason)), source, flaky=reason.flaky)
        building = min(BUILDING, 3 * plan.cold_seconds) if reference.builds else 0.0
        pool.seconds = own or timeout or max(FLOOR, 4 * plan.warm_seconds) + building
        if gpu and mode != "fork":
            pool.limit(_lanes(pool, jobs))
            plan = _reusing(plan, source)
        if dry is not None and dry_started is not None:
            dry_started.result()
            plan = _with_dry(plan, dry, source)
        return plan
    except BaseException:
        _closed(pool, dry)
        starter.shutdown()
        raise


def perturbed(plan: Plan, source: str, chosen: perturbing.Variant | None = None) -> Plan:
    """The plan for a flaky original with the perturbation in place that raises its rate, if one does: see
    `Plan.variant`, whose text is then the program to reduce. `chosen`: the one that a killed reduction chose."""
    if plan.rate is None:
        return plan
    variant = chosen or perturbing.choose(source, plan.rate, plan.tried)
    if variant is None:
        if not perturbing.variants(source):
            return plan
        return replace(plan, notes=(*plan.notes, "no perturbation makes the fault likelier"))
    if plan.pool.mode != "cold":
        plan.starter.submit(plan.pool.start, variant.text).result()
    rate = measure(_asking(plan.oracle, plan.pool, variant.text))
    if not rate.sightings:
        return plan
    variant = chosen or variant.told(plan.rate, rate)
    plan.pool.reuse = False  # most perturbations replace functions of torch's or Triton's: such a context is not clean
    mode = "fork" if plan.mode == "warm" else plan.mode
    notes = tuple(note for note in plan.notes if not note.startswith("flaky: "))
    notes = (*notes, f"flaky: {plan.rate} fault; {variant.note}: {rate} do")
    plan = replace(plan, variant=variant, rate=rate, mode=mode, notes=notes, faulted=rate.sightings, runs=rate.runs)
    if plan.dry is not None:
        dry, plan = plan.dry, replace(plan, dry=None, dry_predicts=False)
        plan.starter.submit(dry.start, variant.text).result()
        plan = _with_dry(plan, dry, variant.text)
    return plan


def _closed(*pools: Pool | None) -> tuple[None, None]:
    for pool in pools:
        if pool is not None:
            pool.close()
    return None, None


def _several(pool: Pool, source: str, count: int) -> list[Run]:
    with ThreadPoolExecutor(max(1, min(count, pool.jobs))) as threads:
        return list(threads.map(lambda _: pool.run(source, fresh=True), range(count)))


def _asking(oracle: Oracle, pool: Pool, source: str) -> Ask:
    """Verdicts on runs of one program, as many at once as there are lanes. The worker must be there already."""

    def one(_: int) -> Verdict:
        return whole(oracle, source, pool.script.path.name, partial(pool.run, fresh=True))

    def ask(count: int) -> Sequence[Verdict]:
        with ThreadPoolExecutor(max(1, min(count, pool.jobs))) as threads:
            return list(threads.map(one, range(count)))

    return ask


def _judged(oracle: Oracle, source: str, script: Script, run: Run) -> Verdict:
    return whole(oracle, source, script.path.name, lambda _: run)


def _adopting(colds: list[Run], source: str, lanes: Callable[[], Pool]) -> tuple[list[Run], Run]:
    """All runs until one shows a fault worth adopting, and that run. Raises NotReproduced where all end well."""
    seen, until = list(colds), time.monotonic() + FURTHER_SECONDS
    while True:
        for run in seen:
            if adopt(run) is not None:
                return seen, run
        if not all(map(_ended_well, seen)):
            return seen, next(run for run in seen if not _ended_well(run))
        left = FURTHER + len(colds) - len(seen)
        if left <= 0 or time.monotonic() > until:
            raise NotReproduced(_faultless(len(seen)))
        pool = lanes()
        seen += _several(pool, source, min(left, pool.jobs))


def _once_more(
    seen: list[Run], verdicts: list[Verdict], oracle: Oracle, source: str, lanes: Callable[[], Pool]
) -> None:
    """Chance may have kept the fault away: add runs until one shows it, or until it is not worth asking any more."""
    before, until = len(seen), time.monotonic() + FURTHER_SECONDS
    while _chance(seen, verdicts, oracle) and len(seen) < before + FURTHER and time.monotonic() < until:
        pool = lanes()
        hasty = len(seen) < ALIKE and (not oracle.needs_run or not _ended_well(seen[0]))
        alike = ALIKE - len(seen) if hasty else FURTHER
        for run in _several(pool, source, min(before + FURTHER - len(seen), pool.jobs, alike)):
            seen.append(run)
            verdicts.append(_judged(oracle, source, pool.script, run))


def _chance(seen: Sequence[Run], verdicts: Sequence[Verdict], oracle: Oracle) -> bool:
    """Whether chance may be what kept the fault away in all of these runs, so that one more is worth its time."""
    if any(verdict.faults for verdict in verdicts):
        return False
    for run, verdict in zip(seen, verdicts):
        if not verdict.known or run.timed_out or obstacle(run):
            return False
        if run.failure is not None and run.failure.type in {*PROGRAMMING, "PermissionError"}:
            return False
    if not oracle.needs_run:  # the user's own script, which may take its time
        return len(seen) < ALIKE
    if all(map(_ended_well, seen)):
        return True
    faults = [Fault.of(run) for run in seen]
    first = faults[0]
    alike = first is not None and all(fault is not None and not first.difference(fault) for fault in faults)
    return not alike or len(seen) < ALIKE


def _ended_well(run: Run) -> bool:
    return not run.trouble and Fault.of(run) is None


class _StepDown(Exception):
    """This mode does not stand for a cold process, and why; and whether the fault proved to be flaky meanwhile."""

    def __init__(self, why: str, *, flaky: bool = False) -> None:
        super().__init__(why)
        self.flaky = flaky


def _in_a_fork(seen: Plan, pool: Pool, source: str, *, touched: bool) -> Plan:
    """Whether the fault shows in lanes as in cold processes; and if it is flaky, how often it does."""
    if touched:
        raise _StepDown("an import at the top of the script starts CUDA, and a child forked after that cannot use it")
    try:
        return _as_cold(seen, pool, source)
    except _StepDown:
        if not pool.narrow:
            raise
    pool.narrow = False  # one hardware queue may be what keeps the fault away: work in several streams
    seen.starter.submit(pool.start, source).result()
    return _as_cold(seen, pool, source)


def _as_cold(seen: Plan, pool: Pool, source: str) -> Plan:
    """The plan for this pool. Raises _StepDown where its lanes do not show the fault as cold processes do."""
    runs = [pool.run(source, fresh=True)]
    if not seen.oracle.alone:
        runs += _several(pool, source, CHECKS)
    verdicts = [_judged(seen.oracle, source, pool.script, run) for run in runs]
    showing = [run for run, verdict in zip(runs, verdicts) if verdict.faults]
    forked = replace(seen, mode=pool.mode, pool=pool, warm_seconds=max(run.seconds for run in showing or runs))
    lane, cold = Rate(len(showing), len(runs)), Rate(seen.faulted, seen.runs)
    if lane.sightings == lane.runs and cold.sightings == cold.runs:
        return replace(forked, why="the fault shows in a forked child as in a cold process")
    told = f"in a forked worker the original does not show its fault ({verdicts[0].why})"
    if not showing and cold.sightings == cold.runs:
        if cold.runs < ALIKE:
            cold += seen.tried(source, ALIKE - cold.runs)
        if cold.sightings == cold.runs:
            raise _StepDown(told)
    pool.limit(_lanes(pool, pool.jobs))
    plan = _rated(replace(forked, warm_seconds=max(run.seconds for run in runs)), source, flaky=True)
    assert plan.rate is not None
    if not plan.rate.sightings:
        raise _StepDown(told, flaky=True)
    if by_chance(plan.rate, cold) < LESS:
        why = f"in forked workers the fault shows too rarely: {plan.rate}, and {cold} in cold processes"
        raise _StepDown(why, flaky=True)
    return replace(plan, why="the fault shows in forked children as in cold processes, as often as chance has it")


def _rated(plan: Plan, source: str, *, flaky: bool = False) -> Plan:
    """The plan with the rate at which its pool shows the fault, if it is (or proves to be) a flaky one."""
    if not flaky and plan.faulted == plan.runs:
        return plan
    rate = measure(_asking(plan.oracle, plan.pool, source))
    if not rate.sightings and plan.pool.mode == "cold":
        raise NotReproduced(
            f"{plan.pool.script.called} showed the fault at first and in none of {rate.runs} further runs: too rare "
            "to be reduced. Look for what makes it likelier (load beside it, other inputs, a loop around it)"
        )
    note = f"flaky: {rate} fault"
    return replace(plan, rate=rate, faulted=rate.sightings, runs=rate.runs, notes=(*plan.notes, note))


def _reusing(plan: Plan, source: str) -> Plan:
    """Whether contexts may be reused: the fault must show in one in which another, harmless program ran before."""
    harmless = "import torch\nx = torch.ones(8, device='cuda')\ntorch.cuda.synchronize()\n"
    plan.pool.run(harmless, fresh=True)
    run = plan.pool.run(source)
    again = [run]
    if plan.rate is not None:  # each fault ends a context, and each clean run leaves one for the next
        for _ in range(-(-60 // plan.pool.jobs)):
            with ThreadPoolExecutor(plan.pool.jobs) as threads:
                again += threads.map(lambda _: plan.pool.run(source), range(plan.pool.jobs))
    reused = [plan.oracle.judge(run).faults for run in again if run.mode == "warm"]
    if plan.rate is None and reused == [True]:
        why = "the fault shows in a context that passed another program before, as in a cold process"
        return replace(plan, mode="warm", why=why)
    if plan.rate is not None and len(reused) >= 20:
        warm = Rate(sum(reused), len(reused))
        if by_chance(warm, plan.rate) >= RARER:
            why = f"the fault shows as often in contexts that other programs used before ({warm})"
            return replace(plan, mode="warm", why=why)
    plan.pool.reuse = False
    return replace(plan, why="the fault shows in a fresh context only, not in one that another program used before")


def _lanes(pool: Pool, jobs: int) -> int:
    """As many lanes as device memory holds, by what the original took."""
    free = pool.free_bytes
    if not free:
        return jobs
    return max(1, min(jobs, int(0.45 * free / (pool.peak + CONTEXT_BYTES))))  # each lane has a spare coming up


def _gated(plan: Plan, dry: Pool, source: str) -> Plan:
    """Builds of CUDA C++ alone, on the virtual GPU, before the real run: for a program that does get through them."""
    run = dry.run(source)
    if run.trouble or run.timed_out or run.failure is not None or not run.builds:
        dry.close()
        return plan
    dry.seconds = max(FLOOR, 4 * run.seconds) + BUILDING
    return replace(plan, dry=dry, notes=(*plan.notes, "candidates that do not compile are not run"))


def _with_dry(plan: Plan, dry: Pool, source: str) -> Plan:
    """Dry runs on a virtual GPU of the same architecture, if the original makes the same launches there."""
    run = dry.run(source)
    names = [launch.kernel for launch in run.launches]
    seen = [launch.kernel for launch in plan.reference.launches]
    if run.trouble or (names[: len(seen)] != seen and seen[: len(names)] != names) or not names:
        dry.close()
        what = run.trouble or (run.failure.text if run.failure else f"launches {names[:8]} instead of {seen[:8]}")
        note = f"no dry run: on the virtual GPU the original does not reach the same launches ({what[:120]})"
        return replace(plan, notes=(*plan.notes, note))
    dry.seconds = max(FLOOR, 4 * run.seconds)
    note = "dry runs on the virtual GPU reach the same launches"
    predicts = plan.oracle.judge(run).faults
    if predicts:
        note += ", and the static rule tells the fault from the compiled kernel"
    return replace(plan, dry=dry, dry_predicts=predicts, notes=(*plan.notes, note))


def _explain(
    seen: Sequence[Run], verdict: Verdict, oracle: Oracle, setup: Setup, script: Script, timeout: float | None
) -> ShrinkError:
    """What happened instead, and what to do about it."""
    run = next((run for run in seen if not _ended_well(run)), seen[0])
    if said := obstacle(run):
        return UsageError(f"{script.called} does not run in {setup.python}. {said}")
    if run.timed_out and not oracle.alone:
        after = f"{timeout:g} s (--timeout)" if timeout else f"{PATIENCE:g} s"
        return NotReproduced(
            f"{script.called} was still running after {after}: give a longer --timeout, or look for the hang itself "
            "with --oracle timeout"
        )
    if run.timed_out and oracle.limit and verdict.known:
        return NotReproduced(f"{script.called} does not show {oracle.spec!r}: {verdict.why}")
    if verdict.answer is Answer.UNKNOWN:
        return NotReproduced(f"the run of {script.called} answers nothing: {verdict.why or run.trouble}")
    near = nearest(run, oracle.spec)
    if run.failure is not None and run.failure.type == "PermissionError":
        return NotReproduced(
            f"{script.called} writes where no candidate may: {run.failure.text}. Candidates are run many times, and "
            "write only below $TMPDIR, which shrink sets: use tempfile there, or take the writing out of the script"
        )
    more = [f"would have matched: --oracle {shlex.quote(spec)}" for spec in near[:1]]
    more += [oracle.hint] * bool(oracle.hint)
    runs = f" in {len(seen)} runs" if len(seen) > 1 else ""
    return NotReproduced(
        "\n  ".join([f"{script.called} does not show {oracle.spec!r}{runs}. {describe(run, oracle.spec)}", *more])
    )


def adopted(run: Run) -> str:
    """The SPEC of the fault seen. Raises UsageError for a broken set-up, NotReproduced when it just passes."""
    spec = adopt(run)
    if spec is None and obstacle(run):
        raise UsageError(obstacle(run))
    if spec is None:
        raise NotReproduced(_faultless(1))
    return spec


def _faultless(runs: int) -> str:
    return (
        f"the program ends without a fault{f' in each of {runs} runs' if runs > 1 else ''}, and no --oracle says what "
        'to look for: name one, for example --oracle "misaligned address", ttgir:REGEX or script:./test.sh'
    )


def _refuse_mps(environment: Mapping[str, str]) -> None:
    pipe = environment.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps")
    if (Path(pipe) / "control").exists():
        raise UsageError(
            f"CUDA MPS is active ({pipe}): one client's fault would end every other client's work. Stop it "
            "(echo quit | nvidia-cuda-mps-control) or run on a GPU without it"
        )
