"""One reduction of IR, in the order of time: the file, the pass that fails, the search, the final check, the result."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shrinkray_gpu.errors import NotReproduced, UsageError
from shrinkray_gpu.intermediate import lit_test
from shrinkray_gpu.intermediate.compiler import SECONDS, IrCompiler, Step, Trial, first_error
from shrinkray_gpu.intermediate.edits import FAMILIES
from shrinkray_gpu.intermediate.generic_text import NotGeneric, read, write
from shrinkray_gpu.intermediate.ir_fault import IrFault, fault_in
from shrinkray_gpu.intermediate.ir_file import IrFile, read_ir
from shrinkray_gpu.intermediate.ir_replay import replayed
from shrinkray_gpu.intermediate.model import IrModule, count, size
from shrinkray_gpu.intermediate.options import IrOptions
from shrinkray_gpu.intermediate.reduced_text import ReducedText
from shrinkray_gpu.intermediate.search import IrSearch, IrTally, TextForm

Say = Callable[[str], None]
SHORTEST = 5
"""Seconds that a try may take at least, beside ten times what the first one took: some loop for ever."""


@dataclass(frozen=True, kw_only=True)
class IrResult(ReducedText[IrFault]):
    """What came of it."""

    unit = "operations"
    compiler = "triton"

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "pass": self.fault.name}


@dataclass(frozen=True)
class LocalFault:
    """A module and the passes that fail on it, as few as show the fault; the last one is the one that fails."""

    text: str
    steps: tuple[Step, ...]
    fault: IrFault


def reduce_ir(
    path: Path,
    options: IrOptions,
    *,
    say: Say = lambda text: None,
    stop: Callable[[], bool] = lambda: False,
    shown: Callable[[int, IrTally], None] = lambda operations, tally: None,
) -> IrResult:
    """The smallest module on which the same pass fails in the same way.

    `shown` is told the operations of each smaller module. Raises UsageError for bad input, NotReproduced where no pass
    fails or fails otherwise. Where a fresh process does not show the fault of the result, `refuted` says so.
    """
    started = time.monotonic()
    file = read_ir(path, options.passes)
    with IrCompiler(options.python, options.environment, options.arch) as compiler:
        begun, before = located(file, path, options, compiler)
        say(f"{before} operations; {begun.fault}")
        module = _generic(compiler, begun.text, path)

        limit = SECONDS

        def faults(text: str) -> tuple[bool, bool]:
            trial = compiler.run(text, begun.steps, seconds=limit)
            return trial.parsed, _shows(trial, begun, options)

        tried = time.monotonic()
        shows = faults(write(module))[1]
        limit = min(SECONDS, math.ceil(SHORTEST + 10 * (time.monotonic() - tried)))
        if not shows:
            raise NotReproduced(f"{path}: the fault is gone once locations and names are: it cannot be reduced as IR")
        search = IrSearch(
            TextForm(write, size),
            lambda candidate, text: faults(text),
            FAMILIES,
            until=started + options.max_time,
            seed=options.seed,
            stop=stop,
            shown=lambda smaller, tally: shown(count(smaller), tally),
        )
        smallest = search.run(module)
        text = _readable(compiler, smallest, lambda each: faults(each)[1])
        fault = fault_in(compiler.run(text, begun.steps), begun.fault.name) or begun.fault  # in words of the result
        calls = [compiler.table.call(step) for step in begun.steps]
        release = compiler.release
    whole = lit_test.written(text, calls, fault, arch=options.arch, release=release)
    refuted = _refuted(whole, path, fault, options)
    return IrResult(
        text=whole,
        fault=fault,
        before=before,
        after=count(smallest),
        tally=search.tally,
        seconds=time.monotonic() - started,
        release=release,
        ended=search.ended,
        refuted=refuted,
    )


def _refuted(whole: str, path: Path, fault: IrFault, options: IrOptions) -> str:
    """What the file does instead, as `shrink replay` runs it: by its own `RUN:` line, with no architecture named. Empty
    if it shows the fault."""
    try:
        again = replayed(whole, path, replace(options, arch=""))
    except UsageError as error:
        return str(error)
    if again.outcome != "still faults":
        return str(again)
    return "" if again.fault == fault else f"it fails otherwise: {again.why}"


def check_ir(path: Path, options: IrOptions) -> IrFault:
    """The fault that a reduction would begin with. Raises as `reduce_ir` does."""
    with IrCompiler(options.python, options.environment, options.arch) as compiler:
        return located(read_ir(path, options.passes), path, options, compiler)[0].fault


def located(file: IrFile, path: Path, options: IrOptions, compiler: IrCompiler) -> tuple[LocalFault, int]:
    """The pass that fails and the module that it is given; the operations of the file. Raises as `reduce_ir` does."""
    before = count(_generic(compiler, file.text, path))
    if file.passes:
        steps: Sequence[Step] = [compiler.table.step(call, options.arch) for call in file.passes]
        trial = compiler.run(file.text, steps, snapshots=True)
    elif options.arch:
        trial = compiler.stages(file.text, file.kind, options.arch, options.settings)
        steps = trial.steps
    else:
        raise UsageError(
            f"{path} names no passes, by a footer or a RUN: line: name the target with --arch gfx942 (or sm_90), or "
            "the passes with --pass"
        )
    named = f"the passes of {options.arch}" if not file.passes else "its passes"
    if trial.done:
        raise NotReproduced(f"{path} goes through {named} without a fault (Triton {compiler.release})")
    if trial.timed_out:
        raise NotReproduced(f"{path}: a pass did not end in time, and a hang of the compiler is not reduced as IR")
    if trial.raised and not trial.stage and not file.passes:
        raise UsageError(f"{path}: Triton {compiler.release} refuses the options of the compiler: {trial.raised}")
    if trial.behind or trial.step < 0:
        raise NotReproduced(
            f"{path} goes through {named}; what fails comes behind them, in LLVM: {first_error(trial)}. "
            "Reduce the Python program"
        )
    step = steps[trial.step]
    fault = fault_in(trial, compiler.table.call(step).name)
    assert fault is not None
    for words in options.words:
        if not words.search(trial.said + trial.raised):
            raise NotReproduced(f"{path} fails otherwise: {fault}, where nothing matches the oracle")
    return _local(file.text, trial, tuple(steps[: trial.step + 1]), fault, compiler, options), before


def _local(
    text: str, trial: Trial, steps: tuple[Step, ...], fault: IrFault, compiler: IrCompiler, options: IrOptions
) -> LocalFault:
    """As few passes as show the fault: the one that fails, on what it was given or on the file; else without those that
    can go."""
    for start in (trial.before, text):
        local = LocalFault(start, steps[-1:], fault)
        if start and _shows(compiler.run(start, local.steps), local, options):
            return local
    whole = LocalFault(text, steps, fault)
    for at in reversed(range(len(steps) - 1)):
        fewer = LocalFault(text, (*whole.steps[:at], *whole.steps[at + 1 :]), fault)
        if _shows(compiler.run(text, fewer.steps), fewer, options):
            whole = fewer
    return whole


def _shows(trial: Trial, local: LocalFault, options: IrOptions) -> bool:
    """Whether a trial of these steps ended in the same fault of the last of them."""
    if not trial.parsed or not trial.verified or trial.step != len(local.steps) - 1:
        return False
    said = trial.said + trial.raised
    return fault_in(trial, local.fault.name) == local.fault and all(words.search(said) for words in options.words)


def _generic(compiler: IrCompiler, text: str, path: Path) -> IrModule:
    trial = compiler.normal(text)
    if "generic" not in trial.texts:
        raise UsageError(f"Triton {compiler.release} does not parse {path}: {first_error(trial)}")
    try:
        return read(trial.texts["generic"])
    except NotGeneric as error:
        raise UsageError(f"{path}: this form of MLIR cannot be read yet ({error})") from error


def _readable(compiler: IrCompiler, module: IrModule, faults: Callable[[str], bool]) -> str:
    """As people write it, if that shows the fault, too."""
    text = write(module)
    pretty = compiler.normal(text).texts.get("pretty", "")
    return pretty if pretty and faults(pretty) else text
