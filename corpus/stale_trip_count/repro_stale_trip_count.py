"""Backward of a chunked scan, for two chunk lengths in turn; the number of chunks is no argument but lies on the GPU.

    python stale_trip_count.py                      a warm-up of each chunk length, then many steps without a wait
    python stale_trip_count.py --only 64            one chunk length is fine
    CUDA_LAUNCH_BLOCKING=1 python stale_trip_count.py   and so is waiting for each launch

How many chunks there are is written to pinned memory and copied from there, so that a recorded step can be replayed
with another length. The kernel walks over the chunks backwards, last one first.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import torch
import triton
import triton.language as tl


@triton.jit
def decay(state, gate):
    """The state of a chunk as the one before it sees it."""
    return state * tl.exp(-gate * gate)


@triton.jit
def settle_kernel(weights_ptr, rounds, BLOCK: tl.constexpr):
    """Weights pulled towards their mean, over and over: what the optimiser does meanwhile."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    w = tl.load(weights_ptr + at)
    for _ in range(rounds):
        w = w * 0.999 + tl.sum(w, axis=0) / BLOCK * 0.001
    tl.store(weights_ptr + at, w)


@triton.jit
def scan_backward_kernel(
    grad_ptr, gate_ptr, out_ptr, count_ptr, stride, CHUNK: tl.constexpr, WIDTH: tl.constexpr
):
    """Gradients of the states, from the last chunk to the first: one tile of CHUNK x WIDTH each."""
    count = tl.load(count_ptr)
    rows = tl.arange(0, CHUNK)
    cols = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    state = tl.zeros([CHUNK, WIDTH], tl.float32)
    for step in range(0, count):
        chunk = (count - 1 - step).to(tl.int64)
        tile = (chunk * CHUNK + rows)[:, None] * stride + cols[None, :]
        gate = tl.load(gate_ptr + tile)
        state = decay(state, gate) + tl.load(grad_ptr + tile)
        tl.store(out_ptr + tile, state)


@dataclass(frozen=True)
class Problem:
    length: int
    width: int
    device: str

    def tensors(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        shape = (self.length, self.width)
        return tuple(torch.zeros(shape, device=self.device) for _ in range(3))


class Counter:
    """The number of chunks of each sequence, where kernels find it: pinned on the host, and a copy on the device."""

    def __init__(self, device: str, sequences: int = 1 << 16) -> None:
        self.host = torch.zeros(sequences, dtype=torch.int32, pin_memory=True)
        self.device = torch.zeros(sequences, dtype=torch.int32, device=device)

    def set(self, chunks: int) -> torch.Tensor:
        self.host.fill_(chunks)
        self.device.copy_(self.host, non_blocking=True)
        return self.device


def scan_backward(
    counter: Counter, problem: Problem, tensors: tuple[torch.Tensor, ...], chunk: int
) -> None:
    grad, gate, out = tensors
    count = counter.set(problem.length // chunk)
    grid = (problem.width // 4,)
    scan_backward_kernel[(1,)](grad, gate, out, count, grad.stride(0), CHUNK=chunk, WIDTH=4)


def step(
    counter: Counter, problem: Problem, tensors: tuple[torch.Tensor, ...], weights, rounds: int,
    chunks,
) -> None:
    """One training step: the optimiser of the last one, then the backward for each chunk length."""
    settle_kernel[(1,)](weights, rounds, BLOCK=32)
    for chunk in chunks:
        scan_backward(counter, problem, tensors, chunk)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", type=int, help="one chunk length instead of two")
    parser.add_argument("--length", type=int, default=1 << 13)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--steps", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=200000, help="of the optimiser")
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    chunks = (args.only,) if args.only else (64, 1)
    problem = Problem(args.length, args.width, args.device)
    tensors = problem.tensors()
    weights = torch.zeros(1 << 15, device=args.device)
    counter = Counter(args.device)
    for chunk in chunks:
        step(counter, problem, tensors, weights, 1, (chunk,))
        torch.cuda.synchronize()
        print(f"warm: {args.length // chunk} chunks of {chunk}")
    for _ in range(1):
        step(counter, problem, tensors, weights, args.rounds, chunks)
    torch.cuda.synchronize()
    print(f"{args.steps} steps, {tensors[2].abs().max().item():.3f}")


if __name__ == "__main__":
    main()
