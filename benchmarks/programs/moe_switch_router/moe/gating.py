"""From logits to the chosen experts' weights, and the losses that keep the load balanced."""

import torch
import triton
import triton.language as tl


@triton.jit
def masked_softmax(logits, inside):
    peak = tl.max(tl.where(inside, logits, float("-inf")), axis=0)
    weights = tl.where(inside, tl.exp(logits - peak), 0.0)
    return weights / tl.sum(weights, axis=0), peak


@triton.jit
def gate_kernel(
    logits_ptr, noise_ptr, weights_ptr, lse_ptr, experts, stride,
    BLOCK: tl.constexpr, K: tl.constexpr, NORMALIZE: tl.constexpr, JITTER: tl.constexpr,
):
    token = tl.program_id(0)
    expert = tl.arange(0, BLOCK)
    inside = expert < experts
    logits = tl.load(logits_ptr + token * stride + expert, mask=inside, other=float("-inf")).to(tl.float32)
    if JITTER:
        noise = tl.load(noise_ptr + token * stride + expert, mask=inside, other=0.0)
        logits = logits * (1.0 + noise)
    probabilities, peak = masked_softmax(logits, inside)
    tl.store(lse_ptr + token, peak)
    best = tl.topk(probabilities, K)
    if NORMALIZE:
        best = best / (tl.sum(best, axis=0) + 1e-9)
    tl.store(weights_ptr + token * K + tl.arange(0, K), best)


@triton.jit
def z_loss_kernel(lse_ptr, loss_ptr, tokens, weight, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, tokens, BLOCK):
        lse = tl.load(lse_ptr + start + offsets, mask=start + offsets < tokens, other=0.0)
        total += lse * lse
    tl.store(loss_ptr, weight * tl.sum(total, axis=0) / tokens)


def gate(logits: torch.Tensor, config, noise: torch.Tensor | None = None):
    tokens, experts = logits.shape
    weights = torch.zeros(tokens, config.top_k, device=logits.device)
    lse = torch.zeros(tokens, device=logits.device)
    if noise is None:
        noise = torch.zeros_like(logits)
    gate_kernel[(tokens,)](
        logits, noise, weights, lse, experts, logits.stride(0),
        BLOCK=triton.next_power_of_2(experts), K=config.top_k, NORMALIZE=config.normalize,
        JITTER=config.jitter > 0, num_warps=1,
    )
    return weights, lse


def z_loss(lse: torch.Tensor, weight: float) -> torch.Tensor:
    loss = torch.zeros(1, device=lse.device)
    z_loss_kernel[(1,)](lse, loss, lse.numel(), weight, BLOCK=256)
    return loss
