"""A product of matrices with tensor descriptors; heuristics choose the depth of the tile and the stages."""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

LINE = 128
"""Bytes that a row of a tile should fill."""


def depth_of(args) -> int:
    """As many elements as fill a line, or two for small types."""
    width = args["a"].base.element_size()
    return max(64, 4 * LINE // 2) if width > 2 else LINE // width


def stages_of(args) -> int:
    return 4 if args["K"] >= 256 else 2


@triton.jit
def init_kernel(x, count, scale, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, ((at % 7).to(tl.float32) * scale).to(x.dtype.element_ty), mask=at < count)


@triton.jit
def matmul_kernel(
    a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr
):
    row, col = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros([BM, BN], tl.float32)
    for k in tl.range(0, K, BK, num_stages=STAGES):
        left = a.load([row, k])
        right = b.load([col, k])
        total = tl.dot(left, right.T, total)
    c.store([row, col], total.to(tl.float16))


class Linear:
    def __init__(self, inputs: int, outputs: int, dtype: torch.dtype, tile=(128, 128)):
        self.weight = torch.empty(outputs, inputs, dtype=dtype, device="cuda")
        init_kernel[(triton.cdiv(self.weight.numel(), 1024),)](self.weight, self.weight.numel(), 0.1, BLOCK=1024)
        self.tile = tile

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        (m, k), n = x.shape, self.weight.shape[0]
        bm, bn = self.tile
        out = torch.empty(m, n, dtype=torch.float16, device="cuda")
        told = {"a": TensorDescriptor.from_tensor(x, [bm, 16]), "K": k}
        bk, stages = depth_of(told), stages_of(told)
        a = TensorDescriptor.from_tensor(x, [bm, bk])
        b = TensorDescriptor.from_tensor(self.weight, [bn, bk])
        c = TensorDescriptor.from_tensor(out, [bm, bn])
        matmul_kernel[(triton.cdiv(m, bm), triton.cdiv(n, bn))](
            a, b, c, m, n, k, BM=bm, BN=bn, BK=bk, STAGES=stages, num_warps=4
        )
        return out


def main() -> None:
    cases = [(torch.float16, 256, 512, 128), (torch.float32, 128, 256, 32), (torch.float32, 512, 256, 128)]
    for dtype, inputs, outputs, tile in cases:
        layer = Linear(inputs, outputs, dtype, (tile, tile))
        out = layer(torch.ones(256, inputs, dtype=dtype, device="cuda"))
        torch.cuda.synchronize()
        print(dtype, inputs, outputs, tuple(out.shape))


if __name__ == "__main__":
    main()
