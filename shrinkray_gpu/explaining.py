"""`shrink explain`: run a program once, and once for each instrument, and say all that is known of its fault.

from shrinkray_gpu.explaining import explain
print(card(explain(Path("failing.py"), arch=90)))
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from shrinkray_gpu.errors import NotReproduced, UsageError
from shrinkray_gpu.evidence import instruments
from shrinkray_gpu.evidence.examine import Evidence, examine
from shrinkray_gpu.oracle import all_of, describe, obstacle, parse
from shrinkray_gpu.plan import PATIENCE
from shrinkray_gpu.reduction.program import read_program
from shrinkray_gpu.runner.interpreter import check_python
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Script


def explain(
    path: Path,
    *,
    oracle: Sequence[str] = (),
    python: str = sys.executable,
    arch: int | None = None,
    argv: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    timeout: float | None = None,
    intermittent: bool = False,
    synccheck: bool = False,
) -> Evidence:
    """All that the instruments say of the fault that the script at `path` shows; nothing is written beside it.

    Raises UsageError for bad input, NotReproduced if it shows no fault, or not the one that `oracle` asks for.
    """
    if path.is_dir():
        raise UsageError(f"{path} is a folder: name the script that fails")
    text = read_program(path).text
    check_python(python)
    wanted = all_of([parse(spec, folder=Path.cwd()) for spec in oracle]) if oracle else None
    place = (cwd or Path.cwd()).absolute()
    script = Script(
        path.absolute(),
        argv=tuple(argv),
        cwd=place,
        asserts=arch is None or wanted is None or wanted.asserts,
        wants=tuple(sorted(wanted.wants)) if wanted else (),
    )
    asked = instruments.USUAL | ({"synccheck"} if synccheck else set())
    if wanted is not None and wanted.sanitizer:
        asked |= {wanted.sanitizer}
        intermittent = intermittent or wanted.sanitizer in instruments.INTERMITTENT
    with tempfile.TemporaryDirectory(prefix="shrink-", ignore_cleanup_errors=True) as folder:
        setup = _setup(script, Path(folder), python=python, arch=arch, environment=environment or {})
        seen = examine(text, script, setup, seconds=timeout or PATIENCE, ask=asked, intermittent=intermittent)
    run = seen.run
    assert run is not None
    if said := obstacle(run):
        raise UsageError(f"{path.name} does not run in {python}. {said}")
    if run.trouble:
        raise NotReproduced(f"the run of {path.name} tells nothing: {run.trouble}")
    if wanted is not None and wanted.needs_run and not wanted.sanitizer:
        verdict = wanted.judge(run)
        if not verdict.faults:
            raise NotReproduced(
                f"{path.name} does not show {wanted.spec!r}: {verdict.why}. {describe(run, wanted.spec)}"
            )
    if seen.fault is None and not seen.findings:
        raise NotReproduced(f"{path.name} shows no fault. {describe(run)}")
    return seen


def _setup(script: Script, folder: Path, *, python: str, arch: int | None, environment: Mapping[str, str]) -> Setup:
    """As a reduction's, with all folders in a temporary one."""
    scratch, caches = folder / "scratch", folder / "cache"
    for place in (scratch, caches):
        place.mkdir()
    return Setup(
        python=python,
        environment={
            **os.environ,
            **environment,
            "TRITON_CACHE_DIR": str(caches / "triton"),
            "TORCHINDUCTOR_CACHE_DIR": str(caches / "inductor"),
            "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
        },
        imports=(),
        own=(str(script.path.parent), str(script.cwd)),
        scratch=str(scratch),
        writable=(str(caches),),
        arch=arch,
    )
