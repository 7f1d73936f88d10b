"""Finds NVIDIA's tools: on PATH, in a CUDA toolkit, or in the packages of the user's interpreter."""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from shrinkray_gpu.device.own_commands import printed_by

TOOLKIT = Path("/usr/local/cuda")
HOW = {
    "compute-sanitizer": "install the CUDA toolkit's compute-sanitizer and put its folder on PATH, or set CUDA_HOME",
    "cuda-gdb": "install the CUDA toolkit's cuda-gdb and put its folder on PATH, or set CUDA_HOME",
    "nvcc": "install the CUDA toolkit and put its bin folder on PATH, or set CUDA_HOME",
    "nvdisasm": "it comes with the Triton wheel and with the CUDA toolkit (PATH, CUDA_HOME)",
}
"""How to get what is missing."""
_PACKAGES = """
import importlib.util, os
for name in ("triton", "nvidia"):
    try:
        found = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        continue
    for place in (found.submodule_search_locations or ()) if found else ():
        print(name, os.path.abspath(place), sep="\\t")
"""


def find(tool: str, python: str, environment: Mapping[str, str]) -> Path | None:
    """The executable, as a process with this environment and interpreter would get it; None if there is none."""
    for folder in _folders(tool, python, environment):
        found = folder / tool
        if found.is_file() and os.access(found, os.X_OK):
            return found
    return None


def missing(tool: str) -> str:
    """Why an instrument that needs this tool says nothing, and how to get it."""
    return f"no {tool} on PATH, in CUDA_HOME, {TOOLKIT} or the interpreter's packages: {HOW[tool]}"


def _folders(tool: str, python: str, environment: Mapping[str, str]) -> Iterator[Path]:
    packages = list(_packages(python, environment.get("PYTHONPATH", "")))
    triton = [place / "backends" / "nvidia" / "bin" for name, place in packages if name == "triton"]
    # Triton calls its own ptxas, and its own nvdisasm reads what that made; a toolkit's may be older than that.
    if tool in ("nvdisasm", "ptxas"):
        yield from triton
    homes = [environment.get(name, "") for name in ("CUDA_HOME", "CUDA_PATH")]
    if tool == "nvcc":  # in torch's order: what it builds extensions with, and runner/inside/cuda_cpp/nvcc.py
        yield from (Path(home) / "bin" for home in homes if home)
    for folder in environment.get("PATH", os.defpath).split(os.pathsep):
        if folder:
            yield Path(folder)
    for home in (*(Path(home) for home in homes if home), TOOLKIT):
        yield from (home / "bin", home / "compute-sanitizer")
    yield from triton
    for name, place in packages:
        if name == "nvidia":
            for pattern in ("*/bin", "*/compute-sanitizer"):
                yield from sorted(one for one in place.glob(pattern) if one.is_dir())


@functools.lru_cache(maxsize=8)
def _packages(python: str, path: str) -> tuple[tuple[str, Path], ...]:
    """Where the interpreter has Triton and NVIDIA's packages; asked without importing either."""
    found = shutil.which(python) or python
    environment = {**os.environ, **({"PYTHONPATH": path} if path else {})}
    pairs = [line.split("\t") for line in printed_by([found, "-c", _PACKAGES], env=environment).splitlines()]
    return tuple((pair[0], Path(pair[1])) for pair in pairs if len(pair) == 2)
