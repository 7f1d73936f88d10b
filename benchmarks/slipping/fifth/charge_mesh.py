"""Charged particles in a periodic box: they drift, each is put into a cell, and the cells sum up their charge."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import logging

import torch
import triton
import triton.language as tl

log = logging.getLogger("mesh")
BLOCK = 64


@triton.jit
def drift_kernel(positions, speeds, amount, step, box, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = at < amount
    moved = tl.load(positions + at, mask=keep, other=0.0) + step * tl.load(speeds + at, mask=keep, other=0.0)
    tl.store(positions + at, moved - tl.floor(moved / box) * box, mask=keep)


@triton.jit
def cell_kernel(positions, cells, amount, width, last, BLOCK: tl.constexpr):
    """The cell of each particle along one axis."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    place = tl.load(positions + at, mask=at < amount, other=0.0)
    tl.store(cells + at, tl.minimum((place / width).to(tl.int32), last), mask=at < amount)


@triton.jit
def deposit_kernel(cells, charges, mesh, amount, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = at < amount
    cell = tl.load(cells + at, mask=keep, other=0)
    tl.atomic_add(mesh + cell, tl.load(charges + at, mask=keep, other=0.0), mask=keep)


@triton.jit
def smooth_kernel(mesh, out, size, BLOCK: tl.constexpr):
    """A quarter of each cell's charge goes to either neighbour."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = at < size
    left = tl.load(mesh + (at + size - 1) % size, mask=keep, other=0.0)
    right = tl.load(mesh + (at + 1) % size, mask=keep, other=0.0)
    tl.store(out + at, 0.5 * tl.load(mesh + at, mask=keep, other=0.0) + 0.25 * (left + right), mask=keep)


class Plasma:
    def __init__(self, amount, size, box=1.0, seed=0):
        generator = torch.Generator().manual_seed(seed)
        self.amount, self.size, self.box = amount, size, box
        self.positions = torch.rand(amount, generator=generator) * box
        self.speeds = torch.randn(amount, generator=generator)
        self.charges = torch.where(torch.arange(amount) % 3 == 0, 2.0, -1.0)
        self.cells = torch.empty(amount, dtype=torch.int32)
        self.moment, self.sorted_for = 0, None
        self.grid = (triton.cdiv(amount, BLOCK),)

    def drift(self, step):
        drift_kernel[self.grid](self.positions, self.speeds, self.amount, step, self.box, BLOCK=BLOCK)
        self.moment += 1

    def find_cells(self):
        """The cells of all particles, found again only when the particles are others."""
        now = self.positions.data_ptr()
        if self.sorted_for != now:
            width = self.box / self.size
            cell_kernel[self.grid](self.positions, self.cells, self.amount, width, self.size - 1, BLOCK=BLOCK)
            self.sorted_for = now
        return self.cells

    def density(self, smooth=True):
        mesh = torch.zeros(self.size)
        deposit_kernel[self.grid](self.find_cells(), self.charges, mesh, self.amount, BLOCK=BLOCK)
        if not smooth:
            return mesh
        out = torch.empty_like(mesh)
        smooth_kernel[(triton.cdiv(self.size, BLOCK),)](mesh, out, self.size, BLOCK=BLOCK)
        return out


def reference(plasma):
    cells = (plasma.positions / (plasma.box / plasma.size)).long().clamp(max=plasma.size - 1)
    mesh = torch.zeros(plasma.size).index_add(0, cells, plasma.charges)
    return 0.5 * mesh + 0.25 * (mesh.roll(1) + mesh.roll(-1))


def run(amount, size, steps, step=0.03):
    plasma = Plasma(amount, size)
    for number in range(steps):
        assert torch.allclose(plasma.density(), reference(plasma), atol=1e-4), f"step {number}: the meshes disagree"
        plasma.drift(step)
        log.info("step %d: charge %.1f", number, plasma.charges.sum())


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    for amount, size in ((100, 16), (300, 48)):
        run(amount, size, steps=3)
