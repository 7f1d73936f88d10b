"""An int8 linear layer with per-row and per-column scales: TMA descriptors, a warp-specialised loop, int32 sums."""

from dataclasses import dataclass

import torch
import triton
import triton.language as tl


@dataclass(frozen=True)
class Plan:
    block_m: int
    block_n: int
    block_k: int
    specialize: bool
    warps: int = 4


PLANS = [Plan(64, 32, 64, specialize=False), Plan(64, 32, 64, specialize=True)]


@triton.jit
def int8_linear_kernel(
    x_ptr, w_ptr, x_scale_ptr, w_scale_ptr, out_ptr, m, n, k,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SPECIALIZE: tl.constexpr,
):
    x = tl.make_tensor_descriptor(x_ptr, shape=[m, k], strides=[k, 1], block_shape=[BLOCK_M, BLOCK_K])
    w = tl.make_tensor_descriptor(w_ptr, shape=[k, n], strides=[n, 1], block_shape=[BLOCK_K, BLOCK_N])
    row = tl.program_id(0) * BLOCK_M
    col = tl.program_id(1) * BLOCK_N
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.int32)
    for start in tl.range(0, k, BLOCK_K, num_stages=3, warp_specialize=SPECIALIZE):
        acc = tl.dot(x.load([row, start]), w.load([start, col]), acc, out_dtype=tl.int32)
    rows = row + tl.arange(0, BLOCK_M)
    cols = col + tl.arange(0, BLOCK_N)
    x_scale = tl.load(x_scale_ptr + rows, mask=rows < m, other=0.0)
    w_scale = tl.load(w_scale_ptr + cols, mask=cols < n, other=0.0)
    out = acc.to(tl.float32) * x_scale[:, None] * w_scale[None, :]
    tl.store(out_ptr + rows[:, None] * n + cols[None, :], out, mask=(rows < m)[:, None] & (cols < n)[None, :])


@triton.jit
def quantize_kernel(x_ptr, q_ptr, scale_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + cols, mask=cols < columns, other=0.0)
    scale = tl.maximum(tl.max(tl.abs(x), axis=0) / 127.0, 1e-8)
    rounded = x / scale + tl.where(x >= 0, 0.5, -0.5)
    tl.store(q_ptr + row * columns + cols, rounded.to(tl.int8), mask=cols < columns)
    tl.store(scale_ptr + row, scale)


def quantize(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    rows, columns = x.shape
    q = torch.empty(rows, columns, dtype=torch.int8, device=x.device)
    scale = torch.empty(rows, device=x.device)
    quantize_kernel[(rows,)](x, q, scale, columns, BLOCK=triton.next_power_of_2(columns))
    return q, scale


def int8_linear(x: torch.Tensor, weight: torch.Tensor, plan: Plan) -> torch.Tensor:
    (m, k), n = x.shape, weight.shape[0]
    out = torch.empty(m, n, device=x.device)
    grid = (triton.cdiv(m, plan.block_m), triton.cdiv(n, plan.block_n))
    (x_q, x_scale), (w_q, w_scale) = quantize(x), quantize(weight)
    w_q = w_q.T.contiguous()
    int8_linear_kernel[grid](
        x_q, w_q, x_scale, w_scale, out, m, n, k,
        BLOCK_M=plan.block_m, BLOCK_N=plan.block_n, BLOCK_K=plan.block_k, SPECIALIZE=plan.specialize,
        num_warps=plan.warps,
    )
    return out


def main() -> None:
    triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    torch.manual_seed(0)
    x = torch.randn(128, 256, device="cuda")
    weight = torch.randn(64, 256, device="cuda")
    for plan in PLANS:
        torch.testing.assert_close(int8_linear(x, weight, plan), x @ weight.T, rtol=0.1, atol=1.0)
        print(plan, "ok")
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
