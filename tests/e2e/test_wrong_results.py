"""A wrong result by the words of its assertion: the kernel, what it is held against and the mistake are still there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shrinkray_gpu.oracle import Answer
from shrinkray_gpu.runner.inside.launches.launch_log import INTERPRETED
from tests.e2e.command import only, shrink
from tests.e2e.conftest import Judged

INNOCENT = Path(__file__).parents[2] / "benchmarks" / "wrong_results" / "innocent"
OUTSIDE = ("--arch", "sm_90")
SOON = only("statements", "definitions", "constants", "inlining", "observed", "loops")
SCORES = '''"""Scores of a small head, held against torch's for a few shapes."""
import argparse

import torch
import triton
import triton.language as tl


@triton.jit
def scores(q, k, out, n, d, scale, BLOCK: tl.constexpr):
    row, dims, keys = tl.program_id(0), tl.arange(0, BLOCK), tl.arange(0, BLOCK)
    one = tl.load(q + row * d + dims, mask=dims < d, other=0.0)
    all = tl.load(k + keys[:, None] * d + dims[None, :], mask=(keys[:, None] < n) & (dims[None, :] < d), other=0.0)
    tl.store(out + row * n + keys, tl.sum(all * one[None, :], axis=1) * scale, mask=keys < n)


class Head:
    def __init__(self, dim, context):
        self.dim, self.context = dim, context
        self.scale = 1.0 / dim

    def __call__(self, q, k):
        out = torch.zeros(len(q), self.context, device=q.device)
        scores[(len(q),)](q, k, out, self.context, self.dim, self.scale, BLOCK=32)
        return out


given = argparse.ArgumentParser()
given.add_argument("--rows", type=int, default=2)
rows = given.parse_args().rows
for dim, context in ((1, 8), (24, 30)):
    q, k = torch.randn(rows, dim, device="cuda"), torch.randn(context, dim, device="cuda")
    expected = (q @ k.T) / dim**0.5
    torch.testing.assert_close(Head(dim, context)(q, k), expected, rtol=1e-3, atol=1e-4)
    print("dim", dim, "is right")
'''


HEAD = SCORES.split("given = argparse")[0]
BY_UNITTEST = f"""{HEAD}
import unittest


class ScoresTest(unittest.TestCase):
    rows = 2

    def setUp(self):
        self.dim, self.context = 24, 30
        self.q = torch.randn(self.rows, self.dim, device="cuda")
        self.k = torch.randn(self.context, self.dim, device="cuda")

    def test_nothing(self):
        self.assertEqual(self.rows, 2)

    def test_scores(self):
        actual = Head(self.dim, self.context)(self.q, self.k)
        self.assertEqual(actual.shape, (2, 30))
        torch.testing.assert_close(actual, (self.q @ self.k.T) / self.dim**0.5, rtol=1e-3, atol=1e-4)


unittest.main()
"""
BY_PYTEST = f"""{HEAD}
import pytest


@pytest.fixture(params=[1, 2])
def rows(request):
    yield request.param


@pytest.fixture
def inputs(rows):
    def make(dim, context):
        return torch.randn(rows, dim, device="cuda"), torch.randn(context, dim, device="cuda")
    return make


@pytest.mark.parametrize("dim, context", [(1, 8), pytest.param(24, 30, id="long")])
def test_scores(inputs, dim, context):
    q, k = inputs(dim, context)
    expected = (q @ k.T) / dim**0.5
    torch.testing.assert_close(Head(dim, context)(q, k), expected, rtol=1e-3, atol=1e-4)
"""
TOTALS = '''"""Running totals by doubling, of a few lengths."""
import torch
import triton
import triton.language as tl


@triton.jit
def add_before(x, out, n, shift, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    kept = at < n
    value = tl.load(x + at, mask=kept, other=0.0)
    before = tl.load(x + at - shift, mask=kept & (at >= shift), other=0.0)
    tl.store(out + at, value + before, mask=kept)


class Totals:
    def __init__(self, length, block=64):
        self.length, self.block = length, block

    def rounds(self):
        return self.length.bit_length() - 1

    def __call__(self, x):
        for number in range(self.rounds()):
            out = torch.zeros_like(x)
            add_before[(1,)](x, out, self.length, 2**number, BLOCK=self.block)
            x = out
        return x


for length in (16, 20):
    x = torch.ones(length, device="cuda")
    torch.testing.assert_close(Totals(length)(x), x.cumsum(0))
    print("length", length, "is right")
'''


@pytest.fixture(autouse=True)
def _libraries() -> None:
    pytest.importorskip("triton")


def test_the_host_s_mistake_stays_with_kernel_and_reference(tmp_path: Path, judged: Judged) -> None:
    (tmp_path / "failing.py").write_text(SCORES)
    words = ("failing.py", *OUTSIDE, "--oracle", "Tensor-likes are not close", *SOON)
    said = shrink(*words, cwd=tmp_path, interpreters=True)
    assert said.code == 0, said
    assert "the check that fails holds what scores wrote against values that no kernel made; 60 of 60" in said.err
    assert "same fault: " in said.out and "apart=0.001 passes" in said.out, said.out
    assert "weak oracle" not in said.out
    text = (tmp_path / "repro_failing.py").read_text()
    assert len(text.split()) < 145 and "argparse" not in text and "print" not in text, text
    assert "1.0 / 24" in text and "**0.5" in text.replace(" ", "") and "rtol=1e-3" in text, text
    as_it_is, with_the_fix = (
        judged(each, "mismatch", INTERPRETED) for each in (text, text.replace("1.0 / 24", "24**-0.5"))
    )
    assert as_it_is.faults and with_the_fix.answer is Answer.PASSES, (as_it_is, with_the_fix)


@pytest.mark.parametrize(
    "name, text, words",
    [("failing", BY_UNITTEST, ["failing.py"]), ("pytest_test_it", BY_PYTEST, ["-m", "pytest", "test_it.py"])],
)
def test_a_test_becomes_plain_statements(
    tmp_path: Path, judged: Judged, name: str, text: str, words: list[str]
) -> None:
    (tmp_path / words[-1]).write_text(text)
    said = shrink(*OUTSIDE, "--oracle", "Tensor-likes are not close", *SOON, *words, cwd=tmp_path, interpreters=True)
    assert said.code == 0, said
    left = (tmp_path / f"repro_{name}.py").read_text()
    words_left = set(re.findall(r"\w+", left))
    assert not {"unittest", "pytest", "request", "setUp"} & words_left, left
    assert "tl.store" in left and "test_nothing" not in left, left
    as_it_is, with_the_fix = (
        judged(each, "mismatch", INTERPRETED) for each in (left, left.replace("1.0 / ", "1.0 / 24**0.5 + 0.0 * "))
    )
    assert "1.0 / " in left and as_it_is.faults and with_the_fix.answer is Answer.PASSES, (left, with_the_fix)


def test_how_often_a_loop_goes_round_stays_computed_where_the_check_hangs_on_it(tmp_path: Path, judged: Judged) -> None:
    """Four rounds write the very same as the rounds that the host counts."""
    (tmp_path / "failing.py").write_text(TOTALS)
    passes = only("statements", "loops", "constants", "inlining", "expressions")
    said = shrink("failing.py", *OUTSIDE, "--oracle", "Tensor-likes are not close", *passes, cwd=tmp_path)
    assert said.code == 0, said
    text = (tmp_path / "repro_failing.py").read_text()
    assert "bit_length() - 1" in text and "print" not in text, text
    with_the_fix = judged(text.replace("bit_length() - 1", "bit_length()"), "mismatch", INTERPRETED)
    assert with_the_fix.answer is Answer.PASSES, with_the_fix


def test_a_check_of_what_no_kernel_wrote_is_told_as_such(tmp_path: Path) -> None:
    text = SCORES.replace("assert_close(Head(dim, context)(q, k), expected", "assert_close(q @ k.T, expected")
    (tmp_path / "failing.py").write_text(text.replace("    expected =", "    Head(dim, context)(q, k)\n    expected ="))
    words = ("failing.py", *OUTSIDE, "--oracle", "Tensor-likes are not close")
    said = shrink(*words, cwd=tmp_path)
    assert said.code == 5, said
    assert "fails a check of values that no kernel made" in said.message and "--no-guards" in said.message
    assert shrink(*words, "--check", "--no-guards", cwd=tmp_path).code == 0


HELD = "    torch.testing.assert_close(Head(dim, context)(q, k), expected, rtol=1e-3, atol=1e-4)\n"
ASIDE = """    import threading
    seen = []
    held = threading.Thread(target=lambda: seen.append(torch.allclose(Head(dim, context)(q, k), expected)))
    held.start()
    held.join()
    assert seen[0], "the scores mismatch"
"""


def test_a_check_that_cannot_be_followed_is_asked_about(tmp_path: Path) -> None:
    assert HELD in SCORES
    (tmp_path / "failing.py").write_text(SCORES.replace(HELD, ASIDE))
    said = shrink("failing.py", *OUTSIDE, "--oracle", "AssertionError: the scores mismatch", cwd=tmp_path)
    assert said.code == 5, said
    assert "after launches of scores" in said.message and "not in another thread" in said.message
    assert "--oracle mismatch" in said.message and "--no-guards" in said.message


def test_mismatch_asks_for_a_failing_check(tmp_path: Path) -> None:
    (tmp_path / "failing.py").write_text(
        SCORES.replace("    torch.testing", "    assert len(q) == 3\n    torch.testing")
    )
    said = shrink("failing.py", *OUTSIDE, "--check", "--oracle", "mismatch", cwd=tmp_path)
    assert said.code == 3 and "no check of tensors that a kernel wrote was seen to fail" in said.message, said


def test_a_stale_result_is_followed_too(tmp_path: Path) -> None:
    given, once = "Head(dim, context)(q, k)", "kept[0] if kept else kept.append(Head(dim, context)(q, k)) or kept[0]"
    stale = SCORES.replace(given, once).replace("((1, 8), (24, 30))", "((1, 8), (1, 8))")
    (tmp_path / "failing.py").write_text(stale.replace("for dim, context", "kept = []\nfor dim, context"))
    said = shrink("failing.py", *OUTSIDE, "--check", "--oracle", "mismatch", cwd=tmp_path)
    assert said.code == 0, said


SUMS = """
import torch
import triton
import triton.language as tl


@triton.jit
def softcap_kernel(x_ptr, y_ptr, n_cols, stride, cap, temperature, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    top = -float("inf")
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + cols, mask=cols < n_cols, other=-float("inf"))
        e = tl.exp(2.0 * x / cap)
        t = cap * (1.0 - 2.0 / (e + 1.0))
        t = tl.where(cols < n_cols, t, -float("inf"))
        top = tl.maximum(top, tl.max(t, axis=0))
    total = 0.0
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + cols, mask=cols < n_cols, other=0.0)
        e = tl.exp(2.0 * x / cap)
        t = cap * (1.0 - 2.0 / (e + 1.0))
        p = tl.exp((t - top) / temperature)
        total = tl.sum(tl.where(cols < n_cols, p, 0.0), axis=0)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + cols, mask=cols < n_cols, other=0.0)
        e = tl.exp(2.0 * x / cap)
        t = cap * (1.0 - 2.0 / (e + 1.0))
        p = tl.exp((t - top) / temperature)
        tl.store(y_ptr + row * stride + cols, p / total, mask=cols < n_cols)


x = torch.randn(5, 100, device="cuda")
y = torch.empty_like(x)
softcap_kernel[(5,)](x, y, 100, x.stride(0), 5.0, 0.7, BLOCK=32)
torch.testing.assert_close(y, torch.softmax(5.0 * torch.tanh(x / 5.0) / 0.7, dim=1))
"""


def test_what_a_kernel_only_reads_is_no_work_of_its_own(tmp_path: Path) -> None:
    """Names of values stand for others in each of its loops, so that its IR seems to write to its input as well."""
    (tmp_path / "failing.py").write_text(SUMS)
    said = shrink("failing.py", *OUTSIDE, "--check", "--oracle", "mismatch", cwd=tmp_path)
    assert said.code == 0, said


def test_a_reference_that_does_not_stand_is_told_and_not_reduced(tmp_path: Path) -> None:
    """Its sum of exponentials overflows in float32, as a library's fast path does; the kernel takes the maximum out."""
    (tmp_path / "failing.py").write_text((INNOCENT / "logsumexp_library.py").read_text())
    said = shrink("failing.py", *OUTSIDE, "--oracle", "log-sum-exp differs", cwd=tmp_path)
    assert said.code == 5, said
    assert "made again in float64 it agrees with what logsumexp_kernel wrote" in said.message
    assert "not finite in 8 of 8 elements" in said.message and "--no-guards" in said.message
    assert not (tmp_path / "repro_failing.py").exists()


STEPS = '''import torch
import triton
import triton.language as tl


@triton.jit
def momentum_step(p, g, m, n, lr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    new = 0.9 * tl.load(m + at, mask=at < n) + tl.load(g + at, mask=at < n)
    tl.store(m + at, new, mask=at < n)
    tl.store(p + at, tl.load(p + at, mask=at < n) - lr * new, mask=at < n)


class Momentum:
    def __init__(self, params, lr):
        self.params, self.lr = list(params), lr
        self.buffers = [torch.zeros_like(p) for p in self.params]

    @torch.no_grad()
    def step(self):
        for p, m in zip(self.params, self.buffers):
            momentum_step[(triton.cdiv(p.numel(), 64),)](p, p.grad, m, p.numel(), self.lr, BLOCK=64)


layer, other = torch.nn.Linear(8, 3).cuda(), torch.nn.Linear(8, 3).cuda()
other.load_state_dict(layer.state_dict())
ours = Momentum(layer.parameters(), 0.1)
theirs = torch.optim.SGD(other.parameters(), 0.1, momentum=0.9, weight_decay=0.1)
x = torch.randn(4, 8, device="cuda")
for each, optimizer in ((layer, ours), (other, theirs)):
    each(x).square().sum().backward()
    optimizer.step()
for a, b in zip(layer.parameters(), other.parameters()):
    torch.testing.assert_close(a, b)
'''


def test_no_kernel_comes_to_write_where_torch_would_refuse_it(tmp_path: Path, judged: Judged) -> None:
    """The fix adds weight decay to the gradient, or to the parameter in place. That needs `no_grad` as the original."""
    (tmp_path / "failing.py").write_text(STEPS)
    said = shrink("failing.py", *OUTSIDE, "--oracle", "Tensor-likes are not close", *SOON, cwd=tmp_path)
    assert said.code == 0, said
    text = (tmp_path / "repro_failing.py").read_text()
    (launch,) = re.findall(r"^( *)momentum_step\[.*\]\((.*?),", text, re.MULTILINE)
    mended = re.sub(r"^( *)(?=momentum_step\[)", rf"\1{launch[1]}.mul_(0.99)\n\1", text, flags=re.MULTILINE)
    verdict = judged(mended, "exception:RuntimeError", INTERPRETED)
    assert verdict.answer is Answer.PASSES, (text, verdict)


NORM = """
import torch
import triton
import triton.language as tl


@triton.jit
def norm(x, y, n, BLOCK: tl.constexpr):
    row, cols = tl.program_id(0), tl.arange(0, BLOCK)
    mask = cols < n
    v = tl.load(x + row * n + cols, mask=mask, other=0.0)
    mean = tl.sum(v) / n
    centred = tl.where(mask, v - mean, 0.0)
    var = tl.sum(centred / centred) / n
    tl.store(y + row * n + cols, (v - mean) / tl.sqrt(var + 1e-5), mask=mask)


x = torch.randn(4, 24, device="cuda")
y = torch.empty_like(x)
norm[(4,)](x, y, 24, 32)
torch.testing.assert_close(y, torch.nn.functional.layer_norm(x, (24,)), rtol=1e-3, atol=1e-3)
"""


def test_where_each_value_is_nan_none_stands_for_another(tmp_path: Path, judged: Judged) -> None:
    """`mask / mask` makes NaN as well, and what the fix needs was gone."""
    (tmp_path / "failing.py").write_text(NORM)
    passes = only("statements", "expressions", "standins", "assignments", "constants")
    said = shrink("failing.py", *OUTSIDE, "--oracle", "Tensor-likes are not close", *passes, cwd=tmp_path)
    assert said.code == 0 and "any other NaN would do as well" in said.err, said
    text = (tmp_path / "repro_failing.py").read_text()
    mended = re.sub(r"centred\s*/\s*centred", "centred * centred", text)
    assert mended != text and judged(mended, "mismatch", INTERPRETED).answer is Answer.PASSES, text
