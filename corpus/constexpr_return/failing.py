"""RMS normalisation whose block widths come from small jit functions of constexpr arguments."""

import torch
import triton
import triton.language as tl


@triton.jit
def lanes_of(WIDTH: tl.constexpr, PER_LANE: tl.constexpr):
    """How many lanes a row takes when each holds PER_LANE elements."""
    return WIDTH // PER_LANE


@triton.jit
def mean_square(x, count):
    return tl.sum(tl.sum(x * x, axis=1), axis=0) / count


@triton.jit
def rms_norm_kernel(x_ptr, weight_ptr, out_ptr, columns, eps, WIDTH: tl.constexpr, PER_LANE: tl.constexpr):
    row = tl.program_id(0)
    lane = tl.arange(0, lanes_of(WIDTH, PER_LANE))
    cols = lane[:, None] * PER_LANE + tl.arange(0, PER_LANE)[None, :]
    inside = cols < columns
    x = tl.load(x_ptr + row * columns + cols, mask=inside, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + cols, mask=inside, other=0.0)
    scale = 1.0 / tl.sqrt(mean_square(x, columns) + eps)
    tl.store(out_ptr + row * columns + cols, x * scale * weight, mask=inside)


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < count
    x = tl.load(x_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x + tl.load(y_ptr + offsets, mask=inside), mask=inside)


class RMSNorm(torch.nn.Module):
    def __init__(self, columns: int, eps: float = 1e-6):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(columns, device="cuda"))
        self.eps = eps

    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        rows, columns = x.shape
        summed = torch.empty_like(x)
        add_kernel[(triton.cdiv(x.numel(), 1024),)](x, residual, summed, x.numel(), BLOCK=1024)
        out = torch.empty_like(x)
        rms_norm_kernel[(rows,)](
            summed, self.weight.detach(), out, columns, self.eps,
            WIDTH=triton.next_power_of_2(columns), PER_LANE=4,
        )
        return out


def reference(x, residual, weight, eps):
    x = x + residual
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight


def main() -> None:
    torch.manual_seed(0)
    for columns in (96, 1000):
        norm = RMSNorm(columns)
        x, residual = torch.randn(2, 16, columns, device="cuda")
        expected = reference(x, residual, norm.weight.detach(), norm.eps)
        torch.testing.assert_close(norm(x, residual), expected, rtol=1e-5, atol=1e-5)
        print(columns, "ok")


if __name__ == "__main__":
    main()
