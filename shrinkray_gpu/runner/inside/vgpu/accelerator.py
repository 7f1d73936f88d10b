"""Torch's C++ believes in a CUDA device while fake tensors are traced (`accelerator.cpp`).

It is built where it is first needed, with the C++ compiler of the machine and the headers that come with torch. A fork
server does so ahead of all forks that come after.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import subprocess
import tempfile
from typing import Iterator

import torch

from ..process.own_bug import Limit

_SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "accelerator.cpp")
_SECONDS = 240.0
_NEEDS = "torch.compile on the virtual GPU (--arch) needs a C++ compiler, and c++ "


@contextlib.contextmanager
def cuda_in_cpp() -> Iterator[None]:
    """C++ believes in one CUDA device whose guards and streams do nothing. Raises Limit where the library cannot be
    built."""
    exchange = build().exchange_accelerator
    exchange()
    try:
        yield
    finally:
        exchange()


@functools.lru_cache(maxsize=None)
def build() -> ctypes.CDLL:
    """The library, loaded. Raises Limit where there is no compiler, or it refuses."""
    home = os.path.dirname(torch.__file__)
    with tempfile.TemporaryDirectory() as folder:
        built = os.path.join(folder, "accelerator.so")
        command = ["c++", "-shared", "-fPIC", "-O0", "-w", "-std=c++20", "-D_GLIBCXX_USE_CXX11_ABI=%d" % _abi()]
        command += ["-I" + os.path.join(home, "include"), _SOURCE, "-o", built, "-L" + os.path.join(home, "lib")]
        command += ["-lc10", "-ltorch_cpu"]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=_SECONDS
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise Limit(_NEEDS + "could not be run: %s" % error) from error
        if done.returncode:
            raise Limit(_NEEDS + "refuses torch's headers: " + done.stderr.strip()[:500])
        return ctypes.CDLL(built)


def _abi() -> bool:
    return bool(torch._C._GLIBCXX_USE_CXX11_ABI)
