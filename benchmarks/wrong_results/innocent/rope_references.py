"""Rotary embedding: the kernel is warmed up, and two eager versions are compared before it is tested."""
import logging

import torch
import triton
import triton.language as tl

log = logging.getLogger("rope")


@triton.jit
def rope_kernel(x_ptr, cos_ptr, sin_ptr, y_ptr, half, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    inside = cols < half
    left = tl.load(x_ptr + row * 2 * half + cols, mask=inside)
    right = tl.load(x_ptr + row * 2 * half + half + cols, mask=inside)
    cos = tl.load(cos_ptr + row * half + cols, mask=inside)
    sin = tl.load(sin_ptr + row * half + cols, mask=inside)
    tl.store(y_ptr + row * 2 * half + cols, left * cos - right * sin, mask=inside)
    tl.store(y_ptr + row * 2 * half + half + cols, right * cos + left * sin, mask=inside)


def rope(x, cos, sin):
    rows, width = x.shape
    y = torch.empty_like(x)
    rope_kernel[(rows,)](x, cos, sin, y, width // 2, BLOCK=triton.next_power_of_2(width // 2))
    return y


def rotate_half(x):
    left, right = x.chunk(2, dim=-1)
    return torch.cat((-right, left), dim=-1)


def eager_halves(x, cos, sin):
    return x * torch.cat((cos, cos), dim=-1) + rotate_half(x) * torch.cat((sin, sin), dim=-1)


def eager_complex(x, cos, sin):
    pairs = torch.stack((x[:, 0::2], x[:, 1::2]), dim=-1)
    turned = torch.view_as_complex(pairs.contiguous()) * torch.complex(cos, sin)
    return torch.view_as_real(turned).flatten(1)


def angles(rows, half, device):
    steps = 10000.0 ** (-torch.arange(half, device=device) / half)
    turns = torch.arange(rows, device=device)[:, None] * steps[None, :]
    return turns.cos(), turns.sin()


def main():
    logging.basicConfig(level=logging.INFO)
    torch.manual_seed(4)
    for rows, width in [(6, 32), (5, 48)]:
        cos, sin = angles(rows, width // 2, "cuda")
        x = torch.randn(rows, width, device="cuda")
        y = rope(x, cos, sin)
        log.info("warm: norm %.3f", y.norm().item())
        reference, other = eager_halves(x, cos, sin), eager_complex(x, cos, sin)
        torch.testing.assert_close(other, reference, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(y, reference, rtol=1e-4, atol=1e-4)


if __name__ == "__main__":
    main()
