"""Router of a mixture of experts: softmax over the experts' scores, top k of them, renormalised."""
import torch
from torch import nn
import triton
import triton.language as tl


@triton.jit
def router_kernel(
    logits_ptr, bias_ptr, weight_ptr, index_ptr, load_ptr,
    tokens, experts,
    K: tl.constexpr, TOKENS: tl.constexpr, EXPERTS: tl.constexpr,
):
    rows = tl.program_id(0) * TOKENS + tl.arange(0, TOKENS)
    cols = tl.arange(0, EXPERTS)
    valid = (rows[:, None] < tokens) & (cols[None, :] < experts)
    x = tl.load(logits_ptr + rows[:, None] * experts + cols[None, :], mask=valid, other=-float("inf"))
    x = x.to(tl.float32)
    bias = tl.load(bias_ptr + cols, mask=cols < experts, other=0.0)
    score = tl.where(valid, x + bias[None, :], -float("inf"))
    total = tl.zeros((TOKENS,), dtype=tl.float32)
    for k in tl.static_range(K):
        best = tl.max(score, axis=1)
        chosen = tl.min(tl.where(score == best[:, None], cols[None, :], EXPERTS), axis=1)
        w = tl.exp(best)
        total += w
        tl.store(weight_ptr + rows * K + k, w, mask=rows < tokens)
        tl.store(index_ptr + rows * K + k, chosen, mask=rows < tokens)
        tl.atomic_add(load_ptr + chosen, 1, mask=rows < tokens)
        score = tl.where(score == best[:, None], -float("inf"), score)
    for k in tl.static_range(K):
        w = tl.load(weight_ptr + rows * K + k, mask=rows < tokens, other=0.0)
        tl.store(weight_ptr + rows * K + k, w / total, mask=rows < tokens)


class Router(nn.Module):
    def __init__(self, dim, experts, k, tile=8):
        super().__init__()
        self.k, self.tile = k, tile
        self.gate = nn.Linear(dim, experts, bias=False)
        self.register_buffer("bias", torch.zeros(experts))
        self.register_buffer("load", torch.zeros(experts, dtype=torch.int32))

    def scores(self, x):
        # Quantised activations upstream leave few distinct values.
        return torch.round(self.gate(x) * 4) / 4

    @torch.no_grad()
    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        logits = self.scores(flat).contiguous()
        tokens, experts = logits.shape
        weights = torch.empty(tokens, self.k, device=x.device)
        index = torch.empty(tokens, self.k, device=x.device, dtype=torch.int32)
        grid = (triton.cdiv(tokens, self.tile),)
        router_kernel[grid](
            logits, self.bias, weights, index, self.load, tokens, experts,
            K=self.k, TOKENS=self.tile, EXPERTS=triton.next_power_of_2(experts),
        )
        return weights.view(*x.shape[:-1], self.k), index.view(*x.shape[:-1], self.k)

    @torch.no_grad()
    def rebalance(self, rate):
        share = self.load.float() / self.load.sum().clamp(min=1)
        self.bias += rate * (share.mean() - share)
        self.load.zero_()


class EagerRouter:
    def __init__(self, router):
        self.router = router

    def __call__(self, x):
        router = self.router
        scores = router.scores(x) + router.bias
        top, index = torch.topk(scores, router.k, dim=-1)
        return torch.softmax(top, dim=-1), index


def check(router, shape, steps):
    eager = EagerRouter(router)
    for step in range(steps):
        x = torch.randn(*shape, device="cuda")
        weights, index = router(x)
        with torch.no_grad():
            expected, _ = eager(x)
        assert index.max() < router.gate.out_features
        torch.testing.assert_close(weights, expected, rtol=1e-4, atol=1e-4,
                                   msg=lambda text: f"step {step}: {text}")
        router.rebalance(0.01)


if __name__ == "__main__":
    torch.manual_seed(2)
    for k in (1, 2):
        check(Router(32, 12, k).to("cuda"), shape=(2, 10, 32), steps=2)
        print(f"top {k} agrees")
