"""Compiles the reductions of an optimizer for clusters of one and two blocks, and compares what they need."""

import argparse
import csv
import sys
from dataclasses import asdict, dataclass
from enum import Enum

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


class Kind(Enum):
    HALF = "fp16"
    BRAIN = "bf16"
    SINGLE = "fp32"


@triton.jit
def squared(x):
    return x * x


@triton.jit
def clip_kernel(x_ptr, norm_ptr, limit, count, SIZE: tl.constexpr):
    offsets = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    mask = offsets < count
    factor = tl.minimum(limit / tl.load(norm_ptr), 1.0)
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(x_ptr + offsets, x * factor, mask=mask)


@triton.jit
def norm_kernel(x_ptr, partial_ptr, count, SIZE: tl.constexpr, ROUNDS: tl.constexpr):
    pid = tl.program_id(0)
    total = 0.0
    for step in range(ROUNDS):
        offsets = (pid * ROUNDS + step) * SIZE + tl.arange(0, SIZE)
        x = tl.load(x_ptr + offsets, mask=offsets < count, other=0.0).to(tl.float32)
        total += tl.sum(squared(x), axis=0)
    tl.store(partial_ptr + pid, total)


@triton.jit
def add_kernel(x_ptr, grad_ptr, rate, count, SIZE: tl.constexpr):
    offsets = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    mask = offsets < count
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(x_ptr + offsets, x - rate * tl.load(grad_ptr + offsets, mask=mask), mask=mask)


@dataclass
class Row:
    kernel: str
    kind: str
    size: int
    blocks: int
    shared: int = 0
    bytes: int = 0


def source_of(kernel, kind, size):
    pointer = f"*{kind.value}"
    signature = {
        "clip_kernel": [pointer, "*fp32", "fp32", "i32"],
        "norm_kernel": [pointer, "*fp32", "i32"],
        "add_kernel": [pointer, pointer, "fp32", "i32"],
    }[kernel.fn.__name__]
    constants = {"SIZE": size, "ROUNDS": 4} if kernel is norm_kernel else {"SIZE": size}
    names = [name for name in kernel.arg_names if name not in constants]
    types = {**dict(zip(names, signature)), **dict.fromkeys(constants, "constexpr")}
    return ASTSource(fn=kernel, signature=types, constexprs=constants)


def measure(kernel, kind, size, blocks, target):
    compiled = triton.compile(source_of(kernel, kind, size), target=target, options={"num_ctas": blocks, "num_warps": 4})
    row = Row(kernel.fn.__name__, kind.name, size, blocks)
    row.shared, row.bytes = compiled.metadata.shared, len(compiled.asm["cubin"])
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=[1024, 2048])
    parser.add_argument("--blocks", type=int, nargs="*", default=[1, 2])
    args = parser.parse_args()
    target = GPUTarget("cuda", 90, 32)
    table = csv.DictWriter(sys.stdout, ["kernel", "kind", "size", "blocks", "shared", "bytes"])
    table.writeheader()
    for kernel in (add_kernel, clip_kernel, norm_kernel):
        for kind in (Kind.HALF, Kind.SINGLE):
            for size in args.sizes:
                for blocks in args.blocks:
                    table.writerow(asdict(measure(kernel, kind, size, blocks, target)))


if __name__ == "__main__":
    main()
