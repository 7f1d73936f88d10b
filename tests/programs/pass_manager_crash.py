# shrink --arch sm_90 --oracle "compile:PassManager::run failed" -- smallest: one kernel with the descriptor loads and tl.dot of a warp-specialised loop (its WGMMA has no lowering), and its launch
"""Chained products with a warp-specialised loop; Triton 3.7.1 cannot lower it for Hopper."""

import argparse

import torch
import triton
import triton.language as tl

OPTIONS = {
    "plain": dict(specialize=False, stages=2),
    "specialized": dict(specialize=True, stages=3),
}


@triton.jit
def tile_descriptor(ptr, size, BLOCK: tl.constexpr):
    return tl.make_tensor_descriptor(ptr, shape=[size, size], strides=[size, 1], block_shape=[BLOCK, BLOCK])


@triton.jit
def chain_kernel(x_ptr, y_ptr, size, BLOCK: tl.constexpr, STAGES: tl.constexpr, SPECIALIZE: tl.constexpr):
    x = tile_descriptor(x_ptr, size, BLOCK)
    y = tile_descriptor(y_ptr, size, BLOCK)
    row = tl.program_id(0) * BLOCK
    acc = tl.zeros([BLOCK, BLOCK], tl.float32)
    for k in tl.range(0, size, BLOCK, num_stages=STAGES, warp_specialize=SPECIALIZE):
        left = x.load([row, k])
        right = x.load([k, row])
        acc = tl.dot(left, right, acc)
        acc = acc + tl.dot(acc.to(tl.float16).to(tl.float32), right)
    y.store([row, row], acc)


@triton.jit
def scale_kernel(y_ptr, count, factor, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = tl.load(y_ptr + offsets, mask=offsets < count)
    tl.store(y_ptr + offsets, y * factor, mask=offsets < count)


def chain(x, block, specialize, stages):
    size = x.shape[0]
    y = torch.zeros_like(x)
    chain_kernel[(size // block,)](x, y, size, BLOCK=block, STAGES=stages, SPECIALIZE=specialize)
    scale_kernel[(triton.cdiv(y.numel(), 1024),)](y, y.numel(), 1.0 / size, BLOCK=1024)
    return y


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--block", type=int, default=64)
    args = parser.parse_args()
    triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    x = torch.randn(args.size, args.size, device="cuda")
    for name, options in OPTIONS.items():
        y = chain(x, args.block, **options)
        torch.cuda.synchronize()
        print(name, tuple(y.shape))


if __name__ == "__main__":
    main()
