"""One candidate as it is asked for: the text as its user runs it, and what a run of it is to observe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from shrinkray_gpu.runner.preamble import Preamble
from shrinkray_gpu.runner.preamble import read as read_preamble


@dataclass(frozen=True)
class Request:
    """One candidate as the user runs it. Made once, however many pools it goes through."""

    source: str
    path: str
    argv: tuple[str, ...] = ()
    cwd: str = "/"

    @cached_property
    def preamble(self) -> Preamble:
        return read_preamble(self.source)

    def message(self) -> dict[str, Any]:
        return {"source": self.source, "path": self.path, "argv": list(self.argv), "cwd": self.cwd}


@dataclass(frozen=True)
class RunSettings:
    """How one run of a candidate goes, and what to observe meanwhile."""

    asserts: bool = True
    watch: bool = True
    wants: tuple[str, ...] = ()
    values: bool = False
    capture: str = ""
    """Write down the launches that may be the one that faults: `launch` by shapes and strides, `values` with what the
    tensors hold, too; empty: nothing."""
    knobs: Mapping[str, str] = field(default_factory=dict)
    """Knobs to turn at launch or in the kernel's tree, by name; see `inside/knobs/knobs.py`."""
    observe: str = ""
    """File for the outputs of all launches, by which other runs are compared with this one; empty: none."""
    against: str = ""
    """File of outputs that this run is compared with; empty: none."""
    known: str = ""
    """Folder of launches of Triton's interpreter that other runs made and this one need not make; empty: none."""
    machine_code: bool = True
    """Compile Triton's kernels to machine code; on the virtual GPU, where nothing runs it, to LLVM's IR only if not."""
    tell: bool = False
    """Be ready to say, at the time limit, what the process hangs in."""
    limit: float = 0.0
    """With `tell`, where a run has more time than this for its imports: seconds after its last launch in which the GPU
    must have come to an end. 0: nobody looks before the time is over."""

    def message(self) -> dict[str, Any]:
        return {**self.__dict__, "wants": list(self.wants), "knobs": dict(self.knobs)}
