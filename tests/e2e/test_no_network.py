"""A reduction opens no connection: it ends as ever where each socket of the internet's is refused."""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.command import SHRINK, environment, only

NO_NEW_PRIVS, SECCOMP, FILTER = 38, 22, 2
ALLOW, ERRNO = 0x7FFF0000, 0x00050000 | 13
SOCKET = {"x86_64": 41, "aarch64": 198}.get(os.uname().machine)
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
NUMBER, FAMILY = 0, 16
"""Where in what a filter is told the number of the call is, and its first argument."""
NARROW = """\
import torch
import triton
import triton.language as tl

sizes = {"WIDTH": 8, "DEPTH": 4}


@triton.jit
def kernel(x, WIDTH: tl.constexpr, DEPTH: tl.constexpr):
    tl.static_assert(WIDTH >= 16, "too narrow")
    tl.store(x + tl.arange(0, DEPTH), 1.0)


kernel[(1,)](torch.zeros(4, device="cuda"), **sizes)
torch.cuda.synchronize()
"""
ASKS = "import socket, sys\nfor family in (socket.AF_INET, socket.AF_INET6):\n    socket.socket(family)\n"


def refuse_sockets() -> None:
    """From here on, in this process and all that it starts."""
    program = [
        (LOAD, 0, 0, NUMBER),
        (EQUAL, 0, 4, SOCKET),
        (LOAD, 0, 0, FAMILY),
        (EQUAL, 1, 0, socket.AF_INET),
        (EQUAL, 0, 1, socket.AF_INET6),
        (RETURN, 0, 0, ERRNO),
        (RETURN, 0, 0, ALLOW),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))
    libc = ctypes.CDLL(None)
    libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0)
    assert libc.prctl(SECCOMP, FILTER, struct.pack("HxxxxxxP", len(program), ctypes.addressof(code)), 0, 0) == 0


@pytest.mark.skipif(SOCKET is None, reason="the number of the system call is not known for this processor")
def test_a_reduction_needs_no_socket_of_the_internet(tmp_path: Path) -> None:
    asked = subprocess.run([sys.executable, "-c", ASKS], preexec_fn=refuse_sockets, capture_output=True, text=True)
    assert "PermissionError" in asked.stderr, "the filter refuses nothing"
    (tmp_path / "failing.py").write_text(NARROW)
    done = subprocess.run(
        [*SHRINK, "failing.py", "--arch", "sm_90", "--oracle", "compile:too narrow", *only("statements"), "--zip"],
        cwd=tmp_path, env=environment(), preexec_fn=refuse_sockets, capture_output=True, text=True, timeout=280,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "compile:too narrow" in done.stdout and "in 1 of 1 clean runs" in done.stdout
    repro = (tmp_path / "repro_failing.py").read_text()
    assert "static_assert" in repro and len(repro) < len(NARROW)
    assert list(tmp_path.glob("failing.shrink/*.zip"))
