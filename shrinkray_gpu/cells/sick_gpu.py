"""Whether a cell was run on a GPU that is sick."""

from __future__ import annotations

from collections.abc import Callable

from shrinkray_gpu.cells.cell import SICK, Row
from shrinkray_gpu.device import gpus
from shrinkray_gpu.runner.gpu_groups import GpuGroups


def checked(row: Row, groups: GpuGroups, again: Callable[[], Row]) -> Row:
    """A doubtful row, if these GPUs are well; the row made `again` on the others, where a sick one was left out just
    now; with SICK, where no other is there."""
    dropped, none_left = groups.drop_sick() if gpus.present() else (False, "")
    return again() if dropped else {**row, SICK: none_left} if none_left else row
