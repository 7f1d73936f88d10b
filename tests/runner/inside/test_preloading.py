"""What a worker does once, ahead of its lanes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")

CODE = """
import sys
from shrinkray_gpu.runner.inside import preloading
preloading._capability = lambda: print("asked") or 0
setup = {"arch": None, "imports": ["torch", "triton"], "own": [], "warm": True, "prepare": True}
report = preloading.preload({**setup, "capability": int(sys.argv[1])})
print("shrinkray_gpu.runner.inside.vgpu" in sys.modules, report["touched"], report["spoilt"])
"""


OWN = """
import sys
from shrinkray_gpu.runner.inside import preloading
sys.path.insert(0, sys.argv[1])
report = preloading._import({"imports": ["parcel.inner", "email.mime"], "own": [sys.argv[1]]})
print(report, [name in sys.modules for name in ("parcel", "parcel.inner", "email.mime")])
"""


def test_a_package_of_the_script_s_own_is_not_imported_to_look_for_its_modules(tmp_path: Path) -> None:
    """What it does as it is imported, such as starting CUDA, would be done in the server that lanes are forks of."""
    (tmp_path / "parcel").mkdir()
    for name in ("__init__.py", "inner.py"):
        (tmp_path / "parcel" / name).touch()
    done = subprocess.run([sys.executable, "-c", OWN, str(tmp_path)], capture_output=True, text=True)
    assert done.stdout == "{'missing': [], 'failed': {}} [False, False, True]\n", done.stderr


@pytest.mark.parametrize(("capability", "told"), [(90, "True False False\n"), (0, "asked\nFalse False False\n")])
def test_a_child_makes_a_context_only_where_the_gpu_is_not_known(capability: int, told: str) -> None:
    """It makes Triton compile for it."""
    done = subprocess.run([sys.executable, "-c", CODE, str(capability)], capture_output=True, text=True)
    assert done.stdout == told, done.stderr
