"""Rotary position embedding over packed sequences: positions from cumulative lengths, halves rotated in place.

The tensors are views of one packed buffer (query, key and value of all tokens), so their rows have strides and offsets
of the packing. The kernel tells Triton what it may assume of them.
"""

import argparse
import math

import torch
import triton
import triton.language as tl

HEAD = 256


@triton.jit
def position_kernel(lengths_ptr, positions_ptr, sequences, BLOCK: tl.constexpr):
    sequence = tl.program_id(0)
    before = 0
    for other in range(0, sequence):
        before += tl.load(lengths_ptr + other)
    length = tl.load(lengths_ptr + sequence)
    for start in range(0, length, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        tl.store(positions_ptr + before + offsets, offsets, mask=offsets < length)


@triton.jit
def angle_kernel(positions_ptr, cos_ptr, sin_ptr, base, HALF: tl.constexpr):
    token = tl.program_id(0)
    lane = tl.arange(0, HALF)
    frequency = tl.exp(-lane.to(tl.float32) / HALF * tl.log(base))
    angle = tl.load(positions_ptr + token).to(tl.float32) * frequency
    tl.store(cos_ptr + token * HALF + lane, tl.cos(angle))
    tl.store(sin_ptr + token * HALF + lane, tl.sin(angle))


@triton.jit
def rotate_kernel(x_ptr, cos_ptr, sin_ptr, limit, stride, first, HALF: tl.constexpr, ALIGNED: tl.constexpr):
    token = tl.program_id(0)
    head = tl.program_id(1)
    at = token * stride + head * HALF * 2 + first
    if ALIGNED:
        at = tl.multiple_of(at, 16)
    lane = tl.arange(0, HALF)
    inside = lane < limit
    low = tl.load(x_ptr + at + lane, mask=inside, other=0.0)
    high = tl.load(x_ptr + at + HALF + lane, mask=inside, other=0.0)
    cos = tl.load(cos_ptr + token * HALF + lane, mask=inside, other=1.0)
    sin = tl.load(sin_ptr + token * HALF + lane, mask=inside, other=0.0)
    tl.store(x_ptr + at + lane, low * cos - high * sin, mask=inside)
    tl.store(x_ptr + at + HALF + lane, high * cos + low * sin, mask=inside)


class Packed:
    """Query, key and value of all tokens side by side; with a flag column in front when `tagged`."""

    def __init__(self, lengths: list[int], heads: int, tagged: bool):
        self.lengths = torch.tensor(lengths, dtype=torch.int32, device="cuda")
        self.tokens, self.heads, self.tagged = sum(lengths), heads, tagged
        self.stride = 3 * heads * HEAD + (1 if tagged else 0)
        self.data = torch.randn(self.tokens, self.stride, device="cuda")

    def first(self, part: str) -> int:
        return "qkv".index(part) * self.heads * HEAD + (1 if self.tagged else 0)

    def part(self, part: str) -> torch.Tensor:
        begin = self.first(part)
        return self.data[:, begin : begin + self.heads * HEAD].reshape(self.tokens, self.heads, HEAD)


class Rotary:
    def __init__(self, base: float = 10000.0, assume_aligned: bool = True):
        self.base, self.assume_aligned = base, assume_aligned
        self.tables: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def angles(self, packed: Packed):
        if packed.tokens not in self.tables:
            positions = torch.zeros(packed.tokens, dtype=torch.int32, device="cuda")
            position_kernel[(packed.lengths.numel(),)](packed.lengths, positions, packed.lengths.numel(), BLOCK=32)
            cos = torch.zeros(packed.tokens, HEAD // 2, device="cuda")
            sin = torch.zeros_like(cos)
            angle_kernel[(packed.tokens,)](positions, cos, sin, self.base, HALF=HEAD // 2)
            self.tables[packed.tokens] = cos, sin
        return self.tables[packed.tokens]

    def __call__(self, packed: Packed, parts: str = "qk") -> None:
        cos, sin = self.angles(packed)
        for part in parts:
            rotate_kernel[(packed.tokens, packed.heads)](
                packed.data, cos, sin, HEAD // 2, packed.stride, packed.first(part),
                HALF=HEAD // 2, ALIGNED=self.assume_aligned, num_warps=1,
            )


def norms_kept(before: torch.Tensor, after: torch.Tensor) -> float:
    return float((before.norm(dim=-1) - after.norm(dim=-1)).abs().max())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--heads", type=int, default=2)
    parser.add_argument("--lengths", type=int, nargs="*", default=[3, 17, 12])
    args = parser.parse_args()
    torch.manual_seed(4)
    for tagged in (False, True):
        for aligned in (False, True):
            packed = Packed(args.lengths, args.heads, tagged)
            before = packed.part("q").clone()
            Rotary(assume_aligned=aligned)(packed)
            torch.cuda.synchronize()
            kept = norms_kept(before, packed.part("q"))
            print(f"tagged={tagged} aligned={aligned} rows of {packed.stride}: norms kept to {kept:.1e}")
            assert math.isfinite(kept)


if __name__ == "__main__":
    main()
