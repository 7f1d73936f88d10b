"""How many tokens each expert gets, and a balance of the load; the counting is what the routing waits for.

    python lost_updates.py              counts differ from run to run
    python lost_updates.py --experts 1  differ as well: they are too small

Atomic additions were thought slow.
"""

from __future__ import annotations

import argparse

import torch
import triton
import triton.language as tl


@triton.jit
def top_expert(logits, experts: tl.constexpr):
    """The number of the largest logit of each row."""
    return tl.argmax(logits, axis=1)


@triton.jit
def route_kernel(logits_ptr, expert_ptr, tokens, EXPERTS: tl.constexpr, BLOCK: tl.constexpr):
    token = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = token[:, None] * EXPERTS + tl.arange(0, EXPERTS)[None, :]
    logits = tl.load(logits_ptr + at, mask=(token < tokens)[:, None], other=0.0)
    tl.store(expert_ptr + token, top_expert(logits, EXPERTS), mask=token < tokens)


@triton.jit
def count_kernel(expert_ptr, count_ptr, tokens, EXPERTS: tl.constexpr, BLOCK: tl.constexpr):
    """Tokens of each expert, added to what the other programs found."""
    token = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    expert = tl.load(expert_ptr + token, mask=token < tokens, other=-1)
    number = tl.arange(0, EXPERTS)
    mine = tl.sum((expert[:, None] == number[None, :]).to(tl.int32), axis=0)
    before = tl.load(count_ptr + number)
    tl.store(count_ptr + number, before + mine)


@triton.jit
def balance_kernel(count_ptr, loss_ptr, tokens, EXPERTS: tl.constexpr):
    share = tl.load(count_ptr + tl.arange(0, EXPERTS)).to(tl.float32) / tokens
    tl.store(loss_ptr, tl.sum(share * share, axis=0) * EXPERTS)


def balance(logits: torch.Tensor, block: int = 64) -> tuple[torch.Tensor, torch.Tensor]:
    tokens, experts = logits.shape
    expert = torch.empty(tokens, dtype=torch.int32, device=logits.device)
    count = torch.zeros(experts, dtype=torch.int32, device=logits.device)
    loss = torch.empty(1, device=logits.device)
    grid = (triton.cdiv(tokens, block),)
    route_kernel[grid](logits, expert, tokens, EXPERTS=experts, BLOCK=block)
    count_kernel[grid](expert, count, tokens, EXPERTS=experts, BLOCK=block)
    balance_kernel[(1,)](count, loss, tokens, EXPERTS=experts)
    return count, loss


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=1 << 18)
    parser.add_argument("--experts", type=int, default=16)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    torch.manual_seed(0)
    logits = torch.randn(args.tokens, args.experts, device=args.device)
    count, loss = balance(logits)
    print(f"{count.sum().item()} of {args.tokens} tokens counted, balance {loss.item():.3f}")


if __name__ == "__main__":
    main()
