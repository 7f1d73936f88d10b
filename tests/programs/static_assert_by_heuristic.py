# shrink --arch sm_90 --oracle "compile:group must divide the block" -- smallest: one kernel with a failing tl.static_assert, and its launch
"""Group-wise int8 quantisation; the heuristic picks a group that does not divide the block."""

import torch
import triton
import triton.language as tl


def pick_block(args):
    return min(256, triton.next_power_of_2(args["columns"]))


def pick_warps(args):
    return 8 if args["columns"] > 2048 else 4


@triton.jit
def group_scale(x, BLOCK: tl.constexpr, GROUP: tl.constexpr):
    tl.static_assert(BLOCK % GROUP == 0, "group must divide the block")
    groups = tl.reshape(tl.abs(x), [BLOCK // GROUP, GROUP])
    return tl.max(groups, axis=1) / 127.0


@triton.heuristics({"BLOCK": pick_block, "num_warps": pick_warps})
@triton.jit
def quantize_kernel(x_ptr, q_ptr, scale_ptr, columns, BLOCK: tl.constexpr, GROUP: tl.constexpr):
    row = tl.program_id(0)
    start = tl.program_id(1) * BLOCK
    cols = start + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + cols, mask=cols < columns, other=0.0)
    scale = tl.maximum(group_scale(x, BLOCK, GROUP), 1e-8)
    q = tl.reshape(x, [BLOCK // GROUP, GROUP]) / scale[:, None]
    tl.store(q_ptr + row * columns + cols, tl.reshape(q, [BLOCK]).to(tl.int8), mask=cols < columns)
    groups = start // GROUP + tl.arange(0, BLOCK // GROUP)
    tl.store(scale_ptr + row * (columns // GROUP) + groups, scale, mask=groups < columns // GROUP)


class Quantizer:
    def __init__(self, group: int):
        self.group = group

    def __call__(self, x: torch.Tensor):
        rows, columns = x.shape
        q = torch.empty(rows, columns, device=x.device, dtype=torch.int8)
        scale = torch.empty(rows, columns // self.group, device=x.device)
        grid = lambda meta: (rows, triton.cdiv(columns, meta["BLOCK"]))
        quantize_kernel[grid](x, q, scale, columns, GROUP=self.group)
        return q, scale


def main():
    for columns, group in ((1024, 64), (512, 128), (1024, 512)):
        x = torch.randn(8, columns, device="cuda")
        q, scale = Quantizer(group)(x)
        restored = q.reshape(8, -1, group).float() * scale[..., None]
        print(columns, group, (restored.reshape(8, columns) - x).abs().max().item())


main()
