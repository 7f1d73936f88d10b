"""Decoding with layers of local and of full attention: each layer's cache is a ring as long as its window."""

import argparse
import json

import torch
import triton
import triton.language as tl

MODELS = json.loads("""
{
    "delta-1b": {"layers": 4, "heads": 2, "head_dim": 16, "sliding_window": 12, "full_every": 0, "max_length": 32},
    "delta-2b": {"layers": 4, "heads": 2, "head_dim": 16, "sliding_window": null, "full_every": 0, "max_length": 24},
    "sigma-1b": {"layers": 6, "heads": 2, "head_dim": 32, "sliding_window": 8, "full_every": 3, "max_length": 32}
}
""")


@triton.jit
def ring_row(caches, capacities, layer, position, head, longest, heads, WIDTH: tl.constexpr):
    """Where a layer keeps the position: rings wrap around at their own capacity."""
    slot = position % tl.load(capacities + layer)
    return caches + ((layer * longest + slot) * heads + head) * WIDTH


@triton.jit
def turned(value, other, at, position, WIDTH: tl.constexpr):
    """Rotary embedding of one head; the other half of it comes along."""
    angle = position * tl.exp2(-13.0 * (at % (WIDTH // 2)).to(tl.float32) / (WIDTH // 2))
    return value * tl.cos(angle) + tl.where(at < WIDTH // 2, -other, other) * tl.sin(angle)


@triton.jit
def append_kernel(qkv, queries, keys, values, capacities, layer, position, longest, heads, WIDTH: tl.constexpr):
    head = tl.program_id(0)
    at = tl.arange(0, WIDTH)
    opposite = (at + WIDTH // 2) % WIDTH
    query, key, value = qkv + head * WIDTH, qkv + (heads + head) * WIDTH, qkv + (2 * heads + head) * WIDTH
    turned_query = turned(tl.load(query + at), tl.load(query + opposite), at, position, WIDTH)
    tl.store(queries + head * WIDTH + at, turned_query)
    row = ring_row(keys, capacities, layer, position, head, longest, heads, WIDTH)
    tl.store(row + at, turned(tl.load(key + at), tl.load(key + opposite), at, position, WIDTH))
    row = ring_row(values, capacities, layer, position, head, longest, heads, WIDTH)
    tl.store(row + at, tl.load(value + at))


@triton.jit
def attend_kernel(queries, keys, values, out, capacities, layer, position, longest, heads, WIDTH: tl.constexpr):
    """One query over what its ring holds, with a softmax that goes along."""
    head = tl.program_id(0)
    at = tl.arange(0, WIDTH)
    query = tl.load(queries + head * WIDTH + at) * (WIDTH**-0.5)
    first = tl.maximum(position + 1 - tl.load(capacities + layer), 0)
    best, weight = -float("inf"), 0.0
    total = tl.zeros([WIDTH], tl.float32)
    for seen in range(first, position + 1):
        row = ring_row(keys, capacities, layer, seen, head, longest, heads, WIDTH)
        score = tl.sum(query * tl.load(row + at), axis=0)
        top = tl.maximum(best, score)
        fade, share = tl.exp(best - top), tl.exp(score - top)
        value = tl.load(ring_row(values, capacities, layer, seen, head, longest, heads, WIDTH) + at)
        total, weight, best = total * fade + value * share, weight * fade + share, top
    tl.store(out + head * WIDTH + at, total / weight)


class Config:
    def __init__(self, name):
        entry = MODELS[name]
        self.name, self.layers, self.heads, self.width = name, entry["layers"], entry["heads"], entry["head_dim"]
        self.longest = entry["max_length"]
        window, every = entry["sliding_window"], entry["full_every"]
        # the last layer of each group sees everything, the others a window
        self.windows = [0 if every and layer % every == every - 1 else window for layer in range(self.layers)]

    def capacity(self, layer):
        window = self.windows[layer]
        return self.longest if window is None else min(window, self.longest)


class Decoder:
    def __init__(self, config):
        self.config, self.position = config, 0
        shape = config.layers, config.longest, config.heads, config.width
        self.keys, self.values = torch.zeros(shape, device="cuda"), torch.zeros(shape, device="cuda")
        capacities = [config.capacity(layer) for layer in range(config.layers)]
        self.capacities = torch.tensor(capacities, dtype=torch.int32, device="cuda")
        wide = config.heads * config.width
        self.weights = [torch.randn(3 * wide, wide, device="cuda") / wide**0.5 for _ in range(config.layers)]

    def step(self, x):
        config = self.config
        for layer, weight in enumerate(self.weights):
            queries, out = torch.empty_like(x), torch.empty_like(x)
            where = self.capacities, layer, self.position, config.longest, config.heads
            append_kernel[(config.heads,)](weight @ x, queries, self.keys, self.values, *where, WIDTH=config.width)
            attend_kernel[(config.heads,)](queries, self.keys, self.values, out, *where, WIDTH=config.width)
            x = x + out
        self.position += 1
        return x


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--steps", type=int, default=14)
    args = parser.parse_args()
    for name in args.models:
        decoder = Decoder(Config(name))
        x = torch.randn(decoder.config.heads * decoder.config.width, device="cuda")
        for _ in range(args.steps):
            x = decoder.step(x)
        torch.cuda.synchronize()
        print(f"{name}: {decoder.position} steps with rings of {decoder.capacities.tolist()}")


if __name__ == "__main__":
    main()
