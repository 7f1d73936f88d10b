"""PTX once more, on any releases of ptxas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from shrinkray_gpu.oracle.words import compiler_pattern
from shrinkray_gpu.ptx.ptx_file import PtxFile, gpu_name, read_ptx
from shrinkray_gpu.ptx.ptxas_fault import PtxasFault, PtxasMessage
from shrinkray_gpu.ptx.release_table import FAULTS, PASSES, UNFIT, ReleaseRow, row

SECONDS = 120.0
"""That a ptxas may take."""


@dataclass(frozen=True)
class ReplayedPtx:
    """What the releases do."""

    rows: tuple[ReleaseRow, ...]
    told: bool
    """Whether the file says what its fault is."""

    @property
    def as_told(self) -> bool:
        """Whether all show the fault; of a file that tells none, whether all that know its PTX answer, and none
        fails."""
        if self.told:
            return all(each.outcome == FAULTS for each in self.rows)
        answers = {each.outcome for each in self.rows} - {UNFIT}
        return answers == {PASSES}


def replay_ptx(path: Path, tools: Mapping[str, Path], *, arch: str = "", seconds: float = SECONDS) -> ReplayedPtx:
    """Each of the tools on a file, for as long as the file tells, or `seconds`. Raises UsageError for a file without
    PTX, and a tool that does not start."""
    file = read_ptx(path)
    flags = (f"--gpu-name={gpu_name(file, arch, path)}", *file.flags)
    wanted, words = fault_told(file), [*map(compiler_pattern, file.oracle)]
    seconds = file.seconds or seconds
    rows = [row(tool, file.text, flags, seconds=seconds, wanted=wanted, words=words) for tool in tools.values()]
    return ReplayedPtx(tuple(rows), wanted is not None)


def fault_told(file: PtxFile) -> PtxasFault | None:
    """What a result says of its fault; None for a file that says nothing."""
    kind, colon, words = file.fault.partition(": ")
    if not file.fault:
        return None
    if kind.startswith(("signal ", "exit status ")) or kind == "no end":
        message = PtxasMessage(words) if colon else None
        return PtxasFault(kind, message, frozenset(filter(None, [message])))
    message = PtxasMessage(file.fault)
    return PtxasFault("error", message, frozenset([message]))
