"""Builds the kernels of a 1-bit quantised layer for a release: no GPU on the build machine, nothing is launched."""

import argparse
import hashlib
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def unpack(words, lanes):
    return (words >> lanes) & 1


@triton.jit
def pack_kernel(x_ptr, words_ptr, groups, BLOCK: tl.constexpr, WIDTH: tl.constexpr):
    group = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    lanes = tl.arange(0, WIDTH)
    mask = group < groups
    x = tl.load(x_ptr + group[:, None] * WIDTH + lanes[None, :], mask=mask[:, None], other=0.0)
    bits = (x > 0).to(tl.int32) << lanes[None, :]
    tl.store(words_ptr + group, tl.sum(bits, axis=1), mask=mask)


@triton.jit
def expand_kernel(words_ptr, table_ptr, out_ptr, groups, BLOCK: tl.constexpr, WIDTH: tl.constexpr, LEVELS: tl.constexpr):
    group = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    lanes = tl.arange(0, WIDTH)
    mask = (group < groups)[:, None]
    words = tl.load(words_ptr + group[:, None], mask=mask, other=0)
    levels = tl.load(table_ptr + group[:, None] * LEVELS + tl.arange(0, LEVELS)[None, :], mask=mask, other=0.0)
    values = tl.gather(levels, unpack(words, lanes[None, :]), axis=1)
    tl.store(out_ptr + group[:, None] * WIDTH + lanes[None, :], values, mask=mask)


@triton.jit
def scale_kernel(x_ptr, scale_ptr, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < count
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(x_ptr + offsets, x * tl.load(scale_ptr), mask=mask)


@dataclass(frozen=True)
class Build:
    kernel: object
    types: tuple[str, ...]
    constants: dict = field(default_factory=dict)
    num_warps: int = 4

    @property
    def name(self):
        return self.kernel.fn.__name__

    def source(self):
        names = self.kernel.arg_names
        given = dict(zip([n for n in names if n not in self.constants], self.types))
        signature = {name: given.get(name, "constexpr") for name in names}
        return ASTSource(fn=self.kernel, signature=signature, constexprs=self.constants)


def builds():
    for block in (8, 32):
        yield Build(pack_kernel, ("*fp32", "*i32", "i32"), {"BLOCK": block, "WIDTH": 8})
    yield Build(scale_kernel, ("*fp32", "*fp32", "i32"), {"BLOCK": 1024}, num_warps=8)
    for levels in (2,):
        yield Build(expand_kernel, ("*i32", "*fp32", "*fp32", "i32"), {"BLOCK": 8, "WIDTH": 8, "LEVELS": levels})


def compile_one(build, target):
    compiled = triton.compile(build.source(), target=target, options={"num_warps": build.num_warps})
    binary = compiled.asm["cubin"]
    return {
        "name": build.name,
        "constants": build.constants,
        "shared": compiled.metadata.shared,
        "sha256": hashlib.sha256(binary).hexdigest(),
        "bytes": len(binary),
    }


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arch", type=int, default=90)
    parser.add_argument("--manifest", type=Path)
    args = parser.parse_args(argv)
    target = GPUTarget("cuda", args.arch, 32)
    manifest = []
    for build in builds():
        manifest.append(compile_one(build, target))
        print(f"{build.name:16} {manifest[-1]['bytes']:8} bytes", file=sys.stderr)
    if args.manifest:
        args.manifest.write_text(json.dumps(manifest, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
