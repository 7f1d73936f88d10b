"""GEGLU feed-forward gate: gelu(gate) * up, with the tanh form of gelu."""
import argparse
import dataclasses

import torch
import triton
import triton.language as tl


@dataclasses.dataclass
class FFNConfig:
    hidden: int = 96
    intermediate: int = 320
    dropout: float = 0.0
    block: int = 128
    packed: bool = True


@triton.jit
def tanh(x):
    e = tl.exp(2.0 * x)
    return (e - 1.0) / (e + 1.0)


@triton.jit
def gelu_tanh(x):
    inner = 0.7978845608028654 * (x + 0.044715 * x * x * x)
    return 0.5 * x * (1.0 + tanh(inner))


@triton.jit
def geglu_kernel(h_ptr, y_ptr, width, stride_h, stride_y, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < width
    gate = tl.load(h_ptr + row * stride_h + cols, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(h_ptr + row * stride_h + width + cols, mask=mask, other=0.0).to(tl.float32)
    y = gelu_tanh(gate) * up
    tl.store(y_ptr + row * stride_y + cols, y.to(y_ptr.dtype.element_ty), mask=mask)


def geglu(h, block=128):
    rows, double = h.shape
    assert double % 2 == 0 and h.stride(1) == 1
    width = double // 2
    y = torch.empty((rows, width), device=h.device, dtype=h.dtype)
    geglu_kernel[(rows, triton.cdiv(width, block))](h, y, width, h.stride(0), y.stride(0),
                                                    BLOCK=block, num_warps=4)
    return y


def geglu_torch(h):
    gate, up = h.chunk(2, dim=-1)
    return torch.nn.functional.gelu(gate, approximate="tanh") * up


class FeedForward(torch.nn.Module):
    def __init__(self, config, device):
        super().__init__()
        self.config = config
        self.inp = torch.nn.Linear(config.hidden, 2 * config.intermediate, bias=False, device=device)
        self.out = torch.nn.Linear(config.intermediate, config.hidden, bias=False, device=device)

    def forward(self, x, gate=geglu):
        return self.out(gate(self.inp(x)))


def outlier_activations(rows, config, device):
    x = torch.randn(rows, config.hidden, device=device)
    x[rows // 2] *= 40.0
    return x


def check(name, module, x):
    with torch.no_grad():
        y = module(x)
        ref = module(x, gate=geglu_torch)
    bad = torch.isnan(y).sum().item()
    assert not torch.isnan(ref).any()
    if bad:
        raise FloatingPointError(f"{name}: {bad} of {y.numel()} outputs are nan")
    torch.testing.assert_close(y, ref, rtol=1e-3, atol=1e-3)
    print(name, "ok")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    device = "cuda"
    config = FFNConfig()
    module = FeedForward(config, device)
    check("ordinary", module, torch.randn(args.rows, config.hidden, device=device))
    check("outliers", module, outlier_activations(args.rows, config, device))


if __name__ == "__main__":
    main()
