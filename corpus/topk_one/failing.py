"""A router of a mixture of experts: softmax over the experts, the k best by tl.topk, weights that sum to one."""

import argparse

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_row(logits, inside):
    shifted = logits - tl.max(tl.where(inside, logits, float("-inf")), axis=0)
    exponents = tl.where(inside, tl.exp(shifted), 0.0)
    return exponents / tl.sum(exponents, axis=0)


@triton.jit
def route_kernel(logits_ptr, weights_ptr, experts, EXPERTS: tl.constexpr, K: tl.constexpr, NORMALIZE: tl.constexpr):
    token = tl.program_id(0)
    expert = tl.arange(0, EXPERTS)
    inside = expert < experts
    logits = tl.load(logits_ptr + token * experts + expert, mask=inside, other=float("-inf"))
    probabilities = softmax_row(logits, inside)
    best = tl.topk(probabilities, K)
    if NORMALIZE:
        best = best / tl.sum(best, axis=0)
    tl.store(weights_ptr + token * K + tl.arange(0, K), best)


@triton.jit
def load_kernel(weights_ptr, load_ptr, tokens, k, BLOCK: tl.constexpr):
    """The average weight of each choice, for the balancing loss."""
    choice = tl.program_id(0)
    total = 0.0
    for start in range(0, tokens, BLOCK):
        token = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(weights_ptr + token * k + choice, mask=token < tokens, other=0.0), axis=0)
    tl.store(load_ptr + choice, total / tokens)


class Router:
    def __init__(self, experts: int, k: int, normalize: bool):
        self.experts, self.k, self.normalize = experts, k, normalize

    def __call__(self, logits: torch.Tensor) -> torch.Tensor:
        weights = torch.empty(logits.shape[0], self.k, device=logits.device)
        route_kernel[(logits.shape[0],)](
            logits, weights, self.experts,
            EXPERTS=triton.next_power_of_2(self.experts), K=self.k, NORMALIZE=self.normalize, num_warps=1,
        )
        return weights

    def load(self, weights: torch.Tensor) -> torch.Tensor:
        load = torch.empty(self.k, device=weights.device)
        load_kernel[(self.k,)](weights, load, weights.shape[0], self.k, BLOCK=64)
        return load


def reference(logits: torch.Tensor, k: int, normalize: bool) -> torch.Tensor:
    best = torch.softmax(logits, -1).topk(k).values
    return best / best.sum(-1, keepdim=True) if normalize else best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=40)
    parser.add_argument("--experts", type=int, default=24)
    args = parser.parse_args()
    torch.manual_seed(0)
    logits = torch.randn(args.tokens, args.experts, device="cuda")
    for k in (4, 2, 1):
        for normalize in (True, False):
            router = Router(args.experts, k, normalize)
            weights = router(logits)
            torch.testing.assert_close(weights, reference(logits, k, normalize))
            print(f"top {k}: mean weights {router.load(weights).tolist()}")


if __name__ == "__main__":
    main()
