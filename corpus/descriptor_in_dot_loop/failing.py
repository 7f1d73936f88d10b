"""A matrix in slices along K, each somewhere else: the descriptor of a slice is made inside of the loop over slices."""

import argparse

import torch
import triton
import triton.language as tl


@triton.jit
def sliced_matmul_kernel(
    a_ptr, b_ptr, out_ptr, m, n, k, slice_stride,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, DESCRIPTORS: tl.constexpr,
):
    row = tl.program_id(0) * BLOCK_M
    col = tl.program_id(1) * BLOCK_N
    rows = row + tl.arange(0, BLOCK_M)
    cols = col + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for step in range(0, tl.cdiv(k, BLOCK_K)):
        slice_ptr = a_ptr + step * slice_stride
        if DESCRIPTORS:
            a_desc = tl.make_tensor_descriptor(
                slice_ptr, shape=[m, BLOCK_K], strides=[BLOCK_K, 1], block_shape=[BLOCK_M, BLOCK_K])
            a = a_desc.load([row, 0])
        else:
            a = tl.load(slice_ptr + rows[:, None] * BLOCK_K + inner[None, :], mask=(rows < m)[:, None], other=0.0)
        b = tl.load(b_ptr + (step * BLOCK_K + inner)[:, None] * n + cols[None, :], mask=(cols < n)[None, :], other=0.0)
        acc = tl.dot(a, b, acc)
    inside = (rows < m)[:, None] & (cols < n)[None, :]
    tl.store(out_ptr + rows[:, None] * n + cols[None, :], acc.to(tl.float16), mask=inside)


@triton.jit
def bias_kernel(x_ptr, bias_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n)
    tl.store(x_ptr + row * n + cols, x + tl.load(bias_ptr + cols, mask=cols < n), mask=cols < n)


def slices_of(a: torch.Tensor, block_k: int) -> torch.Tensor:
    """[k / block_k, m, block_k]: as a cache keeps its pages."""
    m, k = a.shape
    return a.reshape(m, k // block_k, block_k).permute(1, 0, 2).contiguous()


def linear(slices, weight, bias, descriptors, block=64, stages=3):
    count, m, block_k = slices.shape
    n = weight.shape[1]
    out = torch.empty(m, n, device=slices.device, dtype=slices.dtype)
    sliced_matmul_kernel[(triton.cdiv(m, block), triton.cdiv(n, block))](
        slices, weight, out, m, n, count * block_k, slices.stride(0),
        BLOCK_M=block, BLOCK_N=block, BLOCK_K=block_k, DESCRIPTORS=descriptors, num_stages=stages,
    )
    bias_kernel[(m,)](out, bias, n, BLOCK=triton.next_power_of_2(n))
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--m", type=int, default=128)
    parser.add_argument("--n", type=int, default=192)
    parser.add_argument("--k", type=int, default=256)
    args = parser.parse_args()
    # What a fixed Triton needs, though a failing one never gets there.
    triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))  # shrink: keep
    torch.manual_seed(0)
    a = torch.randn(args.m, args.k, device="cuda").half()
    weight = torch.randn(args.k, args.n, device="cuda").half()
    bias = torch.randn(args.n, device="cuda").half()
    expected = torch.addmm(bias, a, weight)
    for descriptors in (False, True):
        out = linear(slices_of(a, 64), weight, bias, descriptors)
        torch.testing.assert_close(out, expected, rtol=2e-2, atol=2e-2)
        print("descriptors" if descriptors else "pointers", "ok")
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
