"""One reduction of PTX, in the order of time: the file, what ptxas says of it, the search, the final check."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from shrinkray_gpu.errors import NotReproduced, UsageError
from shrinkray_gpu.evidence.ptxas import PtxasRun, run_ptxas, version
from shrinkray_gpu.intermediate.reduced_text import ReducedText
from shrinkray_gpu.intermediate.search import IrSearch, IrTally, TextForm
from shrinkray_gpu.oracle.guarded_pattern import Pattern
from shrinkray_gpu.oracle.words import compiler_pattern
from shrinkray_gpu.ptx.edits import FAMILIES, registers
from shrinkray_gpu.ptx.edits.statements import is_load
from shrinkray_gpu.ptx.operands import access
from shrinkray_gpu.ptx.options import PtxOptions
from shrinkray_gpu.ptx.ptx_file import PtxFile, gpu_name, read_ptx, written
from shrinkray_gpu.ptx.ptx_text import CODE, PtxModule, count, lines_of, pretty, write
from shrinkray_gpu.ptx.ptxas_fault import KILLED, PtxasFault, fault_in, messages, says, was_killed

Say = Callable[[str], None]
COARSE = 24
"""Parts of a file that are tried first, by all kinds of changes, before smaller ones: ptxas is slow on a big file."""
SHORTEST = 5.0
"""Seconds that a try may take at least, beside ten times what the first one took."""


@dataclass(frozen=True, kw_only=True)
class PtxResult(ReducedText[PtxasFault]):
    """What came of it."""

    unit = "instructions"
    compiler = "ptxas"


@dataclass(frozen=True)
class PtxTrial:
    """A ptxas with its options, and what it says of a text."""

    options: PtxOptions
    arch: str
    flags: tuple[str, ...]
    oracle: tuple[str, ...]

    @cached_property
    def words(self) -> Sequence[Pattern]:
        return [*map(compiler_pattern, self.oracle)]

    @property
    def all_flags(self) -> tuple[str, ...]:
        return (f"--gpu-name={self.arch}", *self.flags)

    def run(self, text: str, seconds: float) -> PtxasRun:
        """Raises UsageError where ptxas cannot be started."""
        return run_ptxas(self.options.ptxas, text, self.all_flags, seconds=seconds)

    def shows_words(self, run: PtxasRun) -> bool:
        return says(run.said, self.words)


def reduce_ptx(
    path: Path,
    options: PtxOptions,
    *,
    say: Say = lambda text: None,
    stop: Callable[[], bool] = lambda: False,
    shown: Callable[[int, IrTally], None] = lambda instructions, tally: None,
    releases: Callable[[str, PtxTrial, PtxasFault], Sequence[str]] = lambda text, trial, fault: (),
) -> PtxResult:
    """The smallest PTX on which ptxas fails in the same way.

    `shown` is told the instructions of each smaller one. `releases` makes, of a text, how it was tried and the fault,
    the lines of the result's head that tell what several ptxas do. Raises UsageError for bad input, NotReproduced where
    ptxas does not fail, or not so.
    """
    started = time.monotonic()
    file, trial = _begin(path, options)
    module = file.module(path)
    first = first_fault(module, trial, path)
    took = time.monotonic() - started
    say(f"{count(module)} instructions; {first}")
    limit = options.seconds if first.kind == "no end" else min(options.seconds, math.ceil(SHORTEST + 10 * took))

    def faults(candidate: PtxModule, text: str) -> tuple[bool, bool]:
        run = trial.run(text, limit)
        found = fault_in(run.status, run.said, lines_of(candidate), like=first)
        if found is None:
            return True, False
        return found.said <= first.said, same(found, first) and trial.shows_words(run)

    search = IrSearch(
        TextForm(write, size),
        faults,
        FAMILIES,
        until=started + options.max_time,
        seed=options.seed,
        jobs=options.jobs,
        coarse=COARSE,
        stop=stop,
        shown=lambda smaller, tally: shown(count(smaller), tally),
    )
    smallest = search.run(module)
    for tidy in (registers.RENAMED, registers.DECLARED):  # for people: it need not be smaller
        candidate = tidy.apply(smallest, list(tidy.find(smallest)))
        if faults(candidate, write(candidate))[1]:
            smallest = candidate
    text = pretty(smallest)
    refuted = _refuted(trial.run(text, limit), first, trial)
    if refuted:  # for the sake of a line that ptxas tells
        text = write(smallest)
        refuted = _refuted(trial.run(text, limit), first, trial)
    return PtxResult(
        text=written(
            text,
            trial.flags,
            arch=trial.arch,
            fault=f"{first} in {limit:g} s" if first.kind == "no end" else str(first),
            oracle=trial.oracle,
            releases=releases(text, trial, first),
        ),
        fault=first,
        before=count(module),
        after=count(smallest),
        tally=search.tally,
        seconds=time.monotonic() - started,
        release=version(options.ptxas),
        ended=search.ended,
        refuted=refuted,
    )


def check_ptx(path: Path, options: PtxOptions) -> PtxasFault:
    """The fault that a reduction would begin with. Raises as `reduce_ptx` does."""
    file, trial = _begin(path, options)
    return first_fault(file.module(path), trial, path)


def size(module: PtxModule, text: str) -> tuple[int, ...]:
    """What the search makes smaller: instructions that do more than load a parameter, instructions, what is said beside
    them, registers that are read, and characters."""
    code = [each for each in module if each.kind == CODE]
    said = sum(1 + len(each.parameters) + len(each.directives) for each in module if each.kind != CODE)
    read = frozenset().union(*(access(each.text).reads for each in code))
    return sum(not is_load(each) for each in code), len(code), said, len(read), len(text)


def same(found: PtxasFault, wanted: PtxasFault) -> bool:
    """Whether ptxas fails in the same way, and says nothing that it did not say of the file."""
    return found.kind == wanted.kind and found.message == wanted.message and found.said <= wanted.said


def first_fault(module: PtxModule, trial: PtxTrial, path: Path) -> PtxasFault:
    """What ptxas says of the file, written anew. Raises NotReproduced, and UsageError where this ptxas does not know
    the version or the target of the file."""
    text, keys = write(module), lines_of(module)
    run = trial.run(text, trial.options.seconds)
    name = f"ptxas {version(trial.options.ptxas)}".strip()
    if was_killed(run.status, run.said):
        raise UsageError(f"{KILLED} on {path}: that says nothing of the PTX. Free memory, or lower --jobs")
    fault = fault_in(run.status, run.said, keys)
    if fault is None:
        raise NotReproduced(f"{path} is assembled for {trial.arch} without a fault ({name})")
    for spec, words in zip(trial.oracle, trial.words):
        match = next((told for told, as_told in messages(run.said, keys) if words.search(as_told)), None)
        if match is None and not words.search(run.said):
            raise NotReproduced(f"{path} fails otherwise: {fault}, where nothing matches {spec!r} ({name})")
        fault = replace(fault, message=match or fault.message)
    if fault.of_release and not trial.words:
        raise UsageError(f"{name} does not know what {path} is made for ({fault}): name another by --ptxas")
    return fault


def _begin(path: Path, options: PtxOptions) -> tuple[PtxFile, PtxTrial]:
    file = read_ptx(path)
    arch, flags = gpu_name(file, options.arch, path), options.flags or file.flags
    return file, PtxTrial(options, arch, flags, options.oracle or file.oracle)


def _refuted(run: PtxasRun, wanted: PtxasFault, trial: PtxTrial) -> str:
    """What the run shows instead; statements have no keys in it."""
    if shows_again(run, wanted):
        return "" if trial.shows_words(run) else f"{wanted}, without the words of --oracle"
    return KILLED if was_killed(run.status, run.said) else str(fault_in(run.status, run.said, {}) or "it is assembled")


def shows_again(run: PtxasRun, wanted: PtxasFault) -> bool:
    """Whether a run of any text shows the fault, wherever in the text it is."""
    found = fault_in(run.status, run.said, {}, like=wanted.anywhere)
    return found is not None and same(found, wanted.anywhere)
