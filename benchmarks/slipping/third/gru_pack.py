"""A gated recurrent cell in one kernel a step, with the weights of torch's own, against which it is checked."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import argparse

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def sigmoid(x):
    return 1.0 / (1.0 + tl.exp(-x))


@triton.jit
def project(vector, weight, bias, gate, unit, width, units, STEP: tl.constexpr, UNITS: tl.constexpr):
    """One gate's share: `weight` has a row for each input, and the units of the three gates side by side."""
    acc = tl.load(bias + gate * units + unit, mask=unit < units, other=0.0)
    for start in range(0, width, STEP):
        row = start + tl.arange(0, STEP)
        value = tl.load(vector + row, mask=row < width, other=0.0)
        at = weight + row[:, None] * (3 * units) + gate * units + unit[None, :]
        keep = (row[:, None] < width) & (unit[None, :] < units)
        acc += tl.sum(value[:, None] * tl.load(at, mask=keep, other=0.0), axis=0)
    return acc


@triton.jit
def step_kernel(
    inputs, state, fresh, input_weight, input_bias, state_weight, state_bias, width, units,
    STEP: tl.constexpr, UNITS: tl.constexpr,
):
    sample = tl.program_id(0)
    unit = tl.program_id(1) * UNITS + tl.arange(0, UNITS)
    x, h = inputs + sample * width, state + sample * units
    reset = sigmoid(
        project(x, input_weight, input_bias, 0, unit, width, units, STEP, UNITS)
        + project(h, state_weight, state_bias, 0, unit, units, units, STEP, UNITS)
    )
    update = sigmoid(
        project(x, input_weight, input_bias, 1, unit, width, units, STEP, UNITS)
        + project(h, state_weight, state_bias, 1, unit, units, units, STEP, UNITS)
    )
    candidate = project(x, input_weight, input_bias, 2, unit, width, units, STEP, UNITS)
    candidate += reset * project(h, state_weight, state_bias, 2, unit, units, units, STEP, UNITS)
    candidate = 2.0 * sigmoid(2.0 * candidate) - 1.0  # tanh
    old = tl.load(h + unit, mask=unit < units, other=0.0)
    tl.store(fresh + sample * units + unit, (1.0 - update) * candidate + update * old, mask=unit < units)


def packed(weight, dtype=torch.float32):
    """A weight of torch's, gates first, as the kernel wants it: inputs first."""
    return weight.detach().t().to(dtype)


class Cell:
    def __init__(self, module, step=16, units=32):
        self.width, self.units = module.input_size, module.hidden_size
        self.tiles = {"STEP": step, "UNITS": units}
        self.weights = [
            packed(module.weight_ih), module.bias_ih.detach(),
            packed(module.weight_hh), module.bias_hh.detach(),
        ]

    def __call__(self, x, state):
        fresh = torch.empty_like(state)
        grid = (x.shape[0], triton.cdiv(self.units, self.tiles["UNITS"]))
        step_kernel[grid](x, state, fresh, *self.weights, self.width, self.units, **self.tiles)
        return fresh


def unrolled(cell, sequence, state):
    states = []
    for x in sequence:
        state = cell(x, state)
        states.append(state)
    return torch.stack(states)


@torch.no_grad()
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", type=int, default=20)
    parser.add_argument("--units", type=int, default=40)
    parser.add_argument("--steps", type=int, default=3)
    args = parser.parse_args()
    torch.manual_seed(1)
    module = nn.GRUCell(args.width, args.units)
    sequence, state = torch.randn(args.steps, 2, args.width), torch.zeros(2, args.units)
    ours = unrolled(Cell(module), sequence, state)
    theirs = unrolled(module, sequence, state)
    for step, (mine, other) in enumerate(zip(ours, theirs)):
        error = (mine - other).abs().max().item()
        assert error < 1e-4, f"the cells differ by {error:.3g} in step {step}"
    print("no step differs")


if __name__ == "__main__":
    main()
