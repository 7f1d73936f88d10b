"""`shrink crash.ptx` and `shrink replay repro.ptx` as their users call them; PTX as the second result of a program."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from shrinkray_gpu.events import printed_result
from tests.e2e.command import only, refused, shrink
from tests.ptx.samples import CRASH, REFUSED, tool

PROGRAM = """\
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x):
    at = x + tl.arange(0, 32)
    tl.store(at, tl.inline_asm_elementwise("rsqrt.approx.f32x2 $0, $1;", "=f,f", [tl.load(at)], tl.float32, True, 1))


kernel[(1,)](torch.zeros(32, device="cuda"))
"""


@pytest.fixture
def crash(tmp_path: Path) -> Path:
    (tmp_path / "crash.ptx").write_text(CRASH)
    (tmp_path / "healthy.ptx").write_text(CRASH.replace("f32x2", "f32"))
    return tmp_path


def test_a_file_that_ptxas_refuses(crash: Path) -> None:
    words = ("crash.ptx", "--arch", "sm_90", "--oracle", "Unexpected instruction", "--ptxas", str(tool()), "--json")
    said = shrink(*words, "--", "-O1", cwd=crash, report=True)
    told = printed_result(said.out)
    repro = (crash / "repro_crash.ptx").read_text()
    assert said.code == 0 and told["text"] == repro and told["instructions"] == [13, 2] and told["fault"] == REFUSED
    assert repro.startswith("// ptxas -arch=sm_90a -O1 FILE\n") and ": fails\n" in repro
    again = shrink("replay", "repro_crash.ptx", "--ptxas", str(tool()), cwd=crash)
    assert again.code == 0 and "fails" in again.out
    healthy = shrink("replay", "healthy.ptx", "--json", cwd=crash)
    (row,) = json.loads(healthy.out)
    assert healthy.code == 0 and row["outcome"] == "passes" and row["code"] > 100 and not row["spills"]


def test_a_result_of_any_name_is_replayed_and_the_environment_names_another_gpu(
    crash: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHRINK_ARCH", "sm_80")
    said = shrink("crash.ptx", "--ptxas", str(tool()), "--output", "my result", cwd=crash)
    assert said.code == 0 and "shrink replay 'my result'" in said.out, said.err
    assert shrink("replay", "my result", "--ptxas", str(tool()), cwd=crash).code == 0


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("healthy.ptx",), 3, "is assembled for sm_90a without a fault"),
        (("crash.ptx", "--oracle", "out of memory"), 3, "fails otherwise"),
        (("crash.ptx", "--arch", "sm_80"), 2, "is not assembled for sm_80"),
        (("crash.ptx", "--arch", "gfx942"), 2, "no such architecture"),
        (("crash.ptx", "--control", "num_stages=1"), 2, "--control is for programs"),
        (("crash.ptx", "--ptxas", "./none"), 2, "no program that can be run"),
        (("crash.ptx", "--ptxas", "new"), 2, "that is no release of CUDA"),
        (("crash.ptx", "num_warps=4"), 2, "options of ptxas only"),
        (("crash.ptx", "--oracle", "exit:1"), 2, "only the compiler's words"),
        (("gone.ptx",), 2, "cannot read gone.ptx"),
        (("replay", "crash.ptx", "--triton", "3.6.0"), 2, "--triton"),
        (("bisect", "crash.ptx", "--good", "12.4", "--bad", "13.0"), 2, "shrink replay crash.ptx --ptxas all"),
    ],
)
def test_bad_input_is_one_line(crash: Path, words: tuple[str, ...], code: int, message: str) -> None:
    said = refused(*words, cwd=crash)
    assert said.code == code and message in said.message, said.err
    assert "\n" not in said.message
    assert sorted(path.name for path in crash.iterdir()) == ["crash.ptx", "healthy.ptx"]


def test_releases_without_a_network(crash: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHRINK_ENVIRONMENTS", str(crash / "environments"))
    for name, value in {
        "PIP_INDEX_URL": "http://127.0.0.1:9/",
        "PIP_RETRIES": "0",
        "PIP_CONFIG_FILE": "/dev/null",
    }.items():
        monkeypatch.setenv(name, value)
    said = refused("replay", "crash.ptx", "--ptxas", "12.8", cwd=crash)
    assert said.code == 2 and "is the network there?" in said.message and "\n" not in said.message


def test_the_second_result_of_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    (other := tmp_path / "environments" / "ptxas-99.0" / "ptxas").parent.mkdir(parents=True)
    other.write_text(f'#!/bin/sh\nexec {tool()} "$@"\n')
    other.chmod(other.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("SHRINK_ENVIRONMENTS", str(tmp_path / "environments"))
    (tmp_path / "a.py").write_text(PROGRAM)
    said = shrink("a.py", "--arch", "sm_90", *only("statements"), "--oracle", f"compile:{REFUSED}", cwd=tmp_path)
    assert said.code == 0 and "the same fault as PTX" in said.err, said.err
    repro = (tmp_path / "repro_a.py.ptx").read_text()
    assert "-lineinfo" in repro.partition("\n")[0] and "rsqrt.approx.f32x2" in repro and "st.global" not in repro
    assert shrink("replay", "repro_a.py.ptx", "--ptxas", str(other), cwd=tmp_path).code == 0
