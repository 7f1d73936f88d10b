"""The layer itself: router weights, gating, the losses, and the way back."""

import torch

from . import dispatch, gating
from .config import MoEConfig


class MoELayer(torch.nn.Module):
    def __init__(self, config: MoEConfig, device: str = "cuda"):
        super().__init__()
        self.config = config
        self.router = torch.nn.Parameter(torch.randn(config.experts, config.hidden, device=device) * 0.02)
        self.dropped = 0

    def noise(self, logits: torch.Tensor) -> torch.Tensor | None:
        if not self.training or self.config.jitter == 0:
            return None
        return torch.empty_like(logits).uniform_(-self.config.jitter, self.config.jitter)

    def forward(self, x: torch.Tensor):
        flat = x.reshape(-1, self.config.hidden)
        logits = flat @ self.router.t()
        index = logits.topk(self.config.top_k, dim=-1).indices.to(torch.int32)
        counts = dispatch.loads(index.reshape(-1), self.config.experts)
        weights, lse = gating.gate(logits.detach(), self.config, self.noise(logits))
        loss = gating.z_loss(lse, self.config.z_loss)
        return dispatch.combine(flat, weights).view_as(x), counts, loss

    def extra_repr(self) -> str:
        return f"experts={self.config.experts}, top_k={self.config.top_k}"
