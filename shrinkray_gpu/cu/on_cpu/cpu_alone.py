"""Without a GPU: nvcc builds each text, and the machine of one core runs it. No GPU confirms what it says."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from shrinkray_gpu.cu.cu_fault import CuFault, first_look, run_fault
from shrinkray_gpu.cu.nvcc_trial import CuOutcome, Look, NvccTrial
from shrinkray_gpu.cu.on_cpu.cpu_trial import SECONDS, CpuTrial
from shrinkray_gpu.cu.options import AskedWords
from shrinkray_gpu.runner.scratch_folder import scratch_folder


class CpuAlone:
    """As an `NvccTrial`, of a fault of a kernel."""

    hosted = False

    def __init__(self, nvcc: NvccTrial, cpu: CpuTrial, stage: str = "object") -> None:
        """`stage`: how far nvcc builds what the CPU runs."""
        self.nvcc, self.cpu, self.stage = nvcc, cpu, stage

    def sooner(self) -> CpuAlone:
        """The same in a third of the time: g++ has read what the host does."""
        return CpuAlone(self.nvcc, self.cpu, "ptx")

    def build(self, text: str, stage: str, seconds: float, look: Look = lambda outcome: None) -> CuOutcome:
        built = self.nvcc.build(text, self.stage, seconds)
        if self.nvcc.is_for_several(built):
            built = self.nvcc.build(text, "object", seconds)
        if built.failed or built.trouble:
            return built
        seen = self.cpu.build(text, stage, seconds, look)
        return replace(seen, said=built.said, messages=built.messages, seconds=built.seconds + seen.seconds)


@contextmanager
def fault_on_cpu(text: str, nvcc: NvccTrial, asked: Sequence[AskedWords]) -> Iterator[tuple[CpuAlone, CuFault] | None]:
    """The fault of a kernel that the machine of one core sees, and the trial there; None where it sees none."""
    compiler = shutil.which("g++")
    if compiler is None or any(each.builds for each in asked):
        yield None
        return
    with scratch_folder(nvcc.folder) as place:
        cpu = CpuTrial(nvcc, compiler, Path(place))
        trial = CpuAlone(nvcc, cpu)
        outcome = None if cpu.prepare() else trial.build(text, "program", SECONDS, first_look)
        fault = run_fault(text, outcome, asked, hosted=False) if outcome is not None else None
        if outcome is None or fault is None or fault.sight is None:
            yield None
            return
        trial.cpu = cpu.of_original(outcome)
        yield trial, replace(fault, on_cpu=True)
