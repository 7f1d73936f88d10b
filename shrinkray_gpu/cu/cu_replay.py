"""A result of a reduction of a .cu once more: does it show what its head says?"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from shrinkray_gpu.cu.cu_fault import CuFault, build_fault, ending, first_look, run_fault
from shrinkray_gpu.cu.cu_file import CuFile
from shrinkray_gpu.cu.nvcc_trial import LIMIT, STAGES, trial_of
from shrinkray_gpu.cu.on_cpu.cpu_alone import fault_on_cpu
from shrinkray_gpu.cu.options import CuOptions


@dataclass(frozen=True)
class ReplayedCu:
    """What a program does."""

    told: str
    """What its head says of its fault; empty where it says nothing."""
    shows: str
    outcome: str
    """`still faults`, `changed fault`, `fixed`; of a program that tells none, `fails` or `passes`."""

    @property
    def as_told(self) -> bool:
        return self.outcome in ("still faults", "passes")


def replay_cu(path: Path, options: CuOptions) -> ReplayedCu:
    """Build it stage by stage until it shows its fault, and run it at last. Raises UsageError as `read_cu` does."""
    with trial_of(path, options) as (file, trial):
        wanted = set(filter(None, file.fault.split("; ")))
        shows = ""
        for stage in STAGES:
            outcome = trial.build(file.text, stage, options.seconds or LIMIT, first_look)
            if trial.is_for_several(outcome):
                continue
            if wanted and wanted <= {str(each.message) for each in outcome.messages}:
                return ReplayedCu(file.fault, file.fault, "still faults")
            fault = build_fault(file.text, outcome, stage, ())
            fault = fault or run_fault(file.text, outcome, (), hosted=trial.hosted)
            shows = str(fault) if fault else f"it {ending(outcome.run)}" if outcome.run else ""
            if fault is not None:
                return _compared(file, fault, blind=bool(outcome.blind))
        with fault_on_cpu(file.text, trial, ()) if trial.hosted else nullcontext() as found:
            if found is not None:
                return _compared(file, found[1])
    return ReplayedCu(file.fault, shows, "fixed" if wanted else "passes")


def _compared(file: CuFile, fault: CuFault, *, blind: bool = False) -> ReplayedCu:
    """What the program shows, with what its head says."""
    if file.seen and not blind:  # of the words the result keeps the driver's alone
        same, shows = str(fault.sight) == file.seen, f"{fault}; {fault.sight or fault.unseen}"
    else:
        same, shows = str(fault) == file.fault, str(fault)
    return ReplayedCu(file.fault, shows, "fails" if not file.fault else "still faults" if same else "changed fault")
