"""A mixture of experts: tokens are sorted by their expert, and rows go to the slots that an expert owns.

A token that no expert wants gets a number behind the last expert, and is dropped.
"""

from dataclasses import dataclass

import torch
import triton
import triton.language as tl


@dataclass
class MoeConfig:
    experts: int = 8
    hidden: int = 64
    align: int = 16
    block: int = 16
    least: float = 0.1


@triton.jit
def router_kernel(logits, choice, tokens, least, EXPERTS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    cols = tl.arange(0, EXPERTS)
    scores = tl.load(logits + rows[:, None] * EXPERTS + cols[None, :], mask=rows[:, None] < tokens, other=-1e9)
    best = tl.where(tl.max(scores, axis=1) < least, EXPERTS, tl.argmax(scores, axis=1))
    tl.store(choice + rows, best, mask=rows < tokens)


@triton.jit
def slot_of(rank, expert, starts, firsts):
    """Where a sorted token lies in the padded buffer, and how far it is within its expert."""
    first = tl.load(firsts + expert)
    within = rank - first
    return tl.load(starts + expert) + within, within


@triton.jit
def permute_kernel(x, out, order, choice, starts, firsts, tokens, HIDDEN: tl.constexpr, BLOCK: tl.constexpr):
    rank = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = rank < tokens
    source = tl.load(order + rank, mask=live, other=0)
    expert = tl.load(choice + source, mask=live, other=0)
    slot, within = slot_of(rank, expert, starts, firsts)
    cols = tl.arange(0, HIDDEN)
    row = tl.load(x + source[:, None] * HIDDEN + cols[None, :], mask=live[:, None], other=0.0)
    tl.store(out + slot[:, None] * HIDDEN + cols[None, :], row, mask=live[:, None])


class Dispatcher:
    def __init__(self, config: MoeConfig):
        self.config = config

    def padded(self, counts: torch.Tensor) -> torch.Tensor:
        align = self.config.align
        return (counts + align - 1) // align * align

    def plan(self, choice: torch.Tensor):
        counts = torch.bincount(choice, minlength=self.config.experts + 1)
        order = torch.argsort(choice, stable=True)
        firsts = counts.cumsum(0) - counts
        room = self.padded(counts)
        starts = room.cumsum(0) - room
        kept = order.numel()
        return order[:kept], firsts, starts, int(room[: self.config.experts].sum())

    def __call__(self, x: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
        config, tokens = self.config, x.shape[0]
        choice = torch.empty(tokens, dtype=torch.int64, device="cuda")
        grid = (triton.cdiv(tokens, config.block),)
        router_kernel[grid](logits, choice, tokens, config.least, EXPERTS=config.experts, BLOCK=config.block)
        order, firsts, starts, total = self.plan(choice)
        out, kept = torch.zeros(total, config.hidden, device="cuda"), order.numel()
        grid = (triton.cdiv(kept, config.block),)
        permute_kernel[grid](x, out, order, choice, starts, firsts, kept, HIDDEN=config.hidden, BLOCK=config.block)
        return out


def run(tokens: int, unwanted: int, dispatch: Dispatcher) -> None:
    config = dispatch.config
    x = torch.randn(tokens, config.hidden, device="cuda")
    favourite = torch.arange(tokens, device="cuda") % config.experts
    logits = torch.nn.functional.one_hot(favourite, config.experts).float()
    logits[tokens - unwanted :] = 0.0
    out = dispatch(x, logits)
    torch.cuda.synchronize()
    print(tokens, "tokens into", out.shape[0], "slots")


if __name__ == "__main__":
    torch.manual_seed(0)
    dispatch = Dispatcher(MoeConfig())
    for tokens, unwanted in ((128, 0), (250, 0), (150, 9)):
        run(tokens, unwanted, dispatch)
