"""Inference-time batch norm + leaky ReLU, fused. Statistics are registered buffers."""
from dataclasses import dataclass, field
from typing import Tuple

import torch
from torch import nn
import triton
import triton.language as tl


@dataclass(frozen=True)
class NormConfig:
    channels: int = 20
    eps: float = 1e-2
    slope: float = 0.1
    block: int = 64
    spatial: Tuple[int, int] = (9, 11)
    batch: int = 3
    names: Tuple[str, ...] = field(default=("stem", "head"))

    def __post_init__(self):
        if self.block & (self.block - 1):
            raise ValueError("block must be a power of two")


@triton.jit
def bn_lrelu_kernel(
    x_ptr, y_ptr, mean_ptr, var_ptr, gamma_ptr, beta_ptr,
    channels, pixels, eps, slope,
    BLOCK: tl.constexpr,
):
    plane = tl.program_id(0)
    channel = plane % channels
    offs = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < pixels
    x = tl.load(x_ptr + plane * pixels + offs, mask=mask)
    mean = tl.load(mean_ptr + channel)
    var = tl.load(var_ptr + channel)
    gamma = tl.load(gamma_ptr + channel)
    beta = tl.load(beta_ptr + channel)
    scale = gamma / (tl.sqrt(var) + eps)
    y = (x - mean) * scale + beta
    y = tl.where(y > 0, y, slope * y)
    tl.store(y_ptr + plane * pixels + offs, y, mask=mask)


class FusedBatchNormAct(nn.Module):
    def __init__(self, config: NormConfig):
        super().__init__()
        self.config = config
        self.register_buffer("running_mean", torch.zeros(config.channels))
        self.register_buffer("running_var", torch.ones(config.channels))
        self.register_buffer("num_batches_tracked", torch.tensor(0, dtype=torch.long))
        self.gamma = nn.Parameter(torch.ones(config.channels))
        self.beta = nn.Parameter(torch.zeros(config.channels))

    @torch.no_grad()
    def randomize(self, generator):
        self.running_mean.copy_(torch.randn(self.config.channels, generator=generator))
        self.running_var.copy_(torch.rand(self.config.channels, generator=generator) + 0.2)
        self.gamma.uniform_(0.5, 1.5, generator=generator)
        self.beta.normal_(generator=generator)
        self.num_batches_tracked += 1

    def forward(self, x):
        cfg = self.config
        n, c, h, w = x.shape
        assert c == cfg.channels, f"expected {cfg.channels} channels, not {c}"
        x = x.contiguous()
        y = torch.empty_like(x)
        grid = (n * c, triton.cdiv(h * w, cfg.block))
        bn_lrelu_kernel[grid](
            x, y, self.running_mean, self.running_var, self.gamma, self.beta,
            c, h * w, cfg.eps, cfg.slope, BLOCK=cfg.block,
        )
        return y


class ReferenceBatchNormAct(nn.Module):
    def __init__(self, fused: FusedBatchNormAct):
        super().__init__()
        cfg = fused.config
        self.bn = nn.BatchNorm2d(cfg.channels, eps=cfg.eps)
        self.bn.running_mean.copy_(fused.running_mean)
        self.bn.running_var.copy_(fused.running_var)
        with torch.no_grad():
            self.bn.weight.copy_(fused.gamma)
            self.bn.bias.copy_(fused.beta)
        self.act = nn.LeakyReLU(cfg.slope)

    def forward(self, x):
        return self.act(self.bn(x))


@torch.inference_mode()
def compare(name, config, device):
    generator = torch.Generator().manual_seed(len(name))
    fused = FusedBatchNormAct(config)
    fused.randomize(generator)
    reference = ReferenceBatchNormAct(fused).to(device).eval()
    fused = fused.to(device).eval()
    x = torch.randn(config.batch, config.channels, *config.spatial, generator=generator).to(device)
    torch.testing.assert_close(fused(x), reference(x), rtol=1e-4, atol=1e-4)
    print(f"{name}: fused and eager agree")


def main():
    config = NormConfig()
    for name in config.names:
        compare(name, config, torch.device("cuda"))


main()
