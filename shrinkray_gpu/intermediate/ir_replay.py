"""A result once more, on this release of Triton or another one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.intermediate import lit_test
from shrinkray_gpu.intermediate.compiler import IrCompiler, first_error
from shrinkray_gpu.intermediate.ir_fault import IrFault, fault_in
from shrinkray_gpu.intermediate.ir_file import ir_in, read_text
from shrinkray_gpu.intermediate.options import IrOptions


@dataclass(frozen=True)
class ReplayedIr:
    """What one release does with it."""

    release: str
    outcome: str
    """`still faults`, `fixed`, `changed fault` or `format changed`."""
    why: str = ""
    fault: IrFault | None = None

    def __str__(self) -> str:
        return f"{self.outcome}: {self.why}" if self.why else self.outcome

    def to_json(self) -> dict[str, Any]:
        return {"triton": self.release, "outcome": self.outcome, "why": self.why}


def replay_ir(path: Path, options: IrOptions) -> ReplayedIr:
    """Run the passes of its `RUN:` line. A fault is the same by the file's `Fault:` line and by `options.words`.

    Raises UsageError where the file is none that can be run here."""
    return replayed(read_text(path), path, options)


def replayed(whole: str, path: Path, options: IrOptions) -> ReplayedIr:
    """The same of the text of a file, which `path` names in messages."""
    file = ir_in(whole, path)
    if not file.passes:
        raise UsageError(f"{path} has no RUN: line that names passes: shrink {path} --arch makes a file that has one")
    told = lit_test.fault_of(whole)
    with IrCompiler(options.python, options.environment, options.arch) as compiler:
        release = compiler.release
        try:
            steps = [compiler.table.step(call, options.arch) for call in file.passes]
        except UsageError as error:
            return ReplayedIr(release, "format changed", str(error))
        trial = compiler.run(file.text, steps)
        if not trial.parsed:
            return ReplayedIr(release, "format changed", f"it does not parse: {first_error(trial)}")
        if trial.done:
            return ReplayedIr(release, "fixed", "all passes go through")
        fault = fault_in(trial, compiler.table.call(steps[max(trial.step, 0)]).name)
    if fault is None:
        return ReplayedIr(release, "changed fault", "a pass did not end in time")
    said = trial.said + trial.raised
    same = (not told or fault.is_told_by(told)) and all(words.search(said) for words in options.words)
    return ReplayedIr(release, "still faults" if same else "changed fault", str(fault), fault)
