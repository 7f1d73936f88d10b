"""The Chamfer distance of two clouds of points, with its gradient, and its tests: `python chamfer_loss.py`."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import torch
import triton
import triton.language as tl

BLOCK_A, BLOCK_B = 16, 32


@triton.jit
def load_points(cloud, at, amount):
    """The coordinates of some points; lanes beyond the last have a filling."""
    keep = at < amount
    x = tl.load(cloud + 3 * at, mask=keep, other=0.0)
    y = tl.load(cloud + 3 * at + 1, mask=keep, other=0.0)
    z = tl.load(cloud + 3 * at + 2, mask=keep, other=0.0)
    return x, y, z


@triton.jit
def nearest_kernel(a, b, squares, owners, amount_a, amount_b, A: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * A + tl.arange(0, A)
    ax, ay, az = load_points(a, i, amount_a)
    best = tl.full([A], float("inf"), tl.float32)
    owner = tl.full([A], 0, tl.int32)
    for start in range(0, amount_b, B):
        j = start + tl.arange(0, B)
        bx, by, bz = load_points(b, j, amount_b)
        dx, dy, dz = ax[:, None] - bx[None, :], ay[:, None] - by[None, :], az[:, None] - bz[None, :]
        square = dx * dx + dy * dy + dz * dz
        found = tl.min(square, axis=1)
        lane = tl.argmin(square, axis=1)
        owner = tl.where(found < best, start + lane, owner)
        best = tl.minimum(best, found)
    tl.store(squares + i, best, mask=i < amount_a)
    tl.store(owners + i, tl.minimum(owner, amount_b - 1), mask=i < amount_a)


@triton.jit
def gradient_kernel(a, b, owners, upstream, grad_a, grad_b, amount_a, A: tl.constexpr):
    i = tl.program_id(0) * A + tl.arange(0, A)
    keep = i < amount_a
    j = tl.load(owners + i, mask=keep, other=0)
    scale = 2.0 * tl.load(upstream) / amount_a
    for axis in tl.static_range(3):
        mine = tl.load(a + 3 * i + axis, mask=keep, other=0.0)
        pull = scale * (mine - tl.load(b + 3 * j + axis, mask=keep, other=0.0))
        tl.atomic_add(grad_a + 3 * i + axis, pull, mask=keep)
        tl.atomic_add(grad_b + 3 * j + axis, -pull, mask=keep)


def nearest(a, b):
    squares = torch.empty(a.shape[0], device=a.device)
    owners = torch.empty(a.shape[0], dtype=torch.int32, device=a.device)
    grid = (triton.cdiv(a.shape[0], BLOCK_A),)
    nearest_kernel[grid](a, b, squares, owners, a.shape[0], b.shape[0], A=BLOCK_A, B=BLOCK_B)
    return squares, owners


class Chamfer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        squares_a, owners_a = nearest(a, b)
        squares_b, owners_b = nearest(b, a)
        ctx.save_for_backward(a, b, owners_a, owners_b)
        return squares_a.mean() + squares_b.mean()

    @staticmethod
    def backward(ctx, upstream):
        a, b, owners_a, owners_b = ctx.saved_tensors
        grad_a, grad_b = torch.zeros_like(a), torch.zeros_like(b)
        upstream = upstream.reshape(1).contiguous()
        for one, other, owners, mine, theirs in ((a, b, owners_a, grad_a, grad_b), (b, a, owners_b, grad_b, grad_a)):
            grid = (triton.cdiv(one.shape[0], BLOCK_A),)
            gradient_kernel[grid](one, other, owners, upstream, mine, theirs, one.shape[0], A=BLOCK_A)
        return grad_a, grad_b


def clouds(amount_a, amount_b):
    generator = torch.Generator().manual_seed(amount_a)
    a = torch.randn(amount_a, 3, generator=generator) + 4
    b = torch.randn(amount_b, 3, generator=generator) + torch.tensor([4.0, 4.0, -4.0])
    return a.requires_grad_(), b.requires_grad_()


def check(a, b):
    squares = (a.detach()[:, None] - b.detach()[None]).square().sum(-1)
    loss = Chamfer.apply(a, b)
    torch.testing.assert_close(loss.detach(), squares.amin(1).mean() + squares.amin(0).mean())
    grads = torch.autograd.grad(loss, (a, b))
    plain = torch.cdist(a, b).square()
    for ours, theirs in zip(grads, torch.autograd.grad(plain.amin(1).mean() + plain.amin(0).mean(), (a, b))):
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4)


def test_one_tile():
    check(*clouds(32, 32))


def test_several_tiles():
    check(*clouds(64, 96))


def test_other_amounts():
    check(*clouds(50, 40))


if __name__ == "__main__":
    for name, test in [item for item in globals().items() if item[0].startswith("test_")]:
        test()
        print(name, "passed")
