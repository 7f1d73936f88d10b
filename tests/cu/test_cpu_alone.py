"""How far nvcc builds what the CPU runs."""

from __future__ import annotations

from typing import Any, cast

from shrinkray_gpu.cu.cu_fault import first_look
from shrinkray_gpu.cu.nvcc_trial import CuOutcome, NvccTrial
from shrinkray_gpu.cu.on_cpu.cpu_alone import CpuAlone
from shrinkray_gpu.cu.on_cpu.cpu_trial import CpuTrial

SEVERAL = "Option '--ptx (-ptx)' is not allowed when compiling for multiple GPU architectures"


class Builds:
    """In the place of either trial."""

    is_for_several = staticmethod(NvccTrial.is_for_several)

    def __init__(self, ptx: CuOutcome) -> None:
        self.ptx, self.stages = ptx, list[str]()

    def build(self, text: str, stage: str, *rest: Any) -> CuOutcome:
        self.stages.append(stage)
        return self.ptx if stage == "ptx" else CuOutcome("", False, ())


def built(ptx: CuOutcome) -> tuple[CuOutcome, list[str]]:
    nvcc, cpu = Builds(ptx), Builds(CuOutcome("", True, ()))
    trial = CpuAlone(cast(NvccTrial, nvcc), cast(CpuTrial, cpu))
    trial.build("int main() {}", "program", 60, first_look)
    assert nvcc.stages == ["object"]
    outcome = trial.sooner().build("int main() {}", "program", 60, first_look)
    return outcome, [*nvcc.stages[1:], *cpu.stages[1:]]


def test_beside_the_search_nvcc_reads_what_the_device_gets() -> None:
    assert built(CuOutcome("", False, ()))[1] == ["ptx", "program"]
    refused, stages = built(CuOutcome("error: x is undefined", True, ()))
    assert refused.failed and stages == ["ptx"]


def test_for_several_architectures_it_builds_all() -> None:
    assert built(CuOutcome(SEVERAL, True, ()))[1] == ["ptx", "object", "program"]
