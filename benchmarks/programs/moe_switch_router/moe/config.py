"""What a layer looks like, and the presets that the training script offers."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class MoEConfig:
    hidden: int = 128
    experts: int = 24
    top_k: int = 2
    capacity_factor: float = 1.25
    normalize: bool = True
    jitter: float = 0.0
    z_loss: float = 1e-3

    def capacity(self, tokens: int) -> int:
        return max(4, int(self.capacity_factor * tokens * self.top_k / self.experts))


_BASE = MoEConfig()
PRESETS = {
    "mixtral": replace(_BASE, experts=8, top_k=2),
    "qwen": replace(_BASE, experts=60, top_k=4, normalize=False),
    "switch": replace(_BASE, experts=32, top_k=1, capacity_factor=1.0, jitter=0.01),
}
