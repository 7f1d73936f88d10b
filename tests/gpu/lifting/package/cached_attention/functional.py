"""The kernels as one differentiable function."""

from __future__ import annotations

import torch
import triton

from .config import AttentionConfig
from .kernels import backward_kernel, delta_kernel, forward_kernel


def leading_strides(tensor: torch.Tensor) -> tuple[int, int, int]:
    if tensor.stride(3) != 1:
        raise ValueError("the last dimension must be contiguous")
    return tensor.stride(0), tensor.stride(1), tensor.stride(2)


class Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, keys, values, config: AttentionConfig):
        batch, heads, q_len, width = q.shape
        if keys.stride() != values.stride():
            raise ValueError("keys and values must lie in memory the same way")
        q = q.contiguous()
        out = torch.empty_like(q)
        lse = torch.empty(batch * heads, q_len, device=q.device, dtype=torch.float32)
        tiles = config.forward
        forward_kernel[(triton.cdiv(q_len, tiles.queries), batch * heads)](
            q,
            keys,
            values,
            out,
            lse,
            heads,
            q_len,
            keys.shape[2],
            config.scale,
            *leading_strides(q),
            *leading_strides(keys),
            CAUSAL=config.causal,
            WIDTH=width,
            BLOCK_Q=tiles.queries,
            BLOCK_K=tiles.keys,
            num_warps=tiles.num_warps,
        )
        ctx.save_for_backward(q, keys, values, out, lse)
        ctx.config = config
        return out

    @staticmethod
    def backward(ctx, grad):
        q, keys, values, out, lse = ctx.saved_tensors
        batch, heads, q_len, width = q.shape
        config, tiles = ctx.config, ctx.config.backward
        grad = grad.contiguous()
        delta = torch.empty_like(lse)
        grid = (triton.cdiv(q_len, tiles.queries), batch * heads)
        delta_kernel[grid](out, grad, delta, heads, q_len, *leading_strides(out), WIDTH=width, BLOCK_Q=tiles.queries)
        grad_q = torch.empty_like(q)
        backward_kernel[grid](
            q,
            keys,
            values,
            grad,
            lse,
            delta,
            grad_q,
            heads,
            q_len,
            keys.shape[2],
            config.scale,
            *leading_strides(q),
            *leading_strides(keys),
            CAUSAL=config.causal,
            WIDTH=width,
            BLOCK_Q=tiles.queries,
            BLOCK_K=tiles.keys,
            num_warps=tiles.num_warps,
        )
        return grad_q, None, None, None


def attention(q: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, config: AttentionConfig) -> torch.Tensor:
    return Attention.apply(q, keys, values, config)
