"""Before the search: does the original reproduce, how often, how fast, and in which running mode may candidates be judged?

Calibration decides, not hope. The original must show its fault in a mode as it does in a cold process; otherwise the
plan steps down (reused context, fresh fork, cold process) and says so.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from shrinkray_gpu.errors import NotReproduced, ShrinkError, UsageError
from shrinkray_gpu.judge import whole
from shrinkray_gpu.oracle import Oracle, adopt, describe, nearest, obstacle
from shrinkray_gpu.oracle.verdict import Answer, Verdict
from shrinkray_gpu.runner import preamble
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
    dry: Pool | None
    versions: Mapping[str, str]
    gpu: bool = False
    notes: tuple[str, ...] = ()

    def close(self) -> None:
        self.pool.close()
        if self.dry is not None:
            self.dry.close()


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
    """Run the original in a cold process, then in the modes that may stand for it. Raises NotReproduced or UsageError."""
    gpu = setup.arch is None and has_gpu()
    if gpu:
        _refuse_mps(setup.environment)
    limit = timeout or PATIENCE
    # A limit that the user sets is meant for `python FILE`, imports and all.
    extra = 0.0 if timeout else COLD
    cold_pool = Pool(script, setup, mode="cold", jobs=jobs, seconds=limit, devices=devices, extra=extra)
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
    cold_seconds = min(run.seconds for run in colds)

    def cold_plan(why: str, versions: Mapping[str, str]) -> Plan:
        return Plan(
            "cold", why, judged, reference, faulted, count, cold_seconds, cold_seconds, cold_pool, None, versions, gpu
        )

    if not judged.needs_run:
        return cold_plan("the oracle runs the program itself", {})
    if mode == "cold":
        return cold_plan("as asked", {})
    head = preamble.read(source)
    # Triton, too, though the script may not import it by itself: each child would, to watch its launches (0.3 s).
    setup = replace(setup, imports=(*head.imports, "triton"), warm=gpu, reuse=gpu)
    pool = Pool(script, setup, mode="virtual" if setup.arch else "fork", jobs=jobs, seconds=limit, devices=devices)
    try:
        report = pool.start(source)
        versions = dict(report["versions"])  # type: ignore[call-overload]
        if gpu and report["spoilt"] and not report["touched"]:  # by our own warming up
            pool.close()
            setup = replace(setup, prepare=False)
            pool = Pool(script, setup, mode="fork", jobs=jobs, seconds=limit, devices=devices)
            report = pool.start(source)
        if gpu and report["touched"]:
            raise _StepDown("an import at the top of the script starts CUDA, and a child forked after that cannot use it")
        warm = pool.run(source, fresh=True)
        if not judged.judge(warm).faults:
            raise _StepDown(f"in a forked worker the original does not show its fault ({judged.judge(warm).why})")
    except _StepDown as reason:
        pool.close()
        return cold_plan(str(reason), versions)
    pool.seconds = timeout or max(FLOOR, 4 * warm.seconds)
    chosen, why = pool.mode, "the fault shows in a forked child as in a cold process"
    dry: Pool | None = None
    notes: tuple[str, ...] = ()
    if gpu:
        if mode != "fork" and _survives_reuse(pool, source, judged):
            chosen, why = "warm", "the fault shows in a context that passed another program before, as in a cold process"
        else:
            pool.close()
            pool = Pool(script, replace(setup, reuse=False), mode="fork", jobs=jobs, seconds=pool.seconds, devices=devices)
            pool.start(source)
            why = "the fault does not show in a reused context, only in a fresh one"
        pool.limit(_lanes(pool, jobs))
        dry, note = _dry(source, script, setup, pool, reference, jobs, limit)
        notes = (note,)
    return Plan(
        chosen, why, judged, reference, faulted, count, cold_seconds, warm.seconds, pool, dry, versions, gpu, notes
    )


def _already(run: Run, source: str) -> Run:
    """The run of `source`, which has been."""
    return run


class _StepDown(Exception):
    pass


def _survives_reuse(pool: Pool, source: str, oracle: Oracle) -> bool:
    """Whether the fault still shows in a context in which another, harmless program ran before."""
    pool.run("import torch\nx = torch.ones(8, device='cuda')\ntorch.cuda.synchronize()\n", fresh=True)
    run = pool.run(source)
    return run.mode == "warm" and oracle.judge(run).faults


def _lanes(pool: Pool, jobs: int) -> int:
    """As many lanes as device memory holds, by what the original took."""
    free = pool.free_bytes
    if not free:
        return jobs
    return max(1, min(jobs, int(0.45 * free / (pool.peak + CONTEXT_BYTES))))  # each lane has a spare coming up


def _dry(
    source: str, script: Script, setup: Setup, pool: Pool, reference: Run, jobs: int, limit: float
) -> tuple[Pool | None, str]:
    """A virtual GPU of the same architecture for the dry run, if the original makes the same launches there."""
    dry = Pool(
        script, replace(setup, arch=pool.arch, warm=False, reuse=False), mode="virtual", jobs=jobs, seconds=limit
    )
    try:
        dry.start(source)
    except UsageError as error:
        return None, f"no dry run: {error}"
    run = dry.run(source)
    names = [launch.kernel for launch in run.launches]
    seen = [launch.kernel for launch in reference.launches]
    if run.trouble or names[: len(seen)] != seen:
        dry.close()
        what = run.trouble or (run.failure.text if run.failure else f"launches {names[:8]} instead of {seen[:8]}")
        return None, f"no dry run: on the virtual GPU the original does not reach the same launches ({what[:120]})"
    dry.seconds = max(FLOOR, 4 * run.seconds)
    return dry, "dry runs on the virtual GPU reach the same launches"


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
    more = [f"would have matched: --oracle {shlex.quote(spec)}" for spec in near[:1]] + [oracle.hint] * bool(oracle.hint)
    return NotReproduced(
        "\n  ".join([f"{script.path.name} does not show {oracle.spec!r}. {describe(run, oracle.spec)}", *more])
    )


def adopted(run: Run) -> str:
    """The SPEC of the fault seen. Raises UsageError for a broken set-up, NotReproduced when the original just passes."""
    spec = adopt(run)
    if spec is None and obstacle(run):
        raise UsageError(obstacle(run))
    if spec is None:
        raise NotReproduced(
            "the program ends without a fault, and no --oracle says what to look for: name one, for example "
            '--oracle "misaligned address", ttgir:REGEX or script:./test.sh'
        )
    return spec


def has_gpu() -> bool:
    """Whether this machine has an NVIDIA device for this process."""
    return os.environ.get("CUDA_VISIBLE_DEVICES") not in ("", "-1") and Path("/dev/nvidiactl").exists()


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
        raise UsageError(f"{python} is not a Python interpreter: it answered {(done.stdout + done.stderr).strip()[:80]!r}")
    if (int(version[0]), int(version[1])) < (3, 9):
        raise UsageError(f"{python} is Python {'.'.join(version)}: the worker needs 3.9 or later")
