"""Files that hold PTX: logs of several kernels, and heads of results."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.ptx.ptx_file import gpu_name, holds_ptx, ptx_in, read_ptx, written
from shrinkray_gpu.ptx.ptx_replay import fault_told, replay_ptx

RULE = "=" * 64
PTX = ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry {}()\n{{\nret;\n}}\n"
MODULE = "module {\n  tt.func public @k() {\n    tt.return\n  }\n}\n"


def command(flags: str) -> str:
    return f"Repro command: /x/bin/ptxas {flags} --gpu-name=sm_90a /tmp/t.ptx -o /tmp/t.ptx.o\n"


@pytest.mark.parametrize(
    "log",
    [
        f"{RULE}\n{PTX.format('a')}{RULE}\n{command('-O0')}{RULE}\n{PTX.format('b')}{RULE}\n{command('-O2')}",
        f"{RULE}\n{command('-O0')}\n{PTX.format('a')}{RULE}\n{command('-O0')}\n"
        f"{RULE}\n{command('-O2')}\n{PTX.format('b')}{RULE}\n{command('-O2')}",
        f"// ptxas -arch=sm_80 -O0 FILE\n{PTX.format('a')}{PTX.format('b')}{command('-O2')}",
    ],
)
def test_the_flags_are_those_of_the_last_kernel(log: str) -> None:
    found = ptx_in(log, Path("a.log"))
    assert found.flags == ("-O2",) and " b(" in found.text and found.arch == "sm_90a"


def test_the_head_is_what_stands_right_above() -> None:
    head = "// ptxas -arch=sm_90 -O1 FILE\n// Fault: exit status 3\n// ptxas 12.8.93: fails\n"
    found = ptx_in(head + PTX.format("a"), Path("a.ptx"))
    assert (found.flags, found.fault, found.arch) == (("-O1",), "exit status 3", "sm_90")
    far = ptx_in(f"{head}something else\n{PTX.format('a')}", Path("a.log"))
    assert (far.flags, far.fault, far.arch) == ((), "", "")


def test_a_log_is_of_what_comes_last(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    for text, is_ptx in ((PTX.format("a") + MODULE, False), (MODULE + PTX.format("a"), True)):
        log.write_text(text)
        assert holds_ptx(log) == is_ptx


def test_the_arch_of_the_head_comes_before_the_target() -> None:
    text = written(PTX.format("a").replace("sm_90a", "sm_80"), (), arch="sm_90", fault="exit status 3", releases=())
    assert gpu_name(ptx_in(text, Path("a.ptx")), "", Path("a.ptx")) == "sm_90"


def test_a_ptxas_without_an_end_has_the_time_of_the_head(tmp_path: Path) -> None:
    text = written(PTX.format("a"), (), arch="sm_90a", fault="no end in 0.5 s", releases=())
    (path := tmp_path / "a.ptx").write_text(text)
    (slow := tmp_path / "ptxas").write_text('#!/bin/sh\n[ "$1" = --version ] || exec sleep 5\n')
    slow.chmod(0o755)
    fault = fault_told(ptx_in(text, path))
    assert fault is not None and str(fault) == "no end"
    found = replay_ptx(path, {"slow": slow})
    assert found.as_told and found.rows[0].outcome == "fails"


def test_other_bytes_and_a_byte_order_mark(tmp_path: Path) -> None:
    (marked := tmp_path / "a.ptx").write_text(PTX.format("a"), encoding="utf-8-sig")
    (latin := tmp_path / "a.log").write_bytes("für\n".encode("latin-1") + PTX.format("a").encode())
    assert read_ptx(marked).target == read_ptx(latin).target == "sm_90a" and holds_ptx(latin)
