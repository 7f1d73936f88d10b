"""One program, many releases of Triton: what is lifted is the same text, and makes the same launch again."""

from __future__ import annotations

import pytest

from shrinkray_gpu import lift
from tests.lift.conftest import same_launch
from tests.versions.conftest import With, each

pytestmark = [pytest.mark.versions, pytest.mark.timeout(900)]  # the first to ask for a release fetches it

ALL = ("3.0.0", "3.2.0", "3.4.0", "3.6.0", "3.7.1", "3.9.0")
WITH_DESCRIPTORS = ALL[2:]
FAULTY = ALL[2:5]
"""Where tiles of 16 bytes are pipelined; 3.9 does so from 128 bytes on."""

HEAD = "import torch\nimport triton\nimport triton.language as tl\n"

PLAIN = """
import math
from dataclasses import dataclass

WIDTH = tl.constexpr(64)
BIAS = tl.constexpr(3)

@dataclass
class Config:
    rows: int = 10
    factor: float = 2.5

@triton.jit
def scaled(v, by):
    return libdevice.exp(v * by) + BIAS

activation = scaled

@triton.autotune([triton.Config({"B": 128}, num_warps=2, num_stages=2), triton.Config({"B": 32})], key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % args["B"] == 0})
@triton.jit
def rows(src, dst, n, k, B: tl.constexpr, EVEN: tl.constexpr, MODE: tl.constexpr = "fast"):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(src + i, mask=i < n) if not EVEN else tl.load(src + i)
    if MODE == "fast":
        x = activation(x, k)
    tl.store(dst + i + WIDTH, x, mask=i < n)

def main(config):
    src = torch.ones(config.rows * 100, device="cuda", dtype=torch.float16)
    dst = torch.empty(config.rows * 100 + 1 + WIDTH.value, device="cuda")[1:]
    rows[lambda meta: (triton.cdiv(src.numel(), meta["B"]),)](src, dst, 1000, config.factor)
    torch.cuda.synchronize()

main(Config())
"""
LIFTED_PLAIN = """
BIAS = tl.constexpr(3)
WIDTH = tl.constexpr(64)


@triton.jit
def scaled(v, by):
    return libdevice.exp(v * by) + BIAS


@triton.jit
def rows(src, dst, n, k, B: tl.constexpr, EVEN: tl.constexpr, MODE: tl.constexpr = "fast"):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(src + i, mask=i < n) if not EVEN else tl.load(src + i)
    if MODE == "fast":
        x = scaled(x, k)
    tl.store(dst + i + WIDTH, x, mask=i < n)


src = torch.zeros(1000, dtype=torch.float16, device="cuda")
dst = torch.zeros(1065, device="cuda")[1:]
rows[(8,)](src, dst, 1000, 2.5, B=128, EVEN=False, num_warps=2, num_stages=2)
torch.cuda.synchronize()
"""
LIBDEVICE = "from triton.language.extra import libdevice\n"

TILES = """
@triton.autotune([triton.Config({"C": 4, "S": 4}, num_warps=2), triton.Config({"C": 64, "S": 2})], key=["cols"])
@triton.jit
def add_tiles(src, dst, rows, cols, R: tl.constexpr, C: tl.constexpr, S: tl.constexpr):
    tiles = tl.make_tensor_descriptor(src, shape=[rows, cols], strides=[cols, 1], block_shape=[R, C])
    total = tl.zeros([R, C], tl.float32)
    for col in tl.range(0, cols, C, num_stages=S):
        total += tiles.load([tl.program_id(0) * R, col])
    tl.store(dst + tl.arange(0, R), tl.sum(total, axis=1))

def main():
    triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    x, y = torch.ones(8, 64, device="cuda"), torch.ones(8, device="cuda")
    add_tiles[(8,)](x, y, *x.shape, R=1)
    torch.cuda.synchronize()

main()
"""
LIFTED_TILES = """

@triton.jit
def add_tiles(src, dst, rows, cols, R: tl.constexpr, C: tl.constexpr, S: tl.constexpr):
    tiles = tl.make_tensor_descriptor(src, shape=[rows, cols], strides=[cols, 1], block_shape=[R, C])
    total = tl.zeros([R, C], tl.float32)
    for col in tl.range(0, cols, C, num_stages=S):
        total += tiles.load([tl.program_id(0) * R, col])
    tl.store(dst + tl.arange(0, R), tl.sum(total, axis=1))


triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
src = torch.zeros(8, 64, device="cuda")
dst = torch.zeros(8, device="cuda")
add_tiles[(8,)](src, dst, 8, 64, R=1, C=4, S=4, num_warps=2)
torch.cuda.synchronize()
"""

HOST = """
from triton.tools.tensor_descriptor import TensorDescriptor

@triton.jit
def add(tiles, ends, out, cols, C: tl.constexpr):
    total = tl.zeros([1, C], tl.float32)
    for col in tl.range(ends[0], cols, C, num_stages=4):
        total += tiles.load([0, col])
    tl.store(out + ends[1], tl.sum(total))

x = torch.ones(8, 64, device="cuda")
add[(1,)](TensorDescriptor.from_tensor(x[::2], [1, 4]), (0, 5), x[7:], 64, C=4)
torch.cuda.synchronize()
"""
LIFTED_HOST = """from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def add(tiles, ends, out, cols, C: tl.constexpr):
    total = tl.zeros([1, C], tl.float32)
    for col in tl.range(ends[0], cols, C, num_stages=4):
        total += tiles.load([0, col])
    tl.store(out + ends[1], tl.sum(total))


buffer = torch.zeros(512, device="cuda")
tiles = buffer.as_strided((4, 64), (128, 1))
out = buffer.as_strided((1, 64), (64, 1), 448)
add[(1,)](TensorDescriptor.from_tensor(tiles, [1, 4]), (0, 5), out, 64, C=4)
torch.cuda.synchronize()
"""


@pytest.mark.parametrize("version", each(ALL))
def test_a_launch_deep_in_a_program(with_triton: With, version: str) -> None:
    pool = with_triton(version)
    original = pool.run(HEAD + LIBDEVICE + PLAIN, capture="launch")
    assert original.failure is None, original.stderr
    assert lift.obstacles(original) == ()
    text = lift.candidates(original)[0]
    assert text == HEAD + LIBDEVICE + LIFTED_PLAIN
    again = pool.run(text)
    same_launch(original, original.launches[-1], again)


@pytest.mark.parametrize(("program", "lifted"), [(TILES, LIFTED_TILES), (HOST, LIFTED_HOST)], ids=["device", "host"])
@pytest.mark.parametrize("version", each(WITH_DESCRIPTORS))
def test_the_launch_that_faults(with_triton: With, version: str, program: str, lifted: str) -> None:
    pool = with_triton(version)
    original = pool.run(HEAD + program, capture="launch")
    text = lift.candidates(original)[0]
    assert text == HEAD + lifted
    again = pool.run(text)
    same_launch(original, original.launches[-1], again)
    assert original.driver_error == again.driver_error == (716 if version in FAULTY else 0)


@pytest.mark.parametrize("version", each(ALL))
def test_a_kernel_that_does_not_compile(with_triton: With, version: str) -> None:
    pool = with_triton(version)
    kernel = "\n@triton.jit\ndef odd(x, N: tl.constexpr):\n    tl.store(x + tl.arange(0, N), 1.0)\n\n"
    original = pool.run(f"{HEAD}{kernel}odd[(2, 1, 1)](torch.ones(8, device='cuda'), 3)\n", capture="launch")
    text = lift.candidates(original)[0]
    assert text.endswith('x = torch.zeros(8, device="cuda")\nodd[(2,)](x, N=3)\ntorch.cuda.synchronize()\n')
    again = pool.run(text)
    assert original.failure is not None and again.failure is not None
    assert again.failure.type == original.failure.type
    assert "power of 2" in original.stderr and "power of 2" in again.stderr  # up to 3.4 it is the cause's text
