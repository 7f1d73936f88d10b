# shrink --oracle exception:ProcessRaisedException
# lure: a child that dies of anything else: its parent raises the same exception
# must: tl\.store\(
# ends: 1 illegal memory access|operation not supported on global
# fault: illegal memory access|operation not supported on global
# naive: no guards
"""Each rank writes its shard in a process of its own; the second one gets a wrong offset."""

import torch
import torch.multiprocessing
import triton
import triton.language as tl


@triton.jit
def shard_kernel(out_ptr, start, BLOCK: tl.constexpr):
    at = start + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, 1.0)


def write_shard(rank, starts):
    out = torch.zeros(4096, device="cuda")
    shard_kernel[(4,)](out, starts[rank], BLOCK=512)
    torch.cuda.synchronize()
    print(rank, out.sum().item())


def main():
    torch.multiprocessing.spawn(write_shard, args=((0, 1 << 40),), nprocs=2)


if __name__ == "__main__":
    main()
