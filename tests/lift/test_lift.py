"""Real scripts on the virtual GPU: the lifted script makes the very same launch, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shrinkray_gpu import lift
from shrinkray_gpu.reduction.size import measure
from shrinkray_gpu.runner.pool import Pool
from tests.lift.conftest import Lift, Lifted, same_launch

CORPUS = Path(__file__).parents[2] / "corpus"

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n"

TILES = """
@triton.jit
def add_tiles(src, dst, rows, cols, R: tl.constexpr, C: tl.constexpr, S: tl.constexpr):
    tiles = tl.make_tensor_descriptor(src, shape=[rows, cols], strides=[cols, 1], block_shape=[R, C])
    total = tl.zeros([R, C], tl.float32)
    for col in tl.range(0, cols, C, num_stages=S):
        total += tiles.load([tl.program_id(0) * R, col])
    tl.store(dst + tl.arange(0, R), tl.sum(total, axis=1))

triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
"""


def sole(found: Lifted) -> None:
    """The original makes one launch, and the lifted script the same."""
    assert found.original.failure is None or found.original.driver_error, found.original.stderr
    [launch] = found.original.launches
    same_launch(found.original, launch, found.again)


def test_the_corpus_case(lifted: Lift) -> None:
    source = (CORPUS / "tma_misaligned" / "failing.py").read_text()
    found = lifted(source)
    faulty = next(launch for launch in found.original.launches if launch.fault)
    assert len(found.original.launches) > 5
    same_launch(found.original, faulty, found.again)
    assert found.again.driver_error == 716 and found.again.launches[0].fault == faulty.fault
    assert measure(found.text) < measure(source)
    assert "class " not in found.text and "argparse" not in found.text
    assert ["randn" in text for text in found.texts] == [False, True]


def test_an_autotuned_kernel_is_lifted_with_its_config_alone(lifted: Lift) -> None:
    tuned = TILES.replace(
        "@triton.jit",
        """
@triton.autotune([triton.Config({"C": 4, "S": 4}, num_warps=2), triton.Config({"C": 64, "S": 2})], key=["cols"])
@triton.heuristics({"R": lambda a: 1})
@triton.jit""",
    )
    found = lifted(
        HEAD
        + tuned
        + 'add_tiles[lambda meta: (triton.cdiv(8, meta["R"]), 1)](torch.ones(8, 64, device="cuda"), '
        + 'torch.ones(8, device="cuda"), 8, 64)\ntorch.cuda.synchronize()\n'
    )
    faulty = next(launch for launch in found.original.launches if launch.fault)
    assert found.again.driver_error == 716 and found.again.launches[0].fault == faulty.fault
    assert "autotune" not in found.text and "heuristics" not in found.text and "lambda meta" not in found.text
    assert "add_tiles[(8,)](src, dst, 8, 64, " in found.text
    for word in ("R=1", "C=4", "S=4", "num_warps=2"):
        assert word in found.text


def test_helpers_and_constants_come_along_from_every_module(lifted: Lift, folder: Path) -> None:
    (folder / "near.py").write_text(
        "import triton\nimport triton.language as tl\nSCALE = tl.constexpr(3)\n"
        "@triton.jit\ndef shift(x):\n    return x + SCALE\n"
    )
    (folder / "far.py").write_text(
        "import triton\nimport triton.language as tl\nfrom triton.language.extra import libdevice\n"
        "SCALE = tl.constexpr(5)\n"
        "@triton.jit\ndef shift(x):  # not the other one\n    return libdevice.exp(x * SCALE)\n"
    )
    found = lifted(
        """
import near
import far as away
import torch, triton
from triton import language as L, jit
from near import shift
import math

TYPE = L.float32
LIMIT = L.constexpr(7)
def helper_of_the_host(): return math.pi

@jit
def both(x, unused: torch.Tensor, FACTOR: L.constexpr = LIMIT):
    i = L.arange(0, 64)
    y = shift(L.load(x + i)).to(TYPE) * LIMIT * FACTOR
    L.store(x + i, away.shift(y) + near.SCALE)

both[(1,)](torch.ones(64, device="cuda"), 1)
torch.cuda.synchronize()
"""
    )
    sole(found)
    assert (
        "Tensor" not in found.text
        and "near" not in found.text
        and "away" not in found.text
        and "host" not in found.text
    )
    assert "SCALE = tl.constexpr(3)" in found.text and "SCALE_2 = tl.constexpr(5)" in found.text
    assert "def shift(x)" in found.text and "def shift_2(x)" in found.text


@pytest.mark.parametrize("bound", ["N: tl.constexpr = 3", "N: int = 3", "N: Final = 3", "N = 3"])
def test_a_global_that_triton_refuses_stays_one(lifted: Lift, bound: str) -> None:
    found = lifted(
        f"""
from typing import Final
import torch, triton
import triton.language as tl

{bound}

@triton.jit
def add(x):
    i = tl.arange(0, 32)
    tl.store(x + i, tl.load(x + i) + N)

add[(1,)](torch.ones(32, device="cuda"))
torch.cuda.synchronize()
"""
    )
    words = "Cannot access global variable N"
    assert words in found.original.stderr
    assert words in found.again.stderr


def test_a_global_that_triton_was_told_to_take_is_a_constexpr_wherever_the_script_goes(lifted: Lift) -> None:
    told = 'import os\nos.environ["TRITON_ALLOW_NON_CONSTEXPR_GLOBALS"] = "1"\n'
    kernel = "@triton.jit\ndef add(x):\n    tl.store(x, tl.load(x) + N)\n"
    found = lifted(told + HEAD + f'N = 3\n{kernel}add[(1,)](torch.ones(32, device="cuda"))\n')
    sole(found)
    assert "N = tl.constexpr(3)" in found.text and "os.environ" not in found.text


def test_a_kernel_made_by_a_function_keeps_what_it_closes_over(lifted: Lift) -> None:
    found = lifted(
        HEAD
        + """
def make(width, op):
    WIDTH = tl.constexpr(width)

    @triton.jit
    def kernel(x):
        i = tl.arange(0, WIDTH)
        tl.store(x + i, op(tl.load(x + i)))

    return kernel

@triton.jit
def double(v):
    return v * 2

def run():
    make(32, double)[(1,)](torch.ones(32, device="cuda"))

run()
torch.cuda.synchronize()
"""
    )
    sole(found)
    assert "WIDTH = tl.constexpr(32)" in found.text and "def op" not in found.text


def test_a_host_descriptor(lifted: Lift) -> None:
    found = lifted(
        HEAD
        + """
from triton.tools.tensor_descriptor import TensorDescriptor

@triton.jit
def add(tiles, dst, cols, C: tl.constexpr):
    total = tl.zeros([1, C], tl.float32)
    for col in tl.range(0, cols, C, num_stages=4):
        total += tiles.load([0, col])
    tl.store(dst + tl.arange(0, 1), tl.sum(total, axis=1))

x = torch.ones(8, 64, device="cuda")
add[(1,)](TensorDescriptor(x, [4, 64], [64, 1], [1, 4]), x, 64, C=4)
torch.cuda.synchronize()
"""
    )
    sole(found)
    assert found.again.driver_error == found.original.driver_error == 716
    assert "TensorDescriptor(tiles, [4, 64], [64, 1], [1, 4])" in found.text
    assert "set_allocator" not in found.text


@pytest.mark.parametrize(
    ("inputs", "recipe"),
    [
        ("torch.ones(8, 64, device='cuda')[:, :48]", 'torch.zeros(8, 64, device="cuda")'),
        ("torch.ones(64, 8, device='cuda').T", 'torch.zeros(64, 8, device="cuda")'),
        ("torch.ones(99, device='cuda')[3:]", 'torch.zeros(99, device="cuda")[3:]'),
        ("torch.ones(99, device='cuda')[::2]", 'torch.zeros(99, device="cuda")'),
        ("torch.ones(1, 4, device='cuda').expand(5, 4)", 'torch.zeros(4, device="cuda")'),
        (
            "torch.ones(5, 4, 6, dtype=torch.bfloat16, device='cuda')[:, 1:3, 2]",
            "torch.zeros(103, dtype=torch.bfloat16, ",
        ),
        ("torch.ones(5, 4, dtype=torch.bfloat16, device='cuda')", "torch.zeros(5, 4, dtype=torch.bfloat16, "),
    ],
)
def test_of_a_view_a_kernel_sees_the_memory_and_its_alignment(lifted: Lift, inputs: str, recipe: str) -> None:
    kernel = "@triton.jit\ndef touch(x_ptr, n):\n    tl.store(x_ptr, n)\n"
    found = lifted(f"{HEAD}{kernel}touch[(2, 3)]({inputs}, n=7)\ntorch.cuda.synchronize()\n")
    assert found.original.failure is None or found.original.driver_error, found.original.stderr
    [launch], [again] = found.original.launches, found.again.launches
    assert f"x = {recipe}" in found.text
    assert "touch[(2, 3)](x, 7)" in found.text
    residues = [[int(w) % 16 for w in re.findall(r"@(\d+)%128", run.args[0])] for run in (launch, again)]
    assert residues[0] == residues[1] and launch.args[0].split("[")[0] == again.args[0].split("[")[0]
    assert [c.ttir_key for c in found.again.compiles] == [c.ttir_key for c in found.original.compiles]


def test_arguments_in_one_storage_stay_in_one(lifted: Lift) -> None:
    found = lifted(
        HEAD
        + """
@triton.jit
def mix(a, b, c, d, e):
    tl.store(a, tl.load(b) + tl.load(c) + tl.load(d))

x = torch.ones(100, device="cuda")
mix[(1,)](x, x[10:20], x.view(10, 10).T, x.view(torch.int32)[4:], x)
torch.cuda.synchronize()
"""
    )
    assert found.original.failure is None or found.original.driver_error, found.original.stderr
    [launch] = found.original.launches
    [again] = found.again.launches
    strip = [word.partition(" #")[0] for word in launch.args]
    assert [word.partition(" #")[0] for word in again.args] == strip
    assert "buffer = torch.zeros(400, dtype=torch.uint8" in found.text
    assert "mix[(1,)](a, b, c, d, a)" in found.text


def test_a_compile_error_is_lifted_too(lifted: Lift) -> None:
    found = lifted(
        HEAD
        + """
@triton.jit
def fine(x):
    tl.store(x, 1.0)

@triton.jit
def odd(x, N: tl.constexpr):
    tl.store(x + tl.arange(0, N), 1.0)

x = torch.zeros(8, device="cuda")
fine[(1,)](x)
odd[(1,)](x, N=3)
"""
    )
    assert "def fine" not in found.text
    assert found.original.failure is not None and found.again.failure is not None
    assert found.original.failure.type == found.again.failure.type == "triton.compiler.errors.CompilationError"


def test_the_grid_of_a_kernel_that_does_not_compile(lifted: Lift) -> None:
    found = lifted(
        HEAD
        + """
@triton.jit
def odd(x, n, N: tl.constexpr, M: tl.constexpr = 2):
    tl.static_assert(N < 3, "N is too large")

x = torch.zeros(8, device="cuda")
odd[lambda meta: (triton.cdiv(meta["n"], meta["N"]), meta["M"])](x, 9, N=3)
"""
    )
    assert "odd[(3, 2)](x, 9, N=3)" in found.text
    assert found.again.failure is not None and "N is too large" in found.again.failure.text


def test_scalars_options_and_specialisation(lifted: Lift) -> None:
    found = lifted(
        HEAD
        + """
import functools

@functools.partial(triton.jit, do_not_specialize=["n"], noinline=False)
def kernel(x, n, inf, flag, none, pair, T: tl.constexpr, mode: tl.constexpr = "a"):
    tl.store(x + n, (tl.load(x + pair[0]) + inf).to(T), mask=flag)

kernel[2, 1, 1](torch.zeros(64, device="cuda"), 16, float("inf"), True, None, (1, 32), T=tl.float16,
                num_warps=8, num_stages=3)
torch.cuda.synchronize()
"""
    )
    sole(found)
    assert 'kernel[(2,)](x, 16, float("inf"), True, None, (1, 32), T=tl.float16, num_warps=8)' in found.text
    assert "do_not_specialize=['n']" in found.text


def test_gluon(lifted: Lift) -> None:
    found = lifted(
        """
import torch, triton
from triton.experimental import gluon
from triton.experimental.gluon import language as ttgl
@gluon.jit
def one(x):
    ttgl.store(x, 1.0)
one[(1,)](torch.zeros(4, device="cuda"))
torch.cuda.synchronize()
"""
    )
    sole(found)
    assert "from triton.experimental.gluon import language as ttgl" in found.text


def test_nobody_knows_which_launch_it_was_then_the_latest_come_first(lifted: Lift) -> None:
    kernels = "".join(f"@triton.jit\ndef k{i}(x):\n    tl.store(x, {i}.0)\n" for i in range(3))
    calls = "for k in (k0, k1, k2, k1):\n    k[(1,)](x)\n"
    found = lifted(f"{HEAD}{kernels}x = torch.zeros(4, device='cuda')\n{calls}")
    firsts = [text.partition("def ")[2][:2] for text in found.texts]
    assert firsts == ["k1", "k2", "k0", "k1", "k2", "k0"]


def test_what_cannot_be_written_down_is_said(pool: Pool) -> None:
    run = pool.run(
        HEAD
        + """
namespace = {"triton": triton, "tl": tl}
@triton.jit
def kernel(x, y):
    tl.store(x, 1.0)
class Odd:
    def __init__(self): self.x = torch.zeros(4, device="cuda")
    def data_ptr(self): return self.x.data_ptr()
    dtype = torch.float32
kernel[(1,)](torch.zeros(4, device="cuda"), Odd())
""",
        capture="launch",
    )
    assert lift.candidates(run) == ()
    assert lift.obstacles(run) == ("kernel: a value of type Odd cannot be written down",)


def test_without_capture_nothing_is_written_down(pool: Pool) -> None:
    run = pool.run(f"{HEAD}print(1)\n")
    assert run.captured is None and lift.candidates(run) == ()


def test_capture_changes_nothing_that_is_seen(pool: Pool) -> None:
    source = f"{HEAD}{TILES}add_tiles[(8,)](*[torch.ones(8, 64, device='cuda')] * 2, 8, 64, R=1, C=4, S=4)\n"
    plain, captured = pool.run(source), pool.run(source, capture="launch")
    assert (plain.launches, plain.driver_error) == (captured.launches, captured.driver_error)


def test_a_number_in_memory_is_an_argument_as_any_other(lifted: Lift) -> None:
    """A tensor without dimensions: the virtual GPU could not put its content in a word."""
    found = lifted(
        HEAD
        + TILES.replace("dst + tl.arange(0, R)", "dst").replace("tl.sum(total, axis=1)", "tl.sum(total)")
        + 'add_tiles[(1,)](torch.ones(1, 64, device="cuda"), torch.empty((), device="cuda"), 1, 64, R=1, C=4, S=4)\n'
        + "torch.cuda.synchronize()\n"
    )
    sole(found)
    assert 'torch.zeros((), device="cuda")' in found.text


def test_a_kernel_that_reads_numpy(lifted: Lift) -> None:
    found = lifted(
        HEAD
        + """
import numpy as np

@triton.jit
def kernel(x):
    tl.store(x, np.pi)

kernel[(1,)](torch.zeros(64, device="cuda"))
torch.cuda.synchronize()
"""
    )
    sole(found)
    assert "import numpy as np\n" in found.text and "kernel[(1,)](x)" in found.text
