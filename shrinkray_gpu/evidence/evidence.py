"""All that is known of one program's fault, as the instruments put it together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from shrinkray_gpu.device.instruction import Instruction
from shrinkray_gpu.device.record import Record
from shrinkray_gpu.evidence.instruments.instrument import Statement
from shrinkray_gpu.evidence.source_text import SourceLine
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.runner.run import Compilation, Launch, Run


@dataclass(frozen=True)
class RecordGroup:
    """Records of one kind and place: the first of them, and how many there are."""

    record: Record
    count: int


@dataclass(frozen=True)
class Evidence:
    """All that is known of one program's fault."""

    file: str
    fault: Fault | None
    ending: str
    """How the program ended, in its own words."""
    kernel: str = ""
    """Where the fault is, or else what was compiled or launched last."""
    launch: Launch | None = None
    parameters: tuple[str, ...] = ()
    """Names of the launch's arguments, where the kernel is in the file."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of the kernel's compilation: warps, stages and the like."""
    place: SourceLine | None = None
    instruction: str = ""
    """Whole, as disassembled."""
    offset: int = -1
    """Of the instruction from the kernel's start, in bytes."""
    sass: tuple[Instruction, ...] = ()
    """Around the instruction."""
    alike: int = 0
    """Where only the line is known: how many instructions of this family stand for it."""
    memory: tuple[str, ...] = ()
    """What is known of the address: alignment declared, place of the access, nearest allocation."""
    diagnostics: str = ""
    """What a failing compiler said."""
    findings: tuple[RecordGroup, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    """What instruments said, whole, by their names: of a core dump the debugger's words."""
    ir: Mapping[str, str] = field(default_factory=dict)
    """The kernel's code, whole: `ttgir`, `llir`, `ptx`."""
    said: tuple[Statement, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    run: Run | None = None

    def to_json(self) -> dict[str, Any]:
        """Everything but the code and the run, which are long."""
        return asdict(replace(self, ir={}, run=None))


def options_of(compile: Compilation | None) -> dict[str, Any]:
    """Those that a reader asks for, and others where they were set."""
    if compile is None:
        return {}
    shown = ("num_warps", "num_stages", "num_ctas")
    extra = ("maxnreg", "launch_cooperative_grid", "launch_pdl", "ptx_options", "debug")
    given = compile.options
    return {
        **{name: given[name] for name in shown if name in given},
        **{name: given[name] for name in extra if given.get(name)},
    }
