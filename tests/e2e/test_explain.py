"""`shrink explain FILE` without a GPU: the card, JSON, exit codes, nothing written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.command import refused, shrink

SMALL = Path(__file__).parents[2] / "corpus" / "tma_misaligned" / "repro_tma_misaligned.py"
"""The flagship's repro: its compiler is experimented on, and each experiment compiles all of the kernel."""


def contents(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_the_card_names_all_that_a_maintainer_asks_for(tmp_path: Path) -> None:
    before = contents(SMALL.parent)
    said = shrink("explain", SMALL, "--arch", "sm_90", cwd=tmp_path)
    assert said.code == 0, said.err
    for fact in (
        "misaligned address (CUDA error 716)",
        "kernel       kernel",
        "UTMALDG at kernel+0x",
        "access       shared memory",
        "repro_tma_misaligned.py:11  grad2 = tl.exp(student.load([0, 0]))",
        "construct    descriptor load",
        ".extern .shared .align 16 .b8 global_smem[];",
        "address in shared memory 16 mod 128",
        "grid (1,), num_warps=4",
        "core dump    missing: needs the real GPU",
        "verdict      compiler or below",
        "Triton ",
    ):
        assert fact in said.out, said.out
    assert len(said.out.splitlines()) < 50
    assert contents(SMALL.parent) == before and not list(tmp_path.iterdir())


def test_a_python_fault_with_arguments_and_environment(tmp_path: Path) -> None:
    script = tmp_path / "failing.py"
    script.write_text("import os, sys\nprint([1][int(sys.argv[1]) + int(os.environ['MORE'])])\n")
    said = shrink("explain", script, "--env", "MORE=2", "--json", "--", "5", cwd=tmp_path)
    assert said.code == 0, said.err
    seen = json.loads(said.out)
    assert (seen["fault"]["phase"], seen["fault"]["klass"], seen["place"]["line"]) == ("python", "IndexError", 2)
    assert seen["place"]["shown"] == "failing.py"
    assert seen["place"]["text"].startswith("print([1][int(sys.argv[1])") and seen["versions"]["triton"]
    assert contents(tmp_path) == {"failing.py"}


def test_of_a_hang_it_says_who_is_at_work(tmp_path: Path) -> None:
    script = tmp_path / "failing.py"
    script.write_text("while True:\n    pass\n")
    said = shrink("explain", script, "--timeout", "2", cwd=tmp_path)
    assert said.code == 0, said.err
    assert said.out.startswith("fault        timeout fault: no end within the time limit\n")
    assert "the host is at work, the GPU is not" in " ".join(said.out.split())


def test_a_program_without_a_fault_is_told_so(tmp_path: Path) -> None:
    script = tmp_path / "fine.py"
    script.write_text("print('fine')\n")
    said = shrink("explain", script, cwd=tmp_path)
    assert (said.code, said.out) == (3, "")
    assert said.message.startswith("shrink: fine.py shows no fault. The program ended well (exit 0)")


LOADED = """\
import torch
import triton
import triton.language as tl

@triton.jit
def pick(table, index, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(table + tl.load(index + lanes)))

scores = torch.rand(16, 300_000, device="cuda")
index = (scores * 100).sum(1).to(torch.int64)
pick[(1,)](torch.zeros(100, device="cuda"), index, torch.empty(16, device="cuda"), BLOCK=16)
torch.cuda.synchronize()
"""


def test_what_hangs_on_values_that_nobody_computed_is_told_as_such(tmp_path: Path) -> None:
    """The indices are a sum over more elements than the virtual GPU computes."""
    script = tmp_path / "loaded.py"
    script.write_text(LOADED)
    said = shrink("explain", script, "--arch", "sm_90", cwd=tmp_path)
    assert said.code == 3 and "Whether pick leaves its tensors only a GPU can tell (" in said.message


def test_another_fault_than_the_one_asked_for(tmp_path: Path) -> None:
    script = tmp_path / "failing.py"
    script.write_text("raise ValueError('other')\n")
    said = shrink("explain", script, "--oracle", "exception:KeyError", cwd=tmp_path)
    assert said.code == 3 and "does not show 'exception:KeyError'" in said.message


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "which file?"),
        (("missing.py",), "missing.py: cannot be read"),
        (("failing.py", "--arch", "hopper"), "such as sm_80, sm_90, sm_100 or gfx942"),
        (("failing.py", "--env", "nothing"), "write it as NAME=VALUE"),
        (("failing.py", "--python", "/bin/true"), "not a Python interpreter"),
        (("failing.py", "--oracle", "sanitizer:nothing"), "names no tool of compute-sanitizer"),
        (("failing.py", "--oracle", "sanitizer:memcheck", "--arch", "sm_90"), "needs a GPU"),
        (("failing.py", "--oracle", "differs:num_stages=1"), "about several runs"),
        (("failing.py", "--oracle", "script:/bin/true"), "runs the program itself"),
        (("failing.py", "--oracle", "timeout"), "needs --timeout"),
        (("failing.py", "--timeout", "nan"), "--timeout nan"),
        (("failing.py", "--triton", "latest"), "--triton latest: that is no version; write 3.6.0"),
        (("failing.py", "--ptxas", "3.6.0"), "--ptxas 3.6.0: that is no release of CUDA; write 12.4"),
        (("failing.py", "--ptxas", ","), "names no release"),
        (("--unknown", "failing.py"), "No such option"),
        (("failing.py", "--intermitent"), "Did you mean '--intermittent'?"),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    (tmp_path / "failing.py").write_text("1 / 0\n")
    said = refused("explain", *words, cwd=tmp_path)
    assert (said.code, said.out) == (2, "")
    assert said.message.startswith("shrink: ") and "\n" not in said.message
    assert message in said.message


ROPE = """\
import triton
import triton.language as tl


@triton.jit
def rope_kernel(x, y, rows, BLOCK: tl.constexpr):
    table = tl.make_tensor_descriptor(y, [rows, 4], [4, 1], [1, BLOCK])
    table.store([0, 0], tl.load(x + tl.arange(0, BLOCK))[None, :])
"""
CALLER = """\
import torch
from kernels.rope import rope_kernel

x = torch.ones(8, device="cuda", dtype=torch.float16)
rope_kernel[(1,)](x, torch.empty_like(x), 8, BLOCK=4)
torch.cuda.synchronize()
"""


def test_of_two_files_of_one_name_it_is_told_which_one_has_the_line(tmp_path: Path) -> None:
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "rope.py").write_text(ROPE)
    (tmp_path / "rope.py").write_text(CALLER)
    said = shrink("explain", tmp_path / "rope.py", "--arch", "sm_90", cwd=tmp_path)
    rows = {line[:12].strip(): line[12:].strip() for line in said.out.splitlines()}
    assert rows["line"].startswith("kernels/rope.py:7  table = tl.make_tensor_descriptor")
    assert rows["verdict"].startswith("kernel source at kernels/rope.py:7 (")
    assert rows["reached"] == "rope.py:5"
