"""An exponential average of a model's weights: one launch over all of them, driven by a table of addresses."""

import logging
import sys
from typing import Iterable

import torch
import triton
import triton.language as tl
from torch import nn

logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname).1s %(message)s")


@triton.jit
def address_of(table, which):
    return tl.load(table + which).to(tl.pointer_type(tl.float32))


@triton.jit
def average_kernel(live, shadow, sizes, decay, BIASED: tl.constexpr, BLOCK: tl.constexpr):
    which = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    keep = at < tl.load(sizes + which)
    new = tl.load(address_of(live, which) + at, mask=keep)
    if BIASED:
        new *= 1.0 - decay
    else:
        new = new * (1.0 - decay) + decay * tl.load(address_of(shadow, which) + at, mask=keep)
    tl.store(address_of(shadow, which) + at, new, mask=keep)


@triton.jit
def decay_kernel(weight, amount, rate, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = at < amount
    tl.store(weight + at, tl.load(weight + at, mask=keep) * (1.0 - rate), mask=keep)


@triton.jit
def distance_kernel(a, b, out, amount, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = at < amount
    gap = tl.load(a + at, mask=keep, other=0.0) - tl.load(b + at, mask=keep, other=0.0)
    tl.atomic_add(out, tl.sum(gap * gap, axis=0))


def addresses(tensors: Iterable[torch.Tensor]) -> torch.Tensor:
    return torch.tensor([tensor.data_ptr() for tensor in tensors], dtype=torch.int64, device="cuda")


class Average:
    def __init__(self, model: nn.Module, decay: float):
        self.model, self.decay, self.steps = model, decay, 0
        self.shadow = [torch.zeros_like(p.data) for p in model.parameters()]
        self._tables: dict[str, torch.Tensor] = {}

    @property
    def tables(self) -> dict[str, torch.Tensor]:
        """Parameters are updated in place, so that their addresses are read only once."""
        if not self._tables:
            self._tables["live"] = addresses(p.data for p in self.model.parameters())
            self._tables["shadow"] = addresses(self.shadow)
            self._tables["sizes"] = torch.tensor([s.numel() for s in self.shadow], dtype=torch.int64, device="cuda")
        return self._tables

    def update(self) -> None:
        tables = self.tables
        grid = (len(self.shadow), triton.cdiv(max(s.numel() for s in self.shadow), 4096))
        average_kernel[grid](
            tables["live"], tables["shadow"], tables["sizes"], self.decay, BIASED=self.steps == 0, BLOCK=4096
        )
        self.steps += 1

    def distance(self) -> float:
        out = torch.zeros(1, device="cuda")
        for p, s in zip(self.model.parameters(), self.shadow):
            distance_kernel[(triton.cdiv(s.numel(), 4096),)](p.data, s, out, s.numel(), BLOCK=4096)
        return out.item() ** 0.5


def build(width: int) -> nn.Module:
    layers = [nn.Linear(width, width, bias=False), nn.ReLU(), nn.Linear(width, 2 * width, bias=False)]
    return nn.Sequential(*layers).to("cuda")


def regularise(model: nn.Module, rate: float) -> None:
    for p in model.parameters():
        decay_kernel[(triton.cdiv(p.numel(), 4096),)](p.data, p.numel(), rate, BLOCK=4096)


def restore(model: nn.Module, checkpoint: dict[str, torch.Tensor]) -> None:
    """Puts the tensors of a checkpoint in the place of the weights, without a copy, and gives the old memory back."""
    model.load_state_dict(checkpoint, assign=True)
    torch.cuda.empty_cache()


def main() -> None:
    model = build(4096)
    average = Average(model, decay=0.9)
    best = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    for epoch in range(2):
        for _ in range(2):
            regularise(model, 0.01)
            average.update()
        torch.cuda.synchronize()
        logging.info("epoch %d: distance %.4f", epoch, average.distance())
        if epoch == 0:
            restore(model, best)


if __name__ == "__main__":
    main()
