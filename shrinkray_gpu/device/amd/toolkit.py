"""Finds ROCm's debug agent. Written by AMD's documents, never run."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from shrinkray_gpu.device.nvidia import toolkit as of_nvidia

AGENT = "librocm-debug-agent.so.2"
ROCM = Path("/opt/rocm")
HOW = {**of_nvidia.HOW, AGENT: "install the package rocm-debug-agent, or set ROCM_PATH"}
"""How to get what is missing. A case of a corpus may name NVIDIA's tools on any machine."""


def find(tool: str, python: str, environment: Mapping[str, str]) -> Path | None:
    """ROCm's tool, as a process with this environment would get it; None if there is none. NVIDIA's compile here as
    well, and are found as they are there."""
    if tool != AGENT:
        return of_nvidia.find(tool, python, environment)
    return next((found for found in (folder / tool for folder in _libraries(environment)) if found.is_file()), None)


def agent() -> Path | None:
    """The agent as this process would get it."""
    return find(AGENT, "", os.environ)


def missing(tool: str) -> str:
    """Why an instrument that needs this tool says nothing, and how to get it."""
    if tool == AGENT:
        return f"no {AGENT} in LD_LIBRARY_PATH, ROCM_PATH or {ROCM}: {HOW[AGENT]}"
    return f"{tool} is NVIDIA's, and the GPU here is AMD's"


def _libraries(environment: Mapping[str, str]) -> Iterator[Path]:
    for folder in environment.get("LD_LIBRARY_PATH", "").split(os.pathsep):
        if folder:
            yield Path(folder)
    home = environment.get("ROCM_PATH", "")
    yield from (Path(each) / "lib" for each in (home, ROCM) if str(each))
