# shrink --arch sm_90 --oracle "compile:arange's range must be a power of 2" -- smallest: one kernel whose body is a tl.arange(0, 768), and its launch
"""RMS norm with a block size per hidden size; the entry for 768 is not a power of two."""

from dataclasses import dataclass, field

import torch
import triton
import triton.language as tl


@dataclass
class Launch:
    block: int
    num_warps: int = 4


@dataclass
class Plan:
    name: str
    launches: dict[int, Launch] = field(default_factory=dict)

    def for_hidden(self, hidden: int) -> Launch:
        return self.launches.get(hidden) or Launch(block=triton.next_power_of_2(hidden))


PLANS = {
    "small": Plan("small", {256: Launch(256, 2), 512: Launch(512)}),
    "base": Plan("base", {768: Launch(768), 1024: Launch(1024, 8)}),
}


@triton.jit
def row_rms(x, hidden, eps, BLOCK: tl.constexpr):
    return tl.sqrt(tl.sum(x * x, axis=0) / hidden + eps)


@triton.jit
def rms_norm_kernel(x_ptr, weight_ptr, out_ptr, stride, hidden, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < hidden
    x = tl.load(x_ptr + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + cols, mask=mask, other=0.0)
    tl.store(out_ptr + row * stride + cols, x / row_rms(x, hidden, eps, BLOCK) * weight, mask=mask)


class RMSNorm(torch.nn.Module):
    def __init__(self, hidden: int, plan: Plan, eps: float = 1e-6):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(hidden, device="cuda"), requires_grad=False)
        self.launch = plan.for_hidden(hidden)
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = x.reshape(-1, x.shape[-1])
        out = torch.empty_like(rows)
        rms_norm_kernel[(rows.shape[0],)](
            rows, self.weight, out, rows.stride(0), rows.shape[1], self.eps,
            BLOCK=self.launch.block, num_warps=self.launch.num_warps,
        )
        return out.reshape(x.shape)


def main():
    for plan, hidden in (("small", 256), ("small", 512), ("base", 1024), ("base", 768)):
        x = torch.randn(2, 16, hidden, device="cuda")
        y = RMSNorm(hidden, PLANS[plan])(x)
        torch.testing.assert_close(y, torch.nn.functional.rms_norm(x, (hidden,), eps=1e-6))
        print(plan, hidden, "ok")


if __name__ == "__main__":
    main()
