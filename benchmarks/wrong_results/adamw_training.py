"""Train a small regression model for a few steps, once with torch.optim.AdamW, once with the fused optimizer."""
import argparse
import copy
import logging

import torch
import triton
import triton.language as tl

log = logging.getLogger("adamw")


@triton.jit
def adamw_kernel(
    p_ptr, g_ptr, m_ptr, v_ptr,
    lr, beta1, beta2, eps, weight_decay,
    correction1, correction2,
    numel, BLOCK: tl.constexpr,
):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < numel
    p = tl.load(p_ptr + offs, mask=mask)
    g = tl.load(g_ptr + offs, mask=mask)
    m = tl.load(m_ptr + offs, mask=mask)
    v = tl.load(v_ptr + offs, mask=mask)
    p = p * (1.0 - lr * weight_decay)
    m = beta1 * m + (1.0 - beta1) * g
    v = beta2 * v + (1.0 - beta2) * g * g
    m_hat = m / correction1
    v_hat = v / correction1
    p = p - lr * m_hat / (tl.sqrt(v_hat) + eps)
    tl.store(p_ptr + offs, p, mask=mask)
    tl.store(m_ptr + offs, m, mask=mask)
    tl.store(v_ptr + offs, v, mask=mask)


class FusedAdamW(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2):
        if lr <= 0:
            raise ValueError(f"lr must be positive, not {lr}")
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        loss = closure() if closure is not None else None
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["step"] = 0
                    state["exp_avg"] = torch.zeros_like(p)
                    state["exp_avg_sq"] = torch.zeros_like(p)
                state["step"] += 1
                n = p.numel()
                adamw_kernel[(triton.cdiv(n, 256),)](
                    p, p.grad.contiguous(), state["exp_avg"], state["exp_avg_sq"],
                    group["lr"], beta1, beta2, group["eps"], group["weight_decay"],
                    1.0 - beta1 ** state["step"], 1.0 - beta2 ** state["step"],
                    n, BLOCK=256,
                )
        return loss


class Regressor(torch.nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.body = torch.nn.Sequential(
            torch.nn.Linear(features, hidden),
            torch.nn.Tanh(),
            torch.nn.Linear(hidden, 1),
        )

    def forward(self, x):
        return self.body(x).squeeze(-1)


def batches(steps, size, features, device):
    for _ in range(steps):
        x = torch.randn(size, features, device=device)
        yield x, x.sin().sum(dim=1)


def train(model, optimizer, data):
    model.train()
    for i, (x, y) in enumerate(data):
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        log.info("step %d loss %.5f", i, loss.item())
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--features", type=int, default=10)
    parser.add_argument("-v", "--verbose", action="store_true")
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO if args.verbose else logging.WARNING)
    torch.manual_seed(0)
    device = torch.device("cuda")
    ours = Regressor(args.features, args.hidden).to(device)
    theirs = copy.deepcopy(ours)
    data = list(batches(args.steps, 16, args.features, device))
    train(ours, FusedAdamW(ours.parameters(), lr=1e-2), data)
    train(theirs, torch.optim.AdamW(theirs.parameters(), lr=1e-2), data)
    for (name, a), b in zip(ours.named_parameters(), theirs.parameters()):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4, msg=lambda m: f"{name}: {m}")
    print("same parameters after", args.steps, "steps")


if __name__ == "__main__":
    main()
