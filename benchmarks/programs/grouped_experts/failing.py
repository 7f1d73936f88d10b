"""Compares two ways to feed a grouped product: one descriptor for all, or a descriptor for each slice of the depth."""

import sys

import torch

import grouped
from grouped import Problem, ragged

CASES = {
    "even": Problem(columns=128, depth=128, groups=[grouped.Group(64), grouped.Group(64, 64)]),
    "ragged": ragged(columns=192, depth=256, count=3),
    "wide": ragged(columns=256, depth=128, count=2, seed=7),
}


def check(name: str, problem: Problem, sliced: bool) -> None:
    x, w = problem.tensors()
    scales = torch.rand(problem.rows, device="cuda")
    y = grouped.grouped_matmul(x, w, scales, activate=True, sliced=sliced)
    torch.cuda.synchronize()
    expected = torch.nn.functional.silu(x.float() @ w.float()) * scales[:, None]
    error = (y.float() - expected).abs().max()
    waste = problem.padded(64) - problem.rows
    print(f"{name:8} sliced={sliced!s:5} rows {problem.rows} (+{waste}) error {float(error):.3f}")


def main() -> int:
    torch.manual_seed(3)
    grouped.set_workspace()
    for sliced in (False, True):
        for name, problem in CASES.items():
            check(name, problem, sliced)
    return 0


if __name__ == "__main__":
    sys.exit(main())
