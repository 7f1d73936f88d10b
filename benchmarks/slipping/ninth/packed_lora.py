"""Adapters of low rank, packed one behind the other into one buffer, added to activations by one kernel."""

from dataclasses import dataclass, field

import torch
import triton
import triton.language as tl


@dataclass
class Adapter:
    name: str
    rank: int
    scale: float = 1.0


@dataclass
class Bank:
    """One buffer for all adapters; each begins where the one before ends."""

    width: int
    align: int = 8
    adapters: list = field(default_factory=list)
    starts: list = field(default_factory=list)
    used: int = 0

    def add(self, adapter: Adapter) -> None:
        self.adapters.append(adapter)
        self.starts.append(self.used)
        self.used += adapter.rank * self.row(adapter)

    def row(self, adapter: Adapter) -> int:
        return self.width + (0 if adapter.rank % self.align == 0 else self.align // 2)

    def build(self) -> torch.Tensor:
        return torch.zeros(self.used + self.width, dtype=torch.float16, device="cuda")


@triton.jit
def row_base(bank, start, row, stride):
    return bank + start + row * stride


@triton.jit
def fill_kernel(bank, start, stride, width, scale, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    base = row_base(bank, start, tl.program_id(0), stride)
    tl.store(base + c, (c * scale).to(tl.float16), mask=c < width)


@triton.jit
def apply_kernel(x, bank, out, start, stride, width, RANK: tl.constexpr, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    c = tl.max_contiguous(tl.arange(0, BLOCK), BLOCK)
    value = tl.load(x + token * BLOCK + c)
    total = tl.zeros([BLOCK], tl.float32)
    for r in tl.static_range(RANK):
        offset = tl.multiple_of(start + r * stride, 8)
        total += tl.load(bank + offset + c).to(tl.float32)
    tl.store(out + token * BLOCK + c, (value + total).to(tl.float16))


class Layer:
    def __init__(self, bank: Bank):
        self.bank, self.memory = bank, bank.build()
        for start, adapter in zip(bank.starts, bank.adapters):
            fill_kernel[(adapter.rank,)](
                self.memory, start, bank.row(adapter), bank.width, adapter.scale, BLOCK=bank.width
            )

    def __call__(self, x: torch.Tensor, which: int) -> torch.Tensor:
        adapter, out = self.bank.adapters[which], torch.empty_like(x)
        apply_kernel[(x.shape[0],)](
            x, self.memory, out, self.bank.starts[which], self.bank.row(adapter), self.bank.width,
            RANK=adapter.rank, BLOCK=self.bank.width, num_warps=1,
        )
        return out


def main() -> None:
    bank = Bank(256)
    for adapter in (Adapter("base", 8), Adapter("code", 16, 0.5), Adapter("chat", 4), Adapter("tiny", 2)):
        bank.add(adapter)
    layer = Layer(bank)
    x = torch.ones(3, 256, dtype=torch.float16, device="cuda")
    for which, adapter in enumerate(bank.adapters):
        layer(x, which)
        torch.cuda.synchronize()
        print(adapter.name, "starts at", bank.starts[which])


if __name__ == "__main__":
    main()
