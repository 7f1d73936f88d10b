"""Code books of four bits: what each of the sixteen codes stands for."""

import math

import torch

NF4 = (
    -1.0, -0.6962, -0.5251, -0.3949, -0.2844, -0.1848, -0.0911, 0.0,
    0.0796, 0.1609, 0.2461, 0.3379, 0.4407, 0.5626, 0.7230, 1.0,
)
FP4 = tuple(sign * value for sign in (1, -1) for value in (0.0, 0.0052, 0.6667, 1.0, 0.3333, 0.5, 0.1667, 0.25))


def codebook(name: str, bits: int = 4, device: str = "cuda") -> torch.Tensor:
    if name == "uniform":
        size = 2**bits
        return torch.linspace(-1, 1, size, device=device)
    values = {"nf4": NF4, "fp4": FP4}[name]
    if bits < int(math.log2(len(values))):
        values = values[:: len(values) // 2**bits]
    return torch.tensor(values, device=device)
