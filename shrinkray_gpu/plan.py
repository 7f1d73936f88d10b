"""Before the search: does the original reproduce, how often, how fast, and in which mode may candidates be judged?

Calibration decides, not hope. The original must show its fault in a mode as it does in a cold process; otherwise the
plan steps down (reused context, fresh fork, cold process) and says so.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from shrinkray_gpu.errors import NotReproduced, ShrinkError, UsageError
from shrinkray_gpu.judge import whole
from shrinkray_gpu.oracle import Oracle, adopt, describe, nearest, obstacle
from shrinkray_gpu.oracle.verdict import Answer, Verdict
from shrinkray_gpu.runner import gpus, preamble
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import COLD, Pool, Script
from shrinkray_gpu.runner.run import Run

FLOOR = 3.0
"""Seconds that any candidate may take, however fast the original is."""
PATIENCE = 300.0
"""Seconds that the original may take when no --timeout is given."""
CONTEXT_BYTES = 600 << 20
"""Device memory of a bare context with Triton's driver, rounded up."""


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

    def close(self) -> None:
        """End all workers."""
        _closed(self.pool, self.dry)
        self.starter.shutdown()


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
) -> Plan:
    """Run the original cold, then in the modes that may stand for that. Raises NotReproduced or UsageError."""
    gpu = setup.arch is None and gpus.present()
    if gpu:
        _refuse_mps(setup.environment)
    limit = timeout or PATIENCE
    # A limit that the user sets is meant for `python FILE`, imports and all.
    extra = 0.0 if timeout else COLD
    cold_pool = Pool(script, setup, mode="cold", jobs=jobs, seconds=limit, devices=devices, extra=extra)
    # Triton, too, though the script may not import it by itself: each child would, to watch its launches (0.3 s).
    imports = (*preamble.read(source).imports, "triton")
    forking = replace(setup, imports=imports, warm=gpu, reuse=gpu and mode != "fork")
    # Workers come up while the original runs. They die with the thread that started them: it lives as long as the plan.
    starter = ThreadPoolExecutor(2, thread_name_prefix="starter")
    pool = dry = None
    try:
        if mode != "cold":
            name = "virtual" if setup.arch else "fork"
            pool = Pool(script, forking, mode=name, jobs=jobs, seconds=limit, devices=devices, extra=extra)
            started = starter.submit(pool.start, source)
        arch = gpus.capability() if gpu and mode is None else None
        if arch:
            virtual = replace(forking, arch=arch, warm=False, reuse=False)
            dry = Pool(replace(script, asserts=False), virtual, mode="virtual", jobs=jobs, seconds=limit)
            dry_started = starter.submit(dry.start, source)
        count = 3 if gpu else 1
        with ThreadPoolExecutor(count) as threads:
            colds = list(threads.map(lambda _: cold_pool.run(source), range(count)))
        judged = oracle if isinstance(oracle, Oracle) else oracle(colds[0])
        verdicts = [whole(judged, source, script.path.name, partial(_already, run)) for run in colds]
        faulted = sum(verdict.faults for verdict in verdicts)
        reference = next((run for run, verdict in zip(colds, verdicts) if verdict.faults), colds[0])
        if not faulted:
            raise _explain(reference, verdicts[0], judged, setup, script, timeout)
        judged = judged.calibrated(reference)
        seen = Plan(
            mode="cold",
            why="as asked",
            oracle=judged,
            reference=reference,
            faulted=faulted,
            runs=count,
            cold_seconds=min(run.seconds for run in colds),
            warm_seconds=min(run.seconds for run in colds),
            pool=cold_pool,
            gpu=gpu,
            starter=starter,
        )
        if not judged.needs_run:
            pool, dry = _closed(pool, dry)
            return replace(seen, why="the oracle runs the program itself")
        if pool is None:
            return seen
        report = started.result()
        seen = replace(seen, versions=report["versions"])
        if gpu and report["spoilt"] and not report["touched"]:  # by our own warming up
            pool.close()
            bare = replace(forking, prepare=False)
            pool = Pool(script, bare, mode="fork", jobs=jobs, seconds=limit, devices=devices, extra=extra)
            report = starter.submit(pool.start, source).result()
        try:
            plan = _in_a_fork(seen, pool, source, touched=gpu and bool(report["touched"]))
        except _StepDown as reason:
            pool, dry = _closed(pool, dry)
            return replace(seen, why=str(reason))
        pool.seconds = timeout or max(FLOOR, 4 * plan.warm_seconds)
        if gpu and mode != "fork":
            plan = _reusing(plan, source)
            pool.limit(_lanes(pool, jobs))
        if dry is not None:
            dry_started.result()
            plan = _with_dry(plan, dry, source)
        return plan
    except BaseException:
        _closed(pool, dry)
        starter.shutdown()
        raise


def _closed(*pools: Pool | None) -> tuple[None, None]:
    for pool in pools:
        if pool is not None:
            pool.close()
    return None, None


def _already(run: Run, source: str) -> Run:
    """The run of `source`, which has been."""
    return run


class _StepDown(Exception):
    """This mode does not stand for a cold process, and why."""


def _in_a_fork(seen: Plan, pool: Pool, source: str, *, touched: bool) -> Plan:
    if touched:
        raise _StepDown("an import at the top of the script starts CUDA, and a child forked after that cannot use it")
    run = pool.run(source, fresh=True)
    verdict = seen.oracle.judge(run)
    if not verdict.faults:
        raise _StepDown(f"in a forked worker the original does not show its fault ({verdict.why})")
    why = "the fault shows in a forked child as in a cold process"
    return replace(seen, mode=pool.mode, why=why, pool=pool, warm_seconds=run.seconds)


def _reusing(plan: Plan, source: str) -> Plan:
    """Whether contexts may be reused: the fault must show in one in which another, harmless program ran before."""
    plan.pool.run("import torch\nx = torch.ones(8, device='cuda')\ntorch.cuda.synchronize()\n", fresh=True)
    run = plan.pool.run(source)
    if run.mode == "warm" and plan.oracle.judge(run).faults:
        why = "the fault shows in a context that passed another program before, as in a cold process"
        return replace(plan, mode="warm", why=why)
    plan.pool.reuse = False
    return replace(plan, why="the fault shows in a fresh context only, not in one that another program used before")


def _lanes(pool: Pool, jobs: int) -> int:
    """As many lanes as device memory holds, by what the original took."""
    free = pool.free_bytes
    if not free:
        return jobs
    return max(1, min(jobs, int(0.45 * free / (pool.peak + CONTEXT_BYTES))))  # each lane has a spare coming up


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
    run: Run, verdict: Verdict, oracle: Oracle, setup: Setup, script: Script, timeout: float | None
) -> ShrinkError:
    """What happened instead, and what to do about it."""
    if said := obstacle(run):
        return UsageError(f"{script.path.name} does not run in {setup.python}. {said}")
    if run.timed_out:
        after = f"{timeout:g} s (--timeout)" if timeout else f"{PATIENCE:g} s"
        return NotReproduced(
            f"{script.path.name} was still running after {after}: give a longer --timeout, or look for the hang itself "
            "with --oracle timeout"
        )
    if verdict.answer is Answer.UNKNOWN:
        return NotReproduced(f"the run of {script.path.name} answers nothing: {verdict.why or run.trouble}")
    near = nearest(run, oracle.spec)
    if run.failure is not None and run.failure.type == "PermissionError":
        return NotReproduced(
            f"{script.path.name} writes where no candidate may: {run.failure.text}. Candidates are run many times, and "
            "write only below $TMPDIR, which shrink sets: use tempfile there, or take the writing out of the script"
        )
    more = [f"would have matched: --oracle {shlex.quote(spec)}" for spec in near[:1]]
    more += [oracle.hint] * bool(oracle.hint)
    return NotReproduced(
        "\n  ".join([f"{script.path.name} does not show {oracle.spec!r}. {describe(run, oracle.spec)}", *more])
    )


def adopted(run: Run) -> str:
    """The SPEC of the fault seen. Raises UsageError for a broken set-up, NotReproduced when it just passes."""
    spec = adopt(run)
    if spec is None and obstacle(run):
        raise UsageError(obstacle(run))
    if spec is None:
        raise NotReproduced(
            "the program ends without a fault, and no --oracle says what to look for: name one, for example "
            '--oracle "misaligned address", ttgir:REGEX or script:./test.sh'
        )
    return spec


def _refuse_mps(environment: Mapping[str, str]) -> None:
    pipe = environment.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps")
    if (Path(pipe) / "control").exists():
        raise UsageError(
            f"CUDA MPS is active ({pipe}): one client's fault would end every other client's work. Stop it "
            "(echo quit | nvidia-cuda-mps-control) or run on a GPU without it"
        )


def check_python(python: str) -> None:
    """Raises UsageError unless `python` is an interpreter that our worker can run in."""
    command = [python, "-c", "import sys; print(*sys.version_info[:2])"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"cannot run the interpreter {python}: {error}") from error
    version = done.stdout.split()
    if done.returncode or len(version) != 2:
        said = (done.stdout + done.stderr).strip()[:80]
        raise UsageError(f"{python} is not a Python interpreter: it answered {said!r}")
    if (int(version[0]), int(version[1])) < (3, 9):
        raise UsageError(f"{python} is Python {'.'.join(version)}: the worker needs 3.9 or later")
