"""Gradients of the chunk states of linear attention, backwards over a number of chunks known at the launch only.

    python chunk_backward.py                          tested with many small chunks, then timed with a few large ones
    SKIP_TEST=1 python chunk_backward.py              the same shape alone is fine
    STATIC_SHAPES=1 python chunk_backward.py          so is a plan for each number of chunks
    TRITON_INTERPRET=1 python chunk_backward.py --device cpu --heads 2 --dim 32 --test-length 64

The kernel looks like what a generator of Triton code writes. Its assertion is compiled with TRITON_DEBUG=1 only, but
the interpreter always checks it. `bind` does the work of the generator's runtime: it makes a plan at the first call for
a specialisation, and uses that plan from then on.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass

import torch
import triton
import triton.language as tl


@triton.jit
def _chunk_bwd_dh(
    q, d_out, decay, dh_all, dh_all_size_0, dh_all_stride_0, dh_all_stride_1, x_stride_0, x_stride_1, N,
    _BLOCK_SIZE_0: tl.constexpr, _RDIM_SIZE_1: tl.constexpr, _RDIM_SIZE_2: tl.constexpr,
):  # fmt: skip
    # for head, tile_v in hl.tile([heads, dim_v]):
    pid_0 = tl.program_id(0)
    offset_2 = tl.program_id(1) * _BLOCK_SIZE_0
    indices_0 = tl.arange(0, _RDIM_SIZE_1).to(tl.int64)
    indices_1 = tl.arange(0, _RDIM_SIZE_2)
    indices_2 = offset_2 + tl.arange(0, _BLOCK_SIZE_0)
    # dh = hl.zeros([dim, tile_v])
    dh = tl.full([_RDIM_SIZE_2, _BLOCK_SIZE_0], 0.0, tl.float32)
    # for i_t in hl.grid(N):
    for offset_3 in tl.range(0, tl.cast(N, tl.int32)):
        # dh_all[N - 1 - i_t, head, :, tile_v] = dh
        sub_1 = tl.cast(-1 + N + -1 * offset_3, tl.int64)
        assert sub_1 < dh_all_size_0, "chunk beyond dh_all"
        state = sub_1 * dh_all_stride_0 + pid_0 * dh_all_stride_1
        tl.store(dh_all + (state + indices_1[:, None] * _RDIM_SIZE_2 + indices_2[None, :]), dh)
        # dh = dh * decay[N - 1 - i_t, head] + q[head, chunk].T @ d_out[head, chunk, tile_v]
        row = pid_0 * x_stride_0 + (sub_1 * _RDIM_SIZE_1 + indices_0) * x_stride_1
        q_chunk = tl.load(q + (row[:, None] + indices_1[None, :]))
        d_chunk = tl.load(d_out + (row[:, None] + indices_2[None, :]))
        gate = tl.load(decay + (sub_1 * tl.num_programs(0) + pid_0))
        dh = dh * gate + tl.dot(tl.trans(q_chunk), d_chunk, input_precision="ieee")


@dataclass(frozen=True)
class Plan:
    """What is settled once for a specialisation: the trip count and the sizes of tiles."""

    chunks: int
    block: int
    dim: int


STATIC_SHAPES = os.environ.get("STATIC_SHAPES") == "1"
PLANS: dict[tuple[object, ...], Plan] = {}


def bind(q: torch.Tensor, n: int) -> Plan:
    """The plan of this specialisation; made anew where there is none."""
    dim = q.size(2)
    key = (q.dtype, dim, n) if STATIC_SHAPES else (q.dtype, dim)
    if key not in PLANS:
        PLANS[key] = Plan(n, min(dim, 32), triton.next_power_of_2(dim))
    return PLANS[key]


def chunk_bwd_dh(q: torch.Tensor, d_out: torch.Tensor, decay: torch.Tensor, chunk: int) -> torch.Tensor:
    """The gradient that each chunk's state receives from the chunks behind it: [chunks, heads, dim, dim]."""
    heads, length, dim = q.shape
    n = length // chunk
    dh_all = torch.empty(n, heads, dim, dim, device=q.device)
    plan = bind(q, n)
    _chunk_bwd_dh[(heads, dim // plan.block)](
        q, d_out, decay, dh_all, n, dh_all.stride(0), dh_all.stride(1), q.stride(0), q.stride(1), plan.chunks,
        _BLOCK_SIZE_0=plan.block, _RDIM_SIZE_1=chunk, _RDIM_SIZE_2=plan.dim,
    )  # fmt: skip
    return dh_all


def reference(q: torch.Tensor, d_out: torch.Tensor, decay: torch.Tensor, chunk: int) -> torch.Tensor:
    heads, length, dim = q.shape
    states, dh = [], torch.zeros(heads, dim, dim, device=q.device)
    for begin in range(length - chunk, -1, -chunk):
        states.append(dh)
        own = q[:, begin : begin + chunk].transpose(1, 2) @ d_out[:, begin : begin + chunk]
        dh = dh * decay[begin // chunk][:, None, None] + own
    return torch.stack(states[::-1])


@dataclass(frozen=True)
class Shape:
    heads: int
    length: int
    chunk: int
    dim: int

    def inputs(self, device: str) -> tuple[torch.Tensor, ...]:
        """Queries, gradients of the outputs, and the decay of each chunk."""
        q, d_out = (torch.randn(self.heads, self.length, self.dim, device=device) for _ in range(2))
        return q, d_out, torch.rand(self.length // self.chunk, self.heads, device=device)


def test(shape: Shape, device: str) -> None:
    inputs = shape.inputs(device)
    found = chunk_bwd_dh(*inputs, shape.chunk)
    torch.testing.assert_close(found, reference(*inputs, shape.chunk), rtol=1e-3, atol=1e-2)
    print(f"{found.size(0)} chunks of {shape.chunk} agree with the reference")


def bench(shape: Shape, device: str, repeats: int) -> None:
    inputs = shape.inputs(device)
    for _ in range(repeats):
        found = chunk_bwd_dh(*inputs, shape.chunk)
    if device == "cuda":
        torch.cuda.synchronize()
    print(f"{repeats} times {found.size(0)} chunks of {shape.chunk}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heads", type=int, default=512, help="of all sequences")
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--chunk", type=int, default=32)
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--test-length", type=int, default=2048)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    torch.manual_seed(0)
    if os.environ.get("SKIP_TEST") != "1":
        test(Shape(1, args.test_length, 16, args.dim), args.device)
    bench(Shape(args.heads, args.length, args.chunk, args.dim), args.device, args.repeats)


if __name__ == "__main__":
    main()
