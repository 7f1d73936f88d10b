"""The environment of a run, as `env.json` has it: versions of all that takes part, and the variables that it reads."""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Mapping
from typing import Any

from shrinkray_gpu.device import architectures, toolkit
from shrinkray_gpu.device.own_commands import printed_by
from shrinkray_gpu.evidence import ptxas
from shrinkray_gpu.evidence.scrubbing import Scrubber
from shrinkray_gpu.evidence.secrets_found import SECRET

_READ = re.compile(
    r"^(TRITON_|CUDA_|NVIDIA_TF32_OVERRIDE$|PYTORCH_|TORCH|HELION_|MLIR_|LLVM_|PTXAS|NCCL_|LD_LIBRARY_PATH$|PYTHONHASHSEED$"
    r"|DISABLE_(PTXAS|LLVM|MMA|FAST)|USE_IR_LOC$|LLVM_IR_ENABLE_DUMP$|ALLOW_LHS_TMEM)"
)
_OURS = frozenset({"TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "CUDA_CACHE_PATH", "PYTORCH_NVML_BASED_CUDA_CHECK"})
_CUDA = """
import importlib.util, re, os
found = importlib.util.find_spec("torch")
for place in (found.submodule_search_locations or ()) if found else ():
    text = open(os.path.join(place, "version.py")).read()
    version = re.search(r"^cuda[^=\\n]*= *['\\"]([^'\\"]+)", text, re.M)
    print(version.group(1) if version else "")
"""


def surroundings(
    python: str,
    given: Mapping[str, str],
    versions: Mapping[str, str],
    scrub: Scrubber,
    *,
    arch: int | None,
) -> dict[str, Any]:
    """What `env.json` says. `given` is the environment that the user asked for, beside this process's."""
    every = {**os.environ, **given}
    variables = {
        name: scrub.text(value)
        for name, value in sorted(every.items())
        if _READ.match(name) and not SECRET.search(name) and name not in _OURS
    }
    found: dict[str, Any] = {**versions}
    if cuda := printed_by([python, "-c", _CUDA], env=every).strip():
        found["cuda"] = cuda
    tool = toolkit.find("ptxas", python, every)
    if tool is not None and (version := ptxas.version(tool)):
        found["ptxas"] = version
    if arch is not None:
        found["architecture"] = f"{architectures.name(arch)}, compiled for, no GPU was used"
    found["platform"] = f"{platform.system()} {platform.machine()}, {'-'.join(platform.libc_ver()) or 'no glibc'}"
    return {**found, "variables": {**variables, **{name: scrub.text(value) for name, value in given.items()}}}


def text(found: Mapping[str, Any]) -> str:
    return json.dumps(found, indent=1) + "\n"
