"""A tile that the host computes and the compiler refuses: the computation stays, by whatever way it is passed."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.oracle import Answer
from tests.e2e.command import only, shrink
from tests.e2e.conftest import Judged

HEAD = '''\
import argparse
import dataclasses
import functools
import multiprocessing

import torch
import triton
import triton.language as tl


@triton.jit
def row_sum(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    values = tl.load(x + row * n + columns, mask=columns < n, other=0.0)
    tl.store(out + row, tl.sum(values, axis=0))


def launch(x, block):
    out = torch.zeros(len(x), device="cuda")
    row_sum[(len(x),)](x, out, x.shape[1], BLOCK=block)
    return out


def data(size):
    return torch.ones(4, size, device="cuda")


'''
PLAIN = """\
def quarters(x):
    rows, size = x.shape
    return launch(x, size // 4)


for size in (1024, 1000):
    print(quarters(data(size)).sum().item())
"""
DATACLASS = """\
@dataclasses.dataclass
class Config:
    size: int = 1000
    parts: int = 4

    @property
    def block(self):
        return self.size // self.parts


config = Config()
print(launch(data(config.size), config.block).sum().item())
"""
ARGPARSE = """\
parser = argparse.ArgumentParser()
parser.add_argument("--size", type=int, default=1000)
parser.add_argument("--block", type=int)
args = parser.parse_args()
print(launch(data(args.size), args.block or args.size // 4).sum().item())
"""
PARTIAL = """\
def build(size, parts=4):
    return functools.partial(launch, block=size // parts)


print(build(1000)(data(1000)).sum().item())
"""
ROOM = """\
def tile(x):
    block = triton.next_power_of_2(x.shape[1])
    if x.shape[0] > 3:
        block += 128
    return block


print(launch(data(1000), tile(data(1000))).sum().item())
"""
POOL = """\
def work(size):
    return launch(data(size), size // 4).sum().item()


if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(1) as pool:
        print(pool.map(work, [1000]))
"""
SHAPES = """\
import torch
import triton
import triton.language as tl


@triton.jit
def project(x, weights, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    at = tl.arange(0, 16)
    left = tl.load(x + at[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :])
    right = tl.load(weights + tl.arange(0, ROWS)[:, None] * 16 + at[None, :])
    tl.store(out + at[:, None] * 16 + at[None, :], tl.dot(left, right))


KERNELS = {"project": project}


def project_all(size, how="project"):
    x = torch.zeros(16, triton.next_power_of_2(size // 2 + 1), device="cuda")
    weights = torch.zeros(triton.next_power_of_2(size) // 2, 16, device="cuda")
    out = torch.zeros(16, 16, device="cuda")
    KERNELS[how][(1,)](x, weights, out, ROWS=weights.shape[0], COLUMNS=x.shape[1])
    return out.sum().item()


for size in (100, 128):
    print(size, project_all(size))
"""
RANGE = "arange's range must be a power of 2"
SHORT = only("decorations", "statements", "constants", "arguments", "inlining", "tiles")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "wrong", "right"),
    [
        pytest.param(PLAIN, "size // 4", "triton.next_power_of_2(size // 4)", id="plain"),
        pytest.param(DATACLASS, "self.size // self.parts", "256", id="dataclass"),
        pytest.param(ARGPARSE, "1000 // 4", "triton.next_power_of_2(1000 // 4)", id="argparse"),
        pytest.param(PARTIAL, "size // parts", "triton.next_power_of_2(size // parts)", id="partial"),
        pytest.param(ROOM, "block += 128", "block *= 2", id="augmented"),
    ],
)
def test_the_computation_stays(program: str, wrong: str, right: str, tmp_path: Path, judged: Judged) -> None:
    pytest.importorskip("triton")
    (tmp_path / "failing.py").write_text(HEAD + program)
    asked = ("--oracle", RANGE, "--arch", "sm_90", "--jobs", "1", *SHORT, "--json")
    said = shrink("failing.py", *asked, cwd=tmp_path, interpreters=program is PLAIN)
    assert said.code == 0, said
    assert "hangs on what the host computes" in said.result["lifted"]
    repro = (tmp_path / "repro_failing.py").read_text()
    assert len(repro) < len(HEAD + program) and repro.count(wrong) == 1, repro
    cured = judged(repro.replace(wrong, right), RANGE)
    assert cured.answer is Answer.PASSES and "it ends well (exit 0)" in cured.why, cured


@pytest.mark.slow
def test_of_another_process_it_is_told_and_the_number_stays_the_launch_s(tmp_path: Path, judged: Judged) -> None:
    pytest.importorskip("triton")
    (tmp_path / "failing.py").write_text(HEAD + POOL)
    asked = ("--oracle", RANGE, "--arch", "sm_90", "--jobs", "1", *SHORT, "--json")
    said = shrink("failing.py", *asked, cwd=tmp_path)
    assert said.code == 0, said
    assert "The program computes BLOCK, and the mistake may be there" in said.result["lifted"]
    repro = (tmp_path / "repro_failing.py").read_text()
    head, given, number = repro.rpartition("BLOCK=")
    assert given and "tl.arange(0, BLOCK)" in head, repro
    cured = judged(f"{head}{given}{'256' + number[number.index(')') :]}", RANGE)
    assert cured.answer is Answer.PASSES and "it ends well (exit 0)" in cured.why, cured


@pytest.mark.slow
def test_two_shapes_that_disagree_stay_computed_though_a_launch_before_would_be_refused_with_another(
    tmp_path: Path, judged: Judged
) -> None:
    pytest.importorskip("triton")
    (tmp_path / "failing.py").write_text(SHAPES)
    words, wrong = "equal reduction dimensions", "triton.next_power_of_2(size) // 2"
    said = shrink("failing.py", "--oracle", words, "--arch", "sm_90", "--jobs", "1", *SHORT, "--json", cwd=tmp_path)
    assert said.code == 0 and "hangs on what the host computes" in said.result["lifted"], said
    repro = (tmp_path / "repro_failing.py").read_text()
    assert "print" not in repro and repro.count(wrong) == 1, repro
    cured = judged(repro.replace(wrong, "triton.next_power_of_2(size // 2 + 1)"), words)
    assert cured.answer is Answer.PASSES and "it ends well (exit 0)" in cured.why, cured


GATED = """\
import torch
import triton
import triton.language as tl


@triton.jit
def row_mean(x, out, width, BLOCK: tl.constexpr, WIDE: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    if WIDE:
        total = 0
        for start in range(0, width, BLOCK):
            total += tl.sum(tl.load(x + start + columns, mask=start + columns < width, other=0.0))
    else:
        total = tl.sum(tl.load(x + columns, mask=columns < width, other=0.0))
    tl.store(out, total / width)


def mean_of(width, limit=512):
    x, out = torch.zeros(width, device="cuda"), torch.zeros(1, device="cuda")
    block = min(triton.next_power_of_2(width), limit)
    row_mean[(1,)](x, out, width, BLOCK=block, WIDE=block < width)
    return out


for width in (100, 1280):
    print(width, mean_of(width))
"""


@pytest.mark.slow
def test_a_switch_that_leads_to_what_is_refused_keeps_no_host_code_and_stays_a_switch(
    tmp_path: Path, judged: Judged
) -> None:
    pytest.importorskip("triton")
    (tmp_path / "failing.py").write_text(GATED)
    words = "Loop-carried variable total has initial type"
    said = shrink("failing.py", "--oracle", words, "--arch", "sm_90", "--jobs", "1", *SHORT, "--json", cwd=tmp_path)
    assert said.code == 0 and said.result["lifted"].startswith("lifted: the launch of row_mean alone"), said
    repro = (tmp_path / "repro_failing.py").read_text()
    assert "if WIDE:" in repro and "def mean_of" not in repro, repro
    cures = [("WIDE=True", "WIDE=False"), ("total = 0\n", "total = 0.0\n")]
    for wrong, right in cures:
        assert repro.count(wrong) == 1, repro
        cured = judged(repro.replace(wrong, right), words)
        assert cured.answer is Answer.PASSES, (right, cured)
