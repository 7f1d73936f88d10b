"""Forward passes of a mixture-of-experts layer in three presets, as the smoke test before a training run."""

import argparse
import time

import torch

from moe import MoELayer
from moe.config import PRESETS


def reference(logits: torch.Tensor, config) -> torch.Tensor:
    best = torch.softmax(logits.float(), -1).topk(config.top_k).values
    return best / best.sum(-1, keepdim=True) if config.normalize else best


def one(name: str, batch: int, length: int) -> float:
    config = PRESETS[name]
    layer = MoELayer(config)
    x = torch.randn(batch, length, config.hidden, device="cuda")
    begin = time.perf_counter()
    out, counts, loss = layer(x)
    torch.cuda.synchronize()
    over = (counts - config.capacity(batch * length)).clamp(min=0).sum()
    print(f"{name:8} {tuple(out.shape)} dropped {int(over)} z-loss {float(loss):.4f}")
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--presets", nargs="*", default=["mixtral", "qwen", "switch"])
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--length", type=int, default=16)
    args = parser.parse_args()
    torch.manual_seed(0)
    seconds = {name: one(name, args.batch, args.length) for name in args.presets}
    print({name: round(value, 3) for name, value in seconds.items()})


if __name__ == "__main__":
    main()
