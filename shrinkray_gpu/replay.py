"""Replay: every case of a corpus is run again, and judged by the Fault that it was kept for.

    from shrinkray_gpu import replay
    for outcome in replay(cases(Path("corpus")), arch=90):
        print(outcome.case.name, outcome)

One worker runs all cases of an environment, each in a forked child (a fresh context on a GPU), several at a time; so
replaying costs little more than compiling. A case says for itself what it needs; what is missing is named.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from packaging.version import InvalidVersion, Version

from shrinkray_gpu.cases import environments
from shrinkray_gpu.cases.case import Case
from shrinkray_gpu.cases.expectation import Outcome, Status, expected
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.evidence.versions import versions
from shrinkray_gpu.oracle import Fault, Oracle, all_of, obstacle, parse
from shrinkray_gpu.oracle.fault import Reference, kernels
from shrinkray_gpu.reduction.program import read_program
from shrinkray_gpu.runner import gpus
from shrinkray_gpu.runner.interpreter import check_python
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.runner.ways import PLAIN, Way

SECONDS = 120.0
"""That a run may take when the case does not say."""
GPU_RUNS = 3
"""Runs of a case on a GPU at most, before its fault is called gone."""
FLAKY_RUNS = 10
"""Runs of a case that is expected to be flaky and does not say how many."""
_LACKING = re.compile(
    r"has no attribute|cannot import name|No module named|unexpected keyword argument|is not a registered"
)
"""What Python says of an interface that this release does not have (yet, or any more)."""
_ASK = (
    "import importlib.metadata as m, json, sys\n"
    "found = {}\n"
    "for name in sys.argv[1:]:\n"
    "    try: found[name] = m.version(name)\n"
    "    except m.PackageNotFoundError: pass\n"
    "print(json.dumps(found))"
)

Say = Callable[[str], None]


@dataclass(frozen=True)
class Place:
    """Where cases are replayed: one interpreter, on one GPU or on the virtual one."""

    python: str
    arch: int | None
    gpu: bool
    versions: Mapping[str, str]

    @property
    def name(self) -> str:
        return f"triton {self.versions.get('triton', 'missing')}"


def replay(
    cases: Sequence[Case],
    *,
    python: str = sys.executable,
    arch: int | None = None,
    jobs: int | None = None,
    runs: int | None = None,
    environment: Mapping[str, str] | None = None,
    say: Say = lambda text: None,
    done: Callable[[Outcome], None] = lambda outcome: None,
) -> list[Outcome]:
    """Run the cases with this interpreter; `arch` (90: sm_90) on the virtual GPU. Outcomes in the order of the cases.

    `runs`: of each case, instead of what it asks for. Raises UsageError where the interpreter cannot run anything.
    """
    check_python(python)
    place = _place(python, arch, environment or {})
    # Cases that must have the machine to themselves (a hang, by the clock) come after all others.
    lanes = max(1, jobs or min(os.cpu_count() or 1, 8))
    outcomes: dict[Path, Outcome] = {}

    def one(case: Case, base: Pool) -> None:
        outcomes[case.folder] = outcome = _outcome(case, place, base, runs)
        done(outcome)

    with _lanes(place, lanes, environment or {}) as base, ThreadPoolExecutor(lanes) as threads:
        beside = [case for case in cases if not _oracle(case).alone]
        say(f"replaying {len(cases)} cases with {place.name} ...")
        list(threads.map(lambda case: one(case, base), beside))
        for case in cases:
            if case not in beside:
                one(case, base)
    return [outcomes[case.folder] for case in cases]


def _outcome(case: Case, place: Place, base: Pool, runs: int | None) -> Outcome:
    started = time.monotonic()

    def ended(status: Status, why: str = "", fault: Fault | None = None, shown: int = 0, count: int = 0) -> Outcome:
        spent = time.monotonic() - started
        return Outcome(case, place.name, place.versions, status, why, fault, shown, count, spent)

    if said := lacking(case, place):
        return ended(Status.CANNOT, said)
    oracle = _oracle(case)
    usual = expected(case, place.versions.get("triton", ""))
    wanted = runs or case.runs or (FLAKY_RUNS if usual is Status.FLAKY else GPU_RUNS if place.gpu else 1)
    seen: list[tuple[bool, Fault | None, str]] = []
    for run in _runs(case, oracle, base, wanted):
        if said := obstacle(run) or run.trouble:
            return ended(Status.CANNOT, said)
        shows, fault, why = _judged(case, oracle, run)
        if why.startswith("?"):
            return ended(Status.CANNOT, why[1:], fault)
        seen.append((shows, fault, why))
        if shows and len(seen) == sum(one for one, _, _ in seen) and not (runs or case.runs or usual is Status.FLAKY):
            break  # it shows at once, as it always did
    shown = sum(one for one, _, _ in seen)
    fault = next((fault for shows, fault, _ in seen if shows), None)
    if shown == len(seen):
        return ended(Status.FAULTS, seen[0][2], fault, shown, shown)
    if shown:
        return ended(Status.FLAKY, f"{shown} of {len(seen)} runs show it", fault, shown, len(seen))
    other = next(((fault, why) for _, fault, why in seen if fault is not None), None)
    if other is None:
        return ended(Status.FIXED, seen[0][2], None, 0, len(seen))
    lacks = _LACKING.search(other[0].text)
    if lacks and not (case.fault and _LACKING.search(case.fault.text)):
        return ended(Status.CANNOT, f"this release lacks what it uses: {other[0].text}", other[0])
    return ended(Status.CHANGED, other[1], other[0], 0, len(seen))


def _judged(case: Case, oracle: Oracle, run: Run) -> tuple[bool, Fault | None, str]:
    """Whether the run shows the case's fault, the fault that it shows, and why (`?...`: it tells nothing)."""
    verdict = oracle.judge(run)
    if not verdict.known:
        return False, None, f"?{verdict.why}"
    fault = Fault.of(run)
    if not verdict.faults:
        return False, fault, verdict.why
    slip = Reference(case.fault).slip(fault, kernels(run)) if case.fault is not None else ""
    return not slip, fault, slip or verdict.why


def _runs(case: Case, oracle: Oracle, base: Pool, wanted: int) -> Iterator[Run]:
    text = read_program(case.repro).text
    script = replace(
        base.script,
        path=case.repro.absolute(),
        argv=case.argv,
        asserts=base.setup.arch is None or oracle.asserts,
        wants=tuple(sorted(oracle.wants)),
        twins=oracle.twins,
        sanitizer=oracle.sanitizer,
        tell=oracle.alone,
    )
    pool = base.serving(script, seconds=oracle.limit or case.timeout or SECONDS)
    way = Way("the case's own", environment=case.environment) if case.environment else PLAIN
    for _ in range(wanted):
        yield pool.run(text, fresh=True, way=way)


def lacking(case: Case, place: Place) -> str:
    """Why a case cannot run there; empty if it can."""
    needs = case.needs
    if not place.gpu and place.arch is None and not (case.environment.get("TRITON_INTERPRET") == "1"):
        return "there is no GPU; --arch sm_90 compiles without one"
    if needs.gpu and not place.gpu:
        return "it needs a real GPU" + (", and --arch launches nothing" if place.arch else "")
    here = place.arch or (gpus.capability() if place.gpu else 0) or 0
    if needs.architecture > here > 0:
        return f"it needs sm_{needs.architecture}, and this is sm_{here}"
    if place.gpu and needs.memory and 0 < gpus.memory() < needs.memory:
        return f"it needs {needs.memory:g} GiB of device memory, and there are {gpus.memory():.0f}"
    if "triton" not in place.versions:
        return f"{place.python} has no Triton"
    found = _installed(place.python, [package.name for package in needs.packages]) if needs.packages else {}
    for package in needs.packages:
        if package.name not in found:
            return f"it needs {package}, which {place.python} does not have"
        with contextlib.suppress(InvalidVersion):
            if not package.specifier.contains(Version(found[package.name]), prereleases=True):
                return f"it needs {package}, and there is {found[package.name]}"
    return ""


def _place(python: str, arch: int | None, environment: Mapping[str, str]) -> Place:
    gpu = arch is None and gpus.present()
    return Place(python, arch, gpu, versions(python, {**os.environ, **environment}, gpu=gpu))


@contextlib.contextmanager
def _lanes(place: Place, jobs: int, environment: Mapping[str, str]) -> Iterator[Pool]:
    """Lanes for all cases, with caches that are thrown away: what an earlier Triton compiled must not be found."""
    with tempfile.TemporaryDirectory(prefix="shrink-replay-", ignore_cleanup_errors=True) as folder:
        scratch, caches = Path(folder, "scratch"), Path(folder, "cache")
        for each in (scratch, caches):
            each.mkdir()
        setup = Setup(
            python=place.python,
            environment={
                **os.environ,
                **environment,
                "TRITON_CACHE_DIR": str(caches / "triton"),
                "TORCHINDUCTOR_CACHE_DIR": str(caches / "inductor"),
                "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
            },
            imports=("torch", "triton"),
            own=(),
            scratch=str(scratch),
            writable=(str(caches),),
            arch=place.arch,
            warm=place.gpu,
        )
        name = "virtual" if place.arch else "fork"
        pool = Pool(Script(scratch / "none.py", cwd=scratch), setup, mode=name, jobs=jobs, seconds=SECONDS)
        try:
            yield pool
        finally:
            pool.close()


def _oracle(case: Case) -> Oracle:
    return all_of([parse(spec, folder=case.folder) for spec in case.oracle])


def _installed(python: str, names: Sequence[str]) -> Mapping[str, str]:
    try:
        done = subprocess.run([python, "-c", _ASK, *names], capture_output=True, text=True, timeout=60)
        found: Mapping[str, str] = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise UsageError(f"cannot run the interpreter {python}: {error}") from error
    return found


@dataclass(frozen=True)
class Step:
    """A change from one release of Triton to the next."""

    case: str
    before: str
    was: str
    after: str
    now: str

    def __str__(self) -> str:
        if not self.before:
            return f"{self.case}: {self.now} in every release that can run it ({self.after})"
        return f"{self.case}: {self.was} in triton {self.before}, {self.now} in triton {self.after}"


def bisect(
    case: Case,
    *,
    releases: Sequence[str] = (),
    python: str = sys.executable,
    arch: int | None = None,
    environment: Mapping[str, str] | None = None,
    say: Say = lambda text: None,
) -> list[Step]:
    """Between which releases of Triton the case changed. `releases`, oldest first; default: all that pip offers.

    Halves each stretch whose ends differ, so that two changes are found where the middle shows them; releases that
    cannot run it are left out.
    """
    asked: dict[str, Outcome] = {}

    def status(release: str) -> Outcome:
        if release not in asked:
            interpreter = environments.with_triton(release, python=python, say=say)
            asked[release] = replay([case], python=interpreter, arch=arch, environment=environment)[0]
            say(f"  triton {release}: {asked[release]}: {asked[release].why}")
        return asked[release]

    left = list(releases or environments.released(python))
    for end in (0, -1):
        while left and status(left[end]).status is Status.CANNOT:
            left.pop(end)
    if not left:
        raise UsageError(f"no release of Triton can run {case.name} here")

    def steps(stretch: list[str]) -> Iterator[Step]:
        first, last = status(stretch[0]), status(stretch[-1])
        if first.status is last.status:
            return
        if len(stretch) == 2:
            yield Step(case.name, stretch[0], str(first), stretch[1], str(last))
            return
        middle = len(stretch) // 2
        if status(stretch[middle]).status is Status.CANNOT:
            yield from steps(stretch[:middle] + stretch[middle + 1 :])
        else:
            yield from steps(stretch[: middle + 1])
            yield from steps(stretch[middle:])

    return list(steps(left)) or [Step(case.name, "", "", f"{left[0]} to {left[-1]}", str(status(left[-1])))]
