"""What this machine has of what a part may need, asked once; and why a part cannot run here."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.seeds.goals import Part

_ABOUT = """
import json, platform, torch, triton
gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
print(json.dumps({"gpu": gpu, "torch": torch.__version__, "triton": triton.__version__,
                  "python": platform.python_version()}))
"""


@dataclass(frozen=True)
class Machine:
    """The GPU, or "", the compiler of CUDA C++, or "", and the versions that stand beside the results."""

    gpu: str
    nvcc: str
    releases: bool
    """Whether releases of Triton may be fetched, some hundred megabytes each."""
    versions: str

    def reason_against(self, part: Part) -> str:
        """Why this part cannot run here; "" if it can."""
        if "gpu" in part.needs and not self.gpu:
            return "no GPU"
        if "nvcc" in part.needs and not self.nvcc:
            return "no nvcc"
        if "releases" in part.needs and not self.releases:
            return "fetches releases of Triton: --releases"
        return ""


def machine(*, releases: bool) -> Machine:
    """This machine, by what the interpreter that runs us can import: it runs the candidates, too."""
    done = subprocess.run([sys.executable, "-c", _ABOUT], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{sys.executable} has no torch and Triton: {done.stderr.strip().splitlines()[-1]}")
    about = json.loads(done.stdout)
    versions = f"torch {about['torch']}, Triton {about['triton']}, Python {about['python']}, {os.cpu_count()} cores"
    return Machine(about["gpu"], _nvcc(), releases, versions)


def _nvcc() -> str:
    """Where the tool looks for it, too."""
    home = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin", "nvcc")
    return shutil.which("nvcc") or (str(home) if os.access(home, os.X_OK) else "")
