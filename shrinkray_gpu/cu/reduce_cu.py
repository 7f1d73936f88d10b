"""One reduction of a CUDA program, in the order of time: the file, its fault, the search, the final check."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from shrinkray_gpu.cells.ray_cluster import by_host, cluster_at
from shrinkray_gpu.cu.cu_cells import ClusterTest, cluster_test
from shrinkray_gpu.cu.cu_fault import CuFault, build_fault, defined_in, ending, first_look, last_words, run_fault
from shrinkray_gpu.cu.cu_file import CuFile
from shrinkray_gpu.cu.cu_program import CUDA_PASSES, program_of, text_of
from shrinkray_gpu.cu.cu_result import head_of
from shrinkray_gpu.cu.launch_alone import kernels_alone, launches_alone
from shrinkray_gpu.cu.nvcc_test import NvccTest
from shrinkray_gpu.cu.nvcc_trial import LIMIT, STAGES, CuOutcome, NvccTrial, trial_of
from shrinkray_gpu.cu.on_cpu.cpu_alone import CpuAlone, fault_on_cpu
from shrinkray_gpu.cu.on_cpu.cpu_trial import CpuTrial, agreeing
from shrinkray_gpu.cu.options import CuOptions
from shrinkray_gpu.cu.undeclared import declared
from shrinkray_gpu.device import gpus
from shrinkray_gpu.errors import NotReproduced, UsageError
from shrinkray_gpu.evidence.versions import __version__
from shrinkray_gpu.oracle.verdict import Verdict
from shrinkray_gpu.passes.cuda.cuda_layout import tidy
from shrinkray_gpu.reduction.checks.check_plan import CheckPlan, ConfirmationPlan
from shrinkray_gpu.reduction.course import Course
from shrinkray_gpu.reduction.engine import reduce_program
from shrinkray_gpu.reduction.journal import Journal
from shrinkray_gpu.reduction.native.native_tree import can_parse, parse
from shrinkray_gpu.reduction.outcome import Listeners, ProgressEvent
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.rewrites import Rewrites
from shrinkray_gpu.reduction.size import lines
from shrinkray_gpu.runner import cores

Say = Callable[[str], None]
ON_CPU = "on_cpu"
"""The name of that in `CuOptions.skip`."""
WITHOUT_DATA = tuple(each for each in CUDA_PASSES if each.name not in ("cuda_inputs", "cuda_sizes"))
"""Where only a GPU runs the kernels, nobody sees whether what these passes take away made the index that is wrong."""
GUESSES = 20
"""Candidates that the CPU judges between two that the GPU is asked about."""
SHORTEST = 20.0
"""Seconds that a try may take at least, beside ten times what the original took."""
NO_PARSER = "a .cu is reduced by its syntax tree, and the grammar is missing: pip install tree-sitter tree-sitter-cuda"


@dataclass(frozen=True)
class CuResult:
    """What came of it."""

    text: str
    """The whole file, head included."""
    fault: CuFault
    before: tuple[int, int]
    """Lines and tokens of the file and the headers that went into it."""
    after: tuple[int, int]
    tries: int
    seconds: float
    ended: str
    """`done`, `out of time`, `stopped` or `interrupted`."""
    said: str
    """What nvcc and the program print of the result."""
    refuted: str = ""
    """What the result does instead of the fault in the final check; empty if it shows it."""

    @property
    def broken(self) -> int:
        """Changes that could not be made: of these the engine says each when it meets it."""
        return 0

    def to_json(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "ended": self.ended,
            "fault": str(self.fault),
            "lines": [self.before[0], self.after[0]],
            "tokens": [self.before[1], self.after[1]],
            "tries": self.tries,
            "seconds": round(self.seconds, 2),
        }


class _FinalText(NamedTuple):
    text: str
    verdict: Verdict


@dataclass
class _BestFile:
    """`best.cu`: the smallest program that the test itself said yes to, whole at every moment."""

    path: Path
    head: str
    test: NvccTest
    sooner: NvccTest
    """The same but for what only the end needs."""
    last: Program | None = None

    def write(self, program: Program) -> None:
        self.last = program
        _write(self.path, self.head + text_of(program))

    def narrow(self, trail: Sequence[Program]) -> None:
        """Of steps that were only guessed, confirm as late a one as a bisection finds."""
        if self.sooner is not self.test:
            self.sooner, self.last = self.test, None
        left = [each for each in trail if self.last is None or each.size < self.last.size]
        while left:
            middle = len(left) // 2
            left = left[middle + 1 :] if self.confirm(left[middle]).faults else left[:middle]

    def final(self, program: Program) -> _FinalText:
        """The program as it is written, laid out if it shows the fault like that."""
        text = text_of(program)
        laid_out = tidy(text).strip() + "\n"
        verdict = self.test.verdict(laid_out)
        return _FinalText(laid_out, verdict) if verdict.faults else _FinalText(text, self.test.verdict(text))

    def confirm(self, program: Program) -> Verdict:
        """The test's verdict of a program that was guessed to show the fault."""
        verdict = self.sooner.verdict(text_of(program))
        if verdict.faults and (self.last is None or program.size < self.last.size):
            self.write(program)
        return verdict


def reduce_cu(
    path: Path,
    options: CuOptions,
    folder: Path,
    output: Path,
    *,
    say: Say = lambda text: None,
    stop: Callable[[], bool] = lambda: False,
    shown: Callable[[int, int], None] = lambda tokens, tries: None,
) -> CuResult:
    """The smallest program with the fault of the one at `path`. `folder` gets `best.cu`, which is whole at every moment
    and never larger than the program; `output` is what the result will be called. `shown` is told the tokens of each
    smaller program, and the tries so far.

    Raises UsageError for bad input, NotReproduced where the program shows no fault, or not the one asked for.
    """
    started = time.monotonic()
    gpu = options.arch is None and options.ray is not None and gpus.present()
    with (
        cluster_at(options.ray, options.jobs, gpu=gpu, say=say) as (cluster, jobs),
        _begun(path, options := replace(options, jobs=jobs or cores.usable())) as (file, trial, fault, took, threads),
    ):
        _check_keep(file.text, options.keep, path)
        program = program_of(file.text, str(path))
        before = (lines(file.whole), program_of(file.whole, str(path)).size.tokens)
        say(f"{before[0]} lines; {fault}")
        limit = options.seconds or max(SHORTEST, 10 * took)
        test = NvccTest(trial, fault, limit, threads, options.keep, {*declared(parse(file.text))})
        head = head_of(file.flags, output.name, fault)
        folder.mkdir(exist_ok=True)

        sooner = replace(test, trial=trial.sooner()) if isinstance(trial, CpuAlone) else test
        best = _BestFile(folder / "best.cu", head, test, sooner)
        trail: list[Program] = []

        def progress(event: ProgressEvent) -> None:
            if event.kind == "accepted":
                if on_cpu is None:
                    best.write(event.program)
                trail.append(event.program)
                shown(event.program.size.tokens, event.tries)
            elif event.kind == "rolled back":
                trail.clear()

        with _journal(program, file, options, folder) as journal, _guessing(file, trial, fault, options, say) as on_cpu:
            quick = test if on_cpu is None else replace(test, trial=on_cpu, beside=None if fault.on_cpu else test)
            if cluster is not None:
                quick = cluster_test(test, cluster, path, options)
            guessed = ConfirmationPlan(cold=lambda each: threads.submit(best.confirm, each), interval=GUESSES)
            found = reduce_program(
                program,
                passes=CUDA_PASSES if fault.wanted or on_cpu is not None else WITHOUT_DATA,
                test=quick,
                journal=journal,
                checks=CheckPlan(guessed if on_cpu is not None else ConfirmationPlan()),
                course=Course(
                    seed=journal.header["seed"],
                    width=journal.header["width"],
                    skip=options.skip,
                    stop=stop,
                    deadline=started + options.max_time,
                ),
                rewrites=Rewrites(lifts=lambda: _first_candidates(program, fault)),
                report=Listeners(progress),
            )
        if isinstance(quick, ClusterTest):
            say(f"runs on the cluster: {by_host(quick.runs)}")
        final = best.final(found.program)
        if not final.verdict.faults and on_cpu is not None:
            best.narrow(trail[:-1])
            final = best.final(best.last or program)
        candidate = final.text
        outcome = trial.build(candidate, fault.stage, test.seconds)
        if final.verdict.faults:
            fault = fault.told_by(outcome)
            head = head_of(file.flags, output.name, fault)
        return CuResult(
            head + candidate,
            fault,
            before,
            (lines(head + candidate), program_of(candidate, str(path)).size.tokens),
            found.cost.tries,
            time.monotonic() - started,
            found.ended,
            outcome.said + (outcome.run.stdout + outcome.run.stderr if outcome.run else ""),
            "" if final.verdict.faults else final.verdict.why,
        )


@contextmanager
def _guessing(
    file: CuFile, trial: NvccTrial | CpuAlone, fault: CuFault, options: CuOptions, say: Say
) -> Iterator[CpuTrial | None]:
    """The trial on the CPU, for a fault that compute-sanitizer saw, if it sees the same of the original."""
    if isinstance(trial, CpuAlone):
        seen = trial.cpu.survey
        if seen is not None and not seen.ending:
            doubt = "may have memory" if seen.perhaps else "has memory"
            say(f"a GPU {doubt} where it is accessed: perhaps only compute-sanitizer sees that there")
        say("no GPU is here: the CPU runs the kernels, and what it says is not confirmed")
        yield trial.cpu
        return
    if fault.sight is None or ON_CPU in options.skip or options.ray is not None:
        yield None
        return
    with agreeing(file.text, trial, fault) as (on_cpu, why):
        if on_cpu is None:
            say(f"the GPU judges each candidate: on the CPU the original is not the same, {why}")
        else:
            say(f"the CPU sees the same of the original: the GPU is asked after every {GUESSES} candidates")
        yield on_cpu


def _journal(program: Program, file: CuFile, options: CuOptions, folder: Path) -> Journal:
    """Of this reduction, or of the one that goes on. Raises UsageError where one is there that neither goes on nor is
    to be forgotten."""
    return Journal.open(
        folder / "journal",
        original=program,
        seed=options.seed,
        width=max(2, options.jobs or 1),
        settings={
            "flags": file.flags,
            "arch": options.arch,
            "oracle": [each.spec for each in options.words],
            "arguments": options.argv,
            "keep": sorted(options.keep),
        },
        version=__version__,
        resume=options.resume,
        restart=options.restart,
    )


def _check_keep(text: str, keep: Iterable[str], path: Path) -> None:
    for name in sorted(set(keep) - defined_in(parse(text))):
        raise UsageError(f"--keep {name}: {path} defines no such name")


def _first_candidates(program: Program, fault: CuFault) -> list[str]:
    """Where nvcc shows the fault, no value of the host's is needed."""
    launches = [] if fault.ending else sorted(launches_alone(program), key=len)
    return [*launches, *kernels_alone(program)]


def check_cu(path: Path, options: CuOptions) -> CuFault:
    """The fault that a reduction would begin with. Raises as `reduce_cu` does."""
    with _begun(path, options) as (_, _, fault, _, _):
        return fault


@contextmanager
def _begun(
    path: Path, options: CuOptions
) -> Iterator[tuple[CuFile, NvccTrial | CpuAlone, CuFault, float, ThreadPoolExecutor]]:
    """The file, its trial, its fault, the seconds that the fault took to show, and the threads to build in."""
    if not can_parse():
        raise UsageError(NO_PARSER)
    with trial_of(path, options) as (file, trial), ThreadPoolExecutor(options.jobs or cores.usable()) as threads:
        started = time.monotonic()
        try:
            fault = first_fault(file.text, trial, options, path, threads)
        except NotReproduced as error:
            alone = trial.hosted and ON_CPU not in options.skip and options.ray is None
            with fault_on_cpu(file.text, trial, options.words) if alone else nullcontext() as found:
                if found is None:
                    raise error
                yield file, *found, time.monotonic() - started, threads
        else:
            yield file, trial, fault, time.monotonic() - started, threads


def first_fault(
    text: str, trial: NvccTrial, options: CuOptions, path: Path, threads: ThreadPoolExecutor
) -> CuFault:
    """The fault, at the first stage that shows it. The last one begins at once, since it takes the longest.

    Raises NotReproduced, saying what cannot be judged here.
    """
    limit = options.seconds or LIMIT
    last = STAGES[-1]
    whole = threads.submit(trial.build, text, last, limit, first_look)
    outcome: CuOutcome | None = None
    for stage in STAGES:
        if stage == "object":
            whole.result()  # if that was linked, nothing is built for this stage
        outcome = whole.result() if stage == last else trial.build(text, stage, limit, first_look)
        if trial.is_for_several(outcome):
            continue
        if outcome.trouble and not (outcome.run and outcome.run.timed_out):
            raise UsageError(f"{outcome.trouble}: that tells nothing of {path}. Free memory, or raise --timeout")
        fault = build_fault(text, outcome, stage, options.words)
        if fault is not None:
            return _with_launches(fault, text, trial, limit) if trial.hosted else fault
        if outcome.failed:
            break
    assert outcome is not None
    fault = run_fault(text, outcome, options.words, hosted=trial.hosted)
    if fault is not None:
        return fault
    raise NotReproduced(_nothing(path, outcome, options, hosted=trial.hosted))


def _with_launches(fault: CuFault, text: str, trial: NvccTrial, limit: float) -> CuFault:
    """With its launches watched, where nvcc only warns and the program launches what the fault is in."""
    if fault.failed or not fault.launches:
        return fault
    if fault.launch_verdict(trial.build(text, "program", limit)).faults:
        return replace(fault, runs=True)
    return fault


def _nothing(path: Path, outcome: CuOutcome, options: CuOptions, *, hosted: bool) -> str:
    asked = ", ".join(each.spec for each in options.words)
    if outcome.failed:
        first = next((str(each.message) for each in outcome.messages if each.message.level == "error"), outcome.said)
        return f"{path} fails to build otherwise than by {asked}: {first[:300]}"
    assert outcome.run is not None
    said = f" ({words})" if (words := last_words(outcome.run)) else ""
    builds = f"and does not say {asked}" if asked else "without an error"
    does = f"nvcc builds {path} {builds}; it {ending(outcome.run)}{said}"
    if not hosted:
        return does
    made = len(outcome.launches)
    return (
        f"{does} here, where {made or 'no'} launch{'es are' if made != 1 else ' is'} checked and none is made: what a "
        "kernel does, and what follows from its results, only a machine with a GPU can show (leave --arch out there)"
    )


def _write(path: Path, text: str) -> None:
    new = path.with_name(path.name + ".new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)
