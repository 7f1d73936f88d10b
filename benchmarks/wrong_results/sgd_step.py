"""SGD with momentum and weight decay as one fused kernel over flat parameters."""
import dataclasses

import torch
import triton
import triton.language as tl


@dataclasses.dataclass
class Hyper:
    lr: float = 0.05
    momentum: float = 0.9
    weight_decay: float = 0.01
    nesterov: bool = False


def configs():
    return [triton.Config({"BLOCK": block}, num_warps=warps)
            for block, warps in ((256, 2), (512, 4), (1024, 8))]


@triton.autotune(configs=configs(), key=["n"])
@triton.jit
def sgd_kernel(p_ptr, g_ptr, m_ptr, n, lr, momentum, weight_decay,
               NESTEROV: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    p = tl.load(p_ptr + offs, mask=mask, other=0.0)
    g = tl.load(g_ptr + offs, mask=mask, other=0.0)
    m = tl.load(m_ptr + offs, mask=mask, other=0.0)
    g += weight_decay * p
    m = momentum * m + g
    if NESTEROV:
        update = g + momentum * m
    else:
        update = m
    tl.store(m_ptr + offs, m, mask=mask)
    tl.store(p_ptr + offs, p - lr * update, mask=mask)


@triton.jit
def squared_norm_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    tl.atomic_add(out_ptr, tl.sum(x * x, axis=0))


class FusedSGD:
    def __init__(self, params, hyper=None):
        self.params = list(params)
        self.hyper = hyper or Hyper()
        self.buffers = [torch.zeros_like(p) for p in self.params]

    def grad_norm(self):
        total = torch.zeros(1, device=self.params[0].device)
        for p in self.params:
            squared_norm_kernel[(triton.cdiv(p.numel(), 1024),)](p.grad, total, p.numel(), BLOCK=1024)
        return total.sqrt()

    @torch.no_grad()
    def step(self):
        h = self.hyper
        for p, buf in zip(self.params, self.buffers):
            n = p.numel()
            grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
            sgd_kernel[grid](p, p.grad, buf, n, h.lr, h.momentum, h.weight_decay,
                             NESTEROV=h.nesterov)


def run_both(shapes, steps, hyper, device="cuda"):
    mine = [torch.randn(s, device=device, requires_grad=True) for s in shapes]
    theirs = [p.detach().clone().requires_grad_() for p in mine]
    fused = FusedSGD(mine, hyper)
    plain = torch.optim.SGD(theirs, lr=hyper.lr, momentum=hyper.momentum,
                            weight_decay=hyper.weight_decay, nesterov=hyper.nesterov)
    for _ in range(steps):
        for a, b in zip(mine, theirs):
            a.grad = torch.randn_like(a)
            b.grad = a.grad.clone()
        fused.step()
        plain.step()
    return mine, theirs


def main():
    torch.manual_seed(3)
    shapes = [(40, 30), (2500,)]
    mine, theirs = run_both(shapes, steps=2, hyper=Hyper())
    for shape, a, b in zip(shapes, mine, theirs):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5,
                                   msg=lambda text: f"parameter {shape}\n{text}")
    print("sgd_step ok")


if __name__ == "__main__":
    main()
