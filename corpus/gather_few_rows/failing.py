"""Unpacks two-level (1 bit) quantised weights: each group has a low and a high value, chosen by tl.gather."""

import math
from typing import NamedTuple

import torch
import triton
import triton.language as tl


class Launch(NamedTuple):
    groups_per_program: int
    num_warps: int


LAUNCHES = {"one warp": Launch(32, 1), "tuned": Launch(8, 4)}


@triton.jit
def unpack_bits(packed_ptr, group, lanes, groups):
    words = tl.load(packed_ptr + group, mask=group < groups, other=0)
    return (words >> lanes) & 1


@triton.jit
def dequantize_kernel(
    packed_ptr, levels_ptr, out_ptr, groups,
    LEVELS: tl.constexpr, LANES: tl.constexpr, GROUPS: tl.constexpr,
):
    group = (tl.program_id(0) * GROUPS + tl.arange(0, GROUPS))[:, None]
    level = tl.arange(0, LEVELS)[None, :]
    lanes = tl.arange(0, LANES)[None, :]
    table = tl.load(levels_ptr + group * LEVELS + level, mask=group < groups, other=0.0)
    choice = unpack_bits(packed_ptr, group, lanes, groups)
    values = tl.gather(table, choice, axis=1)
    tl.store(out_ptr + group * LANES + lanes, values, mask=group < groups)


@triton.jit
def scale_kernel(x_ptr, count, factor, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < count)
    tl.store(x_ptr + offsets, x * factor, mask=offsets < count)


def dequantize(packed: torch.Tensor, levels: torch.Tensor, lanes: int, launch: Launch, factor: float = 1.0):
    groups = packed.numel()
    out = torch.empty(groups, lanes, device=packed.device)
    dequantize_kernel[(triton.cdiv(groups, launch.groups_per_program),)](
        packed, levels, out, groups,
        LEVELS=levels.shape[1], LANES=lanes, GROUPS=launch.groups_per_program, num_warps=launch.num_warps,
    )
    scale_kernel[(triton.cdiv(out.numel(), 256),)](out, out.numel(), factor, BLOCK=256)
    return out


def reference(packed: torch.Tensor, levels: torch.Tensor, lanes: int, factor: float) -> torch.Tensor:
    bits = (packed[:, None] >> torch.arange(lanes, device=packed.device)) & 1
    return torch.gather(levels, 1, bits.long()) * factor


def main() -> None:
    torch.manual_seed(0)
    groups, lanes = 100, 8
    packed = torch.randint(0, 1 << lanes, (groups,), dtype=torch.int32, device="cuda")
    levels = torch.randn(groups, 2, device="cuda")
    factor = 1 / math.sqrt(lanes)
    for name, launch in LAUNCHES.items():
        torch.testing.assert_close(
            dequantize(packed, levels, lanes, launch, factor), reference(packed, levels, lanes, factor)
        )
        print(name, "ok")


if __name__ == "__main__":
    main()
