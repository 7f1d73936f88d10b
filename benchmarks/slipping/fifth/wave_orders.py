"""A seismic wave by finite differences: steps of low order first, then of a high one; rims of ghost cells."""

import argparse
import dataclasses

import torch
import triton
import triton.language as tl

WEIGHTS = {
    2: [-2.0, 1.0],
    4: [-5 / 2, 4 / 3, -1 / 12],
    8: [-205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560],
}


@triton.jit
def speeds_kernel(speeds, rows, columns, slow, fast, depth, BLOCK: tl.constexpr):
    """Two layers of rock; the lower one is the faster."""
    row = tl.program_id(0)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    speed = tl.where(row < depth, slow, fast) + tl.zeros([BLOCK], tl.float32)
    tl.store(speeds + row * columns + column, speed, mask=column < columns)


@triton.jit
def laplace(field, at, pitch, weights, keep, RADIUS: tl.constexpr):
    middle = 2.0 * tl.load(weights) * tl.load(field + at, mask=keep, other=0.0)
    for k in tl.static_range(1, RADIUS + 1):
        along = tl.load(field + at - k, mask=keep, other=0.0) + tl.load(field + at + k, mask=keep, other=0.0)
        up, down = field + at - k * pitch, field + at + k * pitch
        across = tl.load(up, mask=keep, other=0.0) + tl.load(down, mask=keep, other=0.0)
        middle += tl.load(weights + k) * (along + across)
    return middle


@triton.jit
def step_kernel(
    now, before, after, speeds, weights, columns, pitch, rim, courant, RADIUS: tl.constexpr, BLOCK: tl.constexpr,
):
    row = tl.program_id(0)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    keep = column < columns
    at = (row + rim) * pitch + rim + column
    speed = tl.load(speeds + row * columns + column, mask=keep, other=0.0)
    bend = laplace(now, at, pitch, weights, keep, RADIUS)
    old = 2.0 * tl.load(now + at, mask=keep, other=0.0) - tl.load(before + at, mask=keep, other=0.0)
    tl.store(after + at, old + courant * speed * speed * bend, mask=keep)


@triton.jit
def receiver_kernel(field, trace, row, pitch, rim, columns, moment, BLOCK: tl.constexpr):
    column = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = column < columns
    heard = tl.load(field + (row + rim) * pitch + rim + column, mask=keep, other=0.0)
    tl.store(trace + moment * columns + column, heard, mask=keep)


@dataclasses.dataclass
class Phase:
    order: int
    steps: int

    @property
    def radius(self):
        return len(WEIGHTS[self.order]) - 1


class Survey:
    def __init__(self, rows, columns, phases, block=64):
        self.rows, self.columns, self.phases, self.block = rows, columns, phases, block
        self.rim = phases[0].radius
        self.pitch = columns + 2 * self.rim
        self.fields = [torch.zeros(rows + 2 * self.rim, self.pitch, device="cuda") for _ in range(3)]
        self.speeds = torch.empty(rows, columns, device="cuda")
        self.across = triton.cdiv(columns, block)
        speeds_kernel[(rows, self.across)](self.speeds, rows, columns, 0.4, 0.6, rows // 2, BLOCK=block)

    def shoot(self, row, column):
        self.fields[0][row + self.rim, column + self.rim] = 1.0

    def run(self, courant=0.5):
        trace = torch.zeros(sum(phase.steps for phase in self.phases), self.columns, device="cuda")
        moment = 0
        for phase in self.phases:
            weights = torch.tensor(WEIGHTS[phase.order]).cuda()
            for _ in range(phase.steps):
                now, before, after = self.fields
                step_kernel[(self.rows, self.across)](
                    now, before, after, self.speeds, weights, self.columns, self.pitch, self.rim, courant,
                    RADIUS=phase.radius, BLOCK=self.block,
                )
                receiver_kernel[(self.across,)](
                    after, trace, 2, self.pitch, self.rim, self.columns, moment, BLOCK=self.block,
                )
                self.fields = [after, now, before]
                moment += 1
        return trace


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=40)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--orders", type=int, nargs="+", default=[4, 8], choices=sorted(WEIGHTS))
    args = parser.parse_args()
    survey = Survey(args.rows, args.columns, [Phase(order, 2) for order in args.orders])
    survey.shoot(args.rows // 4, args.columns // 2)
    trace = survey.run()
    torch.cuda.synchronize()
    print(f"{tuple(trace.shape)}, loudest {trace.abs().max().item():.3f}")


if __name__ == "__main__":
    main()
