"""What the compiler leaves of a pass that fails: the module that its stage began with, and the passes of the stage."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from shrinkray_gpu.runner.knob_settings import KnobSetting
from shrinkray_gpu.runner.plain_file import left_text
from shrinkray_gpu.runner.pool import Pool
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.runner.scratch_folder import scratch_folder

NAME = "reproducer.mlir"


def pass_reproducers(text: str, pool: Pool) -> tuple[Mapping[str, str], Run]:
    """Triton writes the MLIR that it is about to work on, where TRITON_REPRODUCER_PATH says; what a pass that fails
    leaves there is the way to run that pass again. By file name, empty if nothing is left; and the run."""
    with scratch_folder(pool.setup.scratch) as folder:
        place = Path(folder, NAME)
        run = pool.cold(text, way=KnobSetting("reproducer", environment={"TRITON_REPRODUCER_PATH": str(place)}))
        # One for each stage, each before its first pass; that of the stage that fails is the last.
        found = sorted(Path(folder).rglob("*.mlir"), key=lambda path: path.lstat().st_mtime_ns)
        left = left_text(found[-1]) if found else ""
        return ({NAME: left} if left else {}), run
