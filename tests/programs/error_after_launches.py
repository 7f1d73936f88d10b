# shrink --arch sm_90 --oracle exception:KeyError:p99 -- smallest: {}["p99"]
"""Benchmarks two activations; the summary asks for a percentile that nobody measured."""

import torch
import triton
import triton.language as tl


@triton.jit
def sigmoid(x):
    return 1.0 / (1.0 + tl.exp(-x))


@triton.jit
def silu_kernel(x_ptr, y_ptr, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < count, other=0.0)
    tl.store(y_ptr + offsets, x * sigmoid(x), mask=offsets < count)


@triton.jit
def relu_kernel(x_ptr, y_ptr, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < count, other=0.0)
    tl.store(y_ptr + offsets, tl.maximum(x, 0.0), mask=offsets < count)


KERNELS = {"silu": (silu_kernel, torch.nn.functional.silu), "relu": (relu_kernel, torch.relu)}


def apply(kernel, x):
    y = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), BLOCK=512)
    return y


def measure(kernel, x, repeats=5):
    times = []
    for _ in range(repeats):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        apply(kernel, x)
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    times.sort()
    return {"p50": times[len(times) // 2], "max": times[-1]}


def summary(results):
    return {name: result["p99"] for name, result in results.items()}


def main():
    x = torch.randn(64, 1000, device="cuda")
    results = {}
    for name, (kernel, reference) in KERNELS.items():
        torch.testing.assert_close(apply(kernel, x), reference(x))
        results[name] = measure(kernel, x)
    for name, value in summary(results).items():
        print(f"{name:8} {value:.3f} ms")


if __name__ == "__main__":
    main()
