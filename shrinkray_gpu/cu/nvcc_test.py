"""The interestingness test of a `.cu`: a candidate is built up to the fault's stage, and run where a run shows it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from shrinkray_gpu.cu.cu_fault import CuFault, defined_in
from shrinkray_gpu.cu.cu_program import text_of
from shrinkray_gpu.cu.nvcc_trial import NvccTrial
from shrinkray_gpu.cu.on_cpu.cpu_alone import CpuAlone
from shrinkray_gpu.cu.on_cpu.cpu_trial import CpuTrial
from shrinkray_gpu.cu.undeclared import declared, undeclared
from shrinkray_gpu.oracle.verdict import Verdict, lacks
from shrinkray_gpu.reduction.native.native_tree import parse
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner.inside.cuda_cpp.host_source import host_side


@dataclass
class NvccTest:
    """The interestingness test: each candidate built up to the fault's stage, some at a time."""

    trial: NvccTrial | CpuTrial | CpuAlone
    fault: CuFault
    seconds: float
    threads: ThreadPoolExecutor
    keep: frozenset[str] = frozenset()
    """Names that stay defined."""
    names: set[str] = field(default_factory=set)
    """All that the original declares, and what showed its fault."""
    hosts: dict[str, Verdict] = field(default_factory=dict)
    """Whether a program launches its kernels, by all of its text that the host's compiler reads."""
    beside: NvccTest | None = None
    """Asked where this one cannot tell, in the last round only: a GPU takes ten times as long as the CPU."""
    insisting: bool = False
    """Whether the last round has come."""

    def judge(self, programs: Sequence[Program]) -> list[Verdict]:
        return self._learnt(programs, list(self.threads.map(lambda each: self.verdict(text_of(each)), programs)))

    def _learnt(self, programs: Sequence[Program], verdicts: list[Verdict]) -> list[Verdict]:
        """The verdicts, after all of them the names of what faults."""
        for program, verdict in zip(programs, verdicts):
            if verdict.faults:
                self.names |= declared(parse(text_of(program)))
        return verdicts

    def foresee(self, likely: Iterable[Program]) -> None:
        """Nothing is begun ahead."""

    def insist(self, on: bool) -> None:
        self.insisting = on

    def values(self, program: Program) -> Mapping[int, str]:
        return {}

    def refusal(self, text: str) -> Verdict | None:
        """What is out before it is built; None where only a build can tell."""
        tree = parse(text)
        if objection := self.fault.objection(text):
            return lacks(objection)
        if name := undeclared(tree, self.names):
            return lacks(f"{name} is not declared any more")
        if gone := self.keep - defined_in(tree):
            return lacks(f"{next(iter(gone))} is kept, and not defined any more")
        return None

    def verdict(self, text: str) -> Verdict:
        if refused := self.refusal(text):
            return refused
        outcome = self.trial.build(text, self.fault.stage, self.seconds, self.fault.look)
        found = self.fault.verdict(text, outcome)
        if not found.is_known and self.beside is not None:
            return self.beside.verdict(text) if self.insisting else replace(lacks(found.why), provisional=True)
        if not (found.faults and self.fault.runs):
            return found
        host = host_side(text)
        if host not in self.hosts:
            launched = self.fault.launch_verdict(self.trial.build(text, "program", self.seconds))
            if not launched.is_known:
                return launched
            self.hosts[host] = launched
        return found if self.hosts[host].faults else self.hosts[host]
