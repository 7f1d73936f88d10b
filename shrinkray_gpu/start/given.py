"""What a reduction begins with, and what it is chosen from: the user's program and how that is run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from shrinkray_gpu import calibration
from shrinkray_gpu.command.driver import Command
from shrinkray_gpu.device import error_table
from shrinkray_gpu.evidence.dump_runs import DumpRun
from shrinkray_gpu.oracle import Fault, Oracle
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner.inside.launches.launch_log import INTERPRETED
from shrinkray_gpu.runner.knob_settings import KnobSetting
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.run import Run

Say = Callable[[str], None]
ALIKE = frozenset({700, 716})
"""Errors of CUDA that a run reports with a core dump as without. A failed assertion becomes 719 then, and a 717 a 700,
as an H100 with driver 580 has it: so a plain run must have shown a 700 as well before a script is taken for it."""


@dataclass(frozen=True)
class Start:
    """What a reduction begins with."""

    program: Program
    oracle: Oracle | None = None
    """Bound to the fault of the user's own program; None where no run of that has shown it yet."""
    reference: Run | None = None
    """The run of the user's own program that showed it."""
    lifted: bool = False
    """Whether `program` is another one than the user's: a lifted one, or what was many modules."""
    alone: bool = False
    """Whether it takes no arguments, and none of the user's modules."""
    merged: bool = False
    """Whether modules of the program's own are in it: then it is larger than that."""
    bare: bool = False
    """Whether it is a kernel of CUDA C++ launched without its extension; its fault may be a flaky one."""
    history: bool = False
    """Whether the fault needs more than one launch, as far as is known: candidates must not run one after another in
    one process, and the same launches do not mean the same fault."""
    fault: Fault | None = None
    """What the instruments say of the user's own program; None where nobody asked them, or they saw nothing."""
    told: str = ""
    """How it went, in a line."""
    seen: tuple[Run, ...] = ()
    """Cold runs of `program` that were made on the way."""
    lanes: calibration.LaneSet | None = None
    """Workers that came up for it meanwhile."""
    tries: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True)
class UserProgram:
    """The program, and how it is run."""

    program: Program
    script: Script
    setup: Setup
    chosen: Oracle | None
    """None: the fault seen is adopted."""
    adopting: Callable[[Run], Oracle]
    limits: calibration.Limits
    gpus: tuple[str, ...] = ()
    """Those that runs may be spread over, as CUDA_VISIBLE_DEVICES names each; empty: there is one at most."""
    keep: frozenset[str] = frozenset()
    as_it_is: bool = False
    """Whether the user wants no lifted one, or named controls that only fit the program as it is."""
    look: Callable[[str, Script, Run], Fault | None] | None = None
    """The fault of a text, run as this script, by the instruments, with a run that showed it; None: they are not
    asked."""
    dumping: Callable[[int | None], DumpRun] | None = None
    """For a run that tells the instruments' word on the way; None where no run can. See `on_the_way`."""
    ways: tuple[KnobSetting, ...] = ()
    """Ways in which a fault of the device will be tried later, each in a worker of its own."""
    command: Command | None = None
    """Where it is `-m MODULE`, that: its text is a driver of ours, and says nothing of its size."""

    def with_kernels_run(self) -> UserProgram:
        """The same, where Triton's interpreter runs kernels on the virtual GPU."""
        return replace(self, script=replace(self.script, wants=(*self.script.wants, INTERPRETED)))

    def on_the_way(self, peak: int | None = None) -> DumpRun | None:
        """For one run that writes a core dump as well; None where that may not show the fault as other runs do. `peak`:
        bytes of device memory that it holds; None: not known."""
        asked = (
            error_table.parse_error(self.chosen.spec) if self.chosen is not None and self.dumping is not None else None
        )
        return self.dumping(peak) if self.dumping is not None and asked is not None and asked.code in ALIKE else None

    @property
    def alone(self) -> UserProgram:
        """The same for a lifted script, which takes no arguments and imports nothing of the program's."""
        return replace(self, script=replace(self.script, argv=()), setup=replace(self.setup, imports=()))

    def lanes(self, text: str) -> calibration.LaneSet:
        return calibration.open_lanes(text, self.script, self.setup, oracle=self.chosen, limits=self.limits)

    def cold(self) -> Pool:
        return calibration.cold_lanes(self.script, self.setup, oracle=self.chosen, limits=self.limits)

    def plan(self, start: Start, *, candidates: bool = True) -> calibration.Plan:
        """How candidates are run, as the program to begin with allows; or only what it shows, where there are none."""
        here, limits = self.alone if start.alone else self, self.limits
        if limits.mode is None and start.history:
            limits = replace(limits, mode="fork")
        return calibration.make(
            start.program.text,
            here.script,
            here.setup,
            oracle=start.oracle or self.chosen or self.adopting,
            limits=limits,
            seen=start.seen,
            bound=start.oracle is not None,
            lanes=start.lanes,
            candidates=candidates,
        )
