"""Which oracle sees which operator's fault, and whether this tree has it. A new oracle is one line."""

from __future__ import annotations

from dataclasses import dataclass

from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.runner.inside.launches.launch_log import INTERPRETED
from shrinkray_gpu.runner.inside.static import rules


@dataclass(frozen=True)
class Asked:
    """How a fault is asked for."""

    phases: tuple[str, ...]
    """Of the Fault, where the fault that the program shows is adopted."""
    rule: str = ""
    """`static:` and this; empty: without an oracle, as most users run the command."""
    sanitizer: str = ""
    """The tool of compute-sanitizer that sees it, where each tensor has an allocation of its own; empty: none."""
    words: str = ""
    """Of the check that the program fails; empty: none. Without a GPU, Triton's interpreter then runs its kernels."""

    @property
    def exists(self) -> bool:
        return bool(self.phases) and (not self.rule or rules.by_name(self.rule) is not None)

    @property
    def wants(self) -> tuple[str, ...]:
        """What a run must be asked for, so that it can tell."""
        if self.words:
            return (INTERPRETED,)
        return (rules.ASKED + self.rule,) if self.rule else ()

    @property
    def options(self) -> tuple[str, ...]:
        if self.sanitizer:
            return "--oracle", f"sanitizer:{self.sanitizer}", "--env", "=".join(*ALONE.items())
        if self.words:
            return "--oracle", self.words
        return ("--oracle", f"static:{self.rule}") if self.rule else ()

    def sees(self, fault: Fault | None) -> bool:
        return fault is not None and fault.phase in self.phases and self.words in fault.words


ALONE = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
"""Else what lies behind a tensor is torch's own, and no sanitizer objects."""
VALUES = "values"
"""Of the calls that compare what a kernel computes with what torch does. Their faults are drawn by themselves."""
ORACLES = {
    "compiler": Asked(("compile",)),
    "resources": Asked(("launch", "compile")),
    "bounds": Asked(("device",), "bounds"),
    "alignment": Asked(("device",), "alignment"),
    "race": Asked(("device",), "race"),  # between program instances; a missing barrier is none between these
    VALUES: Asked(("python",), words="Tensor-likes are not close"),
}
DIES = Asked(("device",))
"""On a GPU, of a fault that the driver sees: without an oracle, as the program's user runs the command."""
MEMCHECK = Asked(("device",), sanitizer="memcheck")
"""On a GPU, of an access that the driver lets pass."""
