"""Reduces a pyramid of images to one number a level: a kernel walks from the coarse level to the fine one."""

import torch
import triton
import triton.language as tl


@triton.jit
def fill_kernel(x, total, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, (at % 5).to(tl.float32), mask=at < total)


@triton.jit
def levels_kernel(pyramids, out, room, side, LEVELS: tl.constexpr, BLOCK: tl.constexpr):
    image = tl.program_id(0)
    level_at = pyramids + image * room
    size = side * side
    for level in range(LEVELS):
        total = tl.zeros([BLOCK], tl.float32)
        at = level_at
        for start in range(0, size, BLOCK):
            lane = tl.arange(0, BLOCK)
            total += tl.load(at + lane, mask=start + lane < size, other=0.0)
            at += BLOCK
        tl.store(out + image * LEVELS + level, tl.sum(total, axis=0) / size)
        size = size * 4
        level_at += size


@triton.jit
def weigh_kernel(means, weights, out, LEVELS: tl.constexpr, WIDE: tl.constexpr):
    level = tl.arange(0, WIDE)
    live = level < LEVELS
    mean = tl.load(means + tl.program_id(0) * LEVELS + level, mask=live, other=0.0)
    tl.store(out + tl.program_id(0), tl.sum(mean * tl.load(weights + level, mask=live, other=0.0), axis=0))


class Pyramid:
    """Images of one side, and of twice that, and so on, one behind the other."""

    def __init__(self, images: int, side: int, levels: int):
        self.images, self.side, self.levels = images, side, levels
        self.room = sum(side * side * 4**level for level in range(levels))
        self.data = torch.empty(images, self.room, device="cuda")
        total = self.data.numel()
        fill_kernel[(triton.cdiv(total, 256),)](self.data, total, BLOCK=256)


class Score:
    def __init__(self, levels: int):
        self.weights = torch.tensor([0.5**level for level in range(levels)], device="cuda")

    def __call__(self, pyramid: Pyramid) -> torch.Tensor:
        means = torch.empty(pyramid.images, pyramid.levels, device="cuda")
        levels_kernel[(pyramid.images,)](
            pyramid.data, means, pyramid.room, pyramid.side, LEVELS=pyramid.levels, BLOCK=64
        )
        out = torch.empty(pyramid.images, device="cuda")
        wide = triton.next_power_of_2(pyramid.levels)
        weigh_kernel[(pyramid.images,)](means, self.weights, out, LEVELS=pyramid.levels, WIDE=wide)
        return out


def main() -> None:
    for images, side, levels in ((4, 16, 1), (2, 8, 1), (3, 8, 3)):
        out = Score(levels)(Pyramid(images, side, levels))
        torch.cuda.synchronize()
        print(images, side, levels, out.shape)


if __name__ == "__main__":
    main()
