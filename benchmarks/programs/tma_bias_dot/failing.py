"""A linear layer with a group-wise dequantised weight, by TMA: x @ (w * scale), tiles tuned by hand per problem size."""

import argparse
import enum
import sys
import time

import torch
import triton
import triton.language as tl


class Mode(enum.Enum):
    PLAIN = 0
    SCALED = 1


TUNED = {
    (Mode.PLAIN, 128): {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64, "num_stages": 3, "num_warps": 4},
    (Mode.PLAIN, 256): {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32, "num_stages": 4, "num_warps": 4},
    (Mode.SCALED, 128): {"BLOCK_M": 64, "BLOCK_N": 16, "BLOCK_K": 16, "num_stages": 1, "num_warps": 4},
    (Mode.SCALED, 256): {"BLOCK_M": 64, "BLOCK_N": 16, "BLOCK_K": 16, "num_stages": 4, "num_warps": 4},
}


@triton.jit
def group_scales_kernel(w_ptr, s_ptr, depth, columns, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    group = tl.program_id(0)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    rows = group * GROUP + tl.arange(0, GROUP)
    inside = (rows < depth)[:, None] & (cols < columns)[None, :]
    w = tl.load(w_ptr + rows[:, None] * columns + cols[None, :], mask=inside, other=0.0).to(tl.float32)
    peak = tl.max(tl.abs(w), axis=0) + 1e-4
    tl.store(s_ptr + group * columns + cols, peak.to(tl.float16), mask=cols < columns)


@triton.jit
def plain_kernel(
    x_ptr, w_ptr, y_ptr, rows, columns, depth, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):
    x = tl.make_tensor_descriptor(x_ptr, shape=[rows, depth], strides=[depth, 1], block_shape=[BLOCK_M, BLOCK_K])
    w = tl.make_tensor_descriptor(w_ptr, shape=[depth, columns], strides=[columns, 1], block_shape=[BLOCK_K, BLOCK_N])
    y = tl.make_tensor_descriptor(y_ptr, shape=[rows, columns], strides=[columns, 1], block_shape=[BLOCK_M, BLOCK_N])
    row = tl.program_id(0) * BLOCK_M
    col = tl.program_id(1) * BLOCK_N
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for k in range(0, depth, BLOCK_K):
        acc = tl.dot(x.load([row, k]), w.load([k, col]), acc)
    y.store([row, col], acc.to(tl.float16))


@triton.jit
def scaled_kernel(
    x_ptr, w_ptr, s_ptr, y_ptr, rows, columns, depth,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    x = tl.make_tensor_descriptor(x_ptr, shape=[rows, depth], strides=[depth, 1], block_shape=[BLOCK_M, BLOCK_K])
    w = tl.make_tensor_descriptor(w_ptr, shape=[depth, columns], strides=[columns, 1], block_shape=[BLOCK_K, BLOCK_N])
    s = tl.make_tensor_descriptor(
        s_ptr, shape=[depth // BLOCK_K, columns], strides=[columns, 1], block_shape=[1, BLOCK_N]
    )
    y = tl.make_tensor_descriptor(y_ptr, shape=[rows, columns], strides=[columns, 1], block_shape=[BLOCK_M, BLOCK_N])
    row = tl.program_id(0) * BLOCK_M
    col = tl.program_id(1) * BLOCK_N
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for k in range(0, depth, BLOCK_K):
        weight = w.load([k, col]) * s.load([k // BLOCK_K, col])
        acc = tl.dot(x.load([row, k]), weight, acc)
    y.store([row, col], acc.to(tl.float16))


class Linear:
    def __init__(self, depth: int, columns: int, mode: Mode):
        self.mode = mode
        self.weight = (torch.randn(depth, columns, device="cuda") * 0.05).half()
        self.scales = None
        if mode is Mode.SCALED:
            self.scales = torch.zeros(depth // 16, columns, dtype=torch.float16, device="cuda")
            grid = (depth // 16, triton.cdiv(columns, 64))
            group_scales_kernel[grid](self.weight, self.scales, depth, columns, GROUP=16, BLOCK=64)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        (rows, depth), columns = x.shape, self.weight.shape[1]
        config = TUNED[self.mode, depth]
        y = torch.zeros(rows, columns, dtype=torch.float16, device="cuda")
        grid = (triton.cdiv(rows, config["BLOCK_M"]), triton.cdiv(columns, config["BLOCK_N"]))
        if self.mode is Mode.SCALED:
            scaled_kernel[grid](x, self.weight, self.scales, y, rows, columns, depth, **config)
        else:
            plain_kernel[grid](x, self.weight, y, rows, columns, depth, **config)
        return y

    def reference(self, x: torch.Tensor) -> torch.Tensor:
        weight = self.weight.float()
        if self.scales is not None:
            weight = weight * self.scales.float().repeat_interleave(16, 0)
        return x.float() @ weight


def measure(mode: Mode, depth: int, rows: int) -> None:
    layer = Linear(depth, 128, mode)
    x = torch.randn(rows, depth, device="cuda").half()
    begin = time.perf_counter()
    y = layer(x)
    torch.cuda.synchronize()
    milliseconds = 1000 * (time.perf_counter() - begin)
    error = (y.float() - layer.reference(x)).abs().max()
    print(f"{mode.name:7} depth {depth}: error {float(error):.4f}, {milliseconds:.1f} ms with compilation")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=128)
    args = parser.parse_args()
    torch.manual_seed(2)
    triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    for mode in Mode:
        for depth in sorted({depth for key, depth in TUNED if key is mode}):
            measure(mode, depth, args.rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
