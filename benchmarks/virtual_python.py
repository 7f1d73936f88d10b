"""`python virtual_python.py FILE ARGS...`: runs FILE as `python` would, on our virtual GPU (sm_90).

For the peers' interestingness tests on a machine without a GPU: a process of its own, nothing warmed before, the
compiler's words on stderr. Nothing of shrinkray_gpu is imported but what runs inside of candidates.
"""

from __future__ import annotations

import importlib.util
import os
import runpy
import sys
from pathlib import Path

INSIDE = Path(__file__).resolve().parents[1] / "shrinkray_gpu" / "runner" / "inside"
ARCH = 90


def main() -> None:
    spec = importlib.util.spec_from_file_location(
        "shrinkray_inside", INSIDE / "__init__.py", submodule_search_locations=[str(INSIDE)]
    )
    assert spec is not None and spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules["shrinkray_inside"] = package
    spec.loader.exec_module(package)
    vgpu = importlib.import_module("shrinkray_inside.vgpu")
    launch_log = importlib.import_module("shrinkray_inside.launches.launch_log")
    # What vgpu.prepare has done by this import in the fork server.
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    path = Path(sys.argv[1]).absolute()
    sys.argv[:] = sys.argv[1:]
    sys.path[0] = str(path.parent)
    log = launch_log.LaunchLog(frozenset())
    log.install()
    with vgpu.virtual(ARCH, log):
        runpy.run_path(str(path), run_name="__main__")


if __name__ == "__main__":
    main()
