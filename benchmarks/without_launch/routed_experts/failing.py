"""A model server compiles the kernels of its layers while the weights load: router, experts, gate."""

import argparse
import concurrent.futures
import os
from abc import ABC, abstractmethod

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_row(logits, valid):
    shifted = logits - tl.max(tl.where(valid, logits, float("-inf")), axis=0)
    weights = tl.where(valid, tl.exp(shifted), 0.0)
    return weights / tl.sum(weights, axis=0)


@triton.jit
def route_kernel(logits_ptr, weights_ptr, stride, experts, BLOCK: tl.constexpr, CHOSEN: tl.constexpr):
    token = tl.program_id(0)
    expert = tl.arange(0, BLOCK)
    valid = expert < experts
    logits = tl.load(logits_ptr + token * stride + expert, mask=valid, other=float("-inf"))
    best = tl.topk(softmax_row(logits, valid), CHOSEN)
    tl.store(weights_ptr + token * CHOSEN + tl.arange(0, CHOSEN), best)


@triton.jit
def gate_kernel(x_ptr, gate_ptr, out_ptr, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < count
    gate = tl.load(gate_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, x * tl.sigmoid(gate), mask=mask)


@triton.jit
def combine_kernel(y_ptr, weights_ptr, out_ptr, width, BLOCK: tl.constexpr, CHOSEN: tl.constexpr):
    token = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for k in tl.static_range(CHOSEN):
        weight = tl.load(weights_ptr + token * CHOSEN + k)
        total += weight * tl.load(y_ptr + (token * CHOSEN + k) * width + cols, mask=cols < width, other=0.0)
    tl.store(out_ptr + token * width + cols, total, mask=cols < width)


class Layer(ABC):
    def __init__(self, name, dtype=torch.bfloat16):
        self.name, self.dtype = name, dtype

    @abstractmethod
    def compile(self):
        """Have all kernels of the layer compiled."""


class Gate(Layer):
    def compile(self):
        return [gate_kernel.warmup(self.dtype, self.dtype, self.dtype, 1 << 22, BLOCK=1024, grid=(4096,))]


class Router(Layer):
    def __init__(self, name, experts, chosen):
        super().__init__(name, torch.float32)
        self.experts, self.chosen = experts, chosen

    def compile(self):
        block = triton.next_power_of_2(self.experts)
        given = (self.dtype, self.dtype, self.experts, self.experts)
        return [route_kernel.warmup(*given, BLOCK=block, CHOSEN=self.chosen, grid=(1,), num_warps=1)]


class Combine(Layer):
    def __init__(self, name, width, chosen):
        super().__init__(name)
        self.width, self.chosen = width, chosen

    def compile(self):
        block = triton.next_power_of_2(self.width)
        return [
            combine_kernel.warmup(
                self.dtype, torch.float32, self.dtype, self.width, BLOCK=block, CHOSEN=self.chosen, grid=(1,)
            )
        ]


def model(experts, chosen, width, depth):
    for number in range(depth):
        yield Gate(f"layer {number}: gate")
        yield Combine(f"layer {number}: combine", width, chosen)
        yield Router(f"layer {number}: router", experts, chosen)


def weights(path):
    return os.path.getsize(path) if path and os.path.exists(path) else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights")
    parser.add_argument("--chosen", type=int, default=1)
    args = parser.parse_args()
    with concurrent.futures.ThreadPoolExecutor(1) as loading:
        loaded = loading.submit(weights, args.weights)
        for layer in model(experts=24, chosen=args.chosen, width=512, depth=2):
            for kernel in layer.compile():
                print(f"{layer.name:20} {kernel.metadata.name:16} {kernel.metadata.shared} bytes shared")
        print(loaded.result(), "bytes of weights")


if __name__ == "__main__":
    main()
