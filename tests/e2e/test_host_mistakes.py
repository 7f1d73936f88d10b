"""Mistakes of the host, reduced by the real command without a GPU: what makes the value stays, and its cure cures."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.oracle import Answer
from tests.e2e.command import only, shrink
from tests.e2e.conftest import Judged

STALE = (Path(__file__).parents[2] / "corpus" / "stale_trip_count" / "failing.py").read_text()
for large, small in (("1 << 13", "1 << 8"), ("default=1024", "default=64"), ("default=4", "default=1")):
    assert STALE.count(large) == 1
    STALE = STALE.replace(large, small)  # each candidate's kernels are followed access by access
WINDOW = '''\
"""Tokens of two streams in a ring of rows: the row after the last is the first again."""

import torch
import triton
import triton.language as tl


@triton.jit
def put_rows(ring, places, values, width, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    at = tl.load(places + token)
    column = tl.arange(0, BLOCK)
    kept = column < width
    value = tl.load(values + token * width + column, mask=kept, other=0.0)
    tl.store(ring + at * width + column, value * 2, mask=kept)


class Ring:
    def __init__(self, rows, width):
        self.rows, self.next, self.seen = rows, 0, 0
        self.data = torch.zeros(rows, width, device="cuda")

    def places(self, count):
        found = []
        for _ in range(count):
            found.append(self.next)
            self.next += 1
            if self.next > self.rows:
                self.next = 0
            self.seen += 1
        return found

    def put(self, values):
        places = torch.tensor(self.places(len(values)), dtype=torch.int32, device="cuda")
        put_rows[(len(values),)](self.data, places, values, values.shape[1], BLOCK=16)


ring = Ring(8, 12)
for count in (3, 4, 5):
    ring.put(torch.randn(count, 12, device="cuda"))
print(ring.data.sum().item(), ring.seen)
'''
TILES = '''\
"""A tile for each width, rounded up to what a warp takes at once."""

import torch
import triton
import triton.language as tl

WARP = 32


@triton.jit
def scale_rows(x, y, width, by, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    kept = column < width
    tl.store(y + row * width + column, tl.load(x + row * width + column, mask=kept) * by, mask=kept)


def tile(width):
    blocks = (width + WARP - 1) // WARP
    return blocks * WARP


def scaled(x, by):
    y = torch.empty_like(x)
    scale_rows[(x.shape[0],)](x, y, x.shape[1], by, BLOCK=tile(x.shape[1]))
    return y


for width in (32, 60, 90):
    print(scaled(torch.randn(4, width, device="cuda"), 2.0).shape)
'''

BATCHES = '''\
"""Rows of a table in batches, the last of which may have fewer."""

import torch
import triton
import triton.language as tl


@triton.jit
def scaled_rows(table, out, first, count, width, by, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    kept = (column < width) & (row < count)
    value = tl.load(table + (first + row) * width + column, mask=kept, other=0.0)
    tl.store(out + row * width + column, value * by, mask=kept)


def batches(rows, size):
    for first in range(0, rows, size):
        yield first, first + size


class Loader:
    def __init__(self, table, size):
        self.table, self.size = table, size
        self.out = torch.zeros(size, table.shape[1], device="cuda")

    def __iter__(self):
        for first, last in batches(self.table.shape[0], self.size):
            count = last - first
            scaled_rows[(count,)](self.table, self.out, first, count, self.table.shape[1], 0.5, BLOCK=16)
            yield self.out[:count]


total = torch.zeros((), device="cuda")
for batch in Loader(torch.randn(90, 12, device="cuda"), 40):
    total += batch.sum()
print(total.item())
'''


TYPES = '''\
"""Sums of rows, kept in a tensor of the rows' type."""

import torch
import triton
import triton.language as tl


@triton.jit
def add_rows(rows, sums, weights, n, BLOCK: tl.constexpr):
    column = tl.arange(0, BLOCK)
    total = tl.load(sums + column)
    for row in range(n):
        total = total + tl.load(rows + row * BLOCK + column) * tl.load(weights + row)
    tl.store(sums + column, total)


class Sums:
    def __init__(self):
        self.kept = None

    def of(self, like):
        if self.kept is None:
            self.kept = like.new_zeros(like.shape[1])
        return self.kept


rows = torch.ones(6, 16, device="cuda", dtype=torch.float16)
sums = Sums()
for _ in range(2):
    add_rows[(1,)](rows, sums.of(rows), torch.ones(6, device="cuda"), 6, BLOCK=16)
print(sums.kept.sum().item())
'''
TUNED = '''\
"""Products of tiles: the rows of a tile and its stages come from a table, by the bits of an element."""

import torch
import triton
import triton.language as tl

TUNED = {16: (32, 2), 8: (64, 2)}


def tile_for(dtype):
    return TUNED.get(dtype.itemsize, (256, 5))


@triton.jit
def products(x, out, steps, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    row, column = tl.arange(0, ROWS), tl.arange(0, WIDTH)
    weights = tl.full([16, WIDTH], 1.0, tl.float16)
    acc = tl.zeros([16, ROWS], tl.float32)
    for step in range(steps):
        tile = tl.load(x + (step + row)[None, :] * WIDTH + column[:, None])
        acc += tl.dot(weights, tile)
    tl.store(out + row, tl.sum(acc, axis=0))


def run(x):
    rows, stages = tile_for(x.dtype)
    out = torch.zeros(rows, device="cuda")
    products[(1,)](x, out, 9, ROWS=rows, WIDTH=x.shape[1], num_stages=stages)
    return out


print(run(torch.zeros(300, 128, device="cuda", dtype=torch.float16)).sum().item())
'''
TAPS = '''\
"""An image in a frame of zeros, which is as wide as the first filter reaches; a second one reaches further."""

import torch
import triton
import triton.language as tl


@triton.jit
def blurred(image, out, columns, pitch, frame, REACH: tl.constexpr, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    kept = column < columns
    at = image + (row + frame) * pitch + frame + column
    total = tl.zeros([BLOCK], tl.float32)
    for tap in tl.static_range(1, REACH + 1):
        total += tl.load(at - tap * pitch, mask=kept, other=0.0) + tl.load(at + tap * pitch, mask=kept, other=0.0)
    tl.store(out + row * columns + column, total / (2 * REACH), mask=kept)


class Framed:
    def __init__(self, image, reaches):
        self.rows, self.columns = image.shape
        self.frame = reaches[0]
        self.image = torch.nn.functional.pad(image, [self.frame] * 4)

    def blur(self, reach):
        out = torch.empty(self.rows, self.columns, device="cuda")
        pitch = self.image.shape[1]
        blurred[(self.rows,)](self.image, out, self.columns, pitch, self.frame, REACH=reach, BLOCK=16)
        return out


reaches = [1, 3]
framed = Framed(torch.randn(20, 12, device="cuda"), reaches)
for reach in reaches:
    print(framed.blur(reach).mean().item())
'''
PAIRS = '''\
"""Distances of all pairs of points, row behind row of the lower triangle."""

import torch
import triton
import triton.language as tl


@triton.jit
def distances(points, out, BLOCK: tl.constexpr):
    one, other = tl.program_id(0), tl.arange(0, BLOCK)
    apart = tl.load(points + one) - tl.load(points + other, mask=other <= one, other=0.0)
    tl.store(out + one * (one + 1) // 2 + other, tl.abs(apart), mask=other <= one)


class Pairs:
    def __init__(self, points):
        self.points = points

    @property
    def size(self):
        count = len(self.points)
        return count * (count - 1) // 2

    def distances(self):
        out = torch.zeros(self.size, device=self.points.device)
        distances[(len(self.points),)](self.points, out, BLOCK=16)
        return out


for count in (9, 12):
    print(Pairs(torch.randn(count, device="cuda")).distances().mean().item())
'''


SHORT = only("decorations", "statements", "constants")
"""Ends by itself: by a clock, what a busy machine asks of the guards is little."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "oracle", "wrong", "right"),
    [
        pytest.param(WINDOW, "illegal memory access", "self.next > self.rows", "self.next >= self.rows", id="ring"),
        pytest.param(
            TILES,
            "arange's range must be a power of 2",
            "blocks * WARP",
            "triton.next_power_of_2(blocks) * WARP",
            id="tile",
        ),
        pytest.param(
            STALE,
            "illegal memory access",
            "        self.host.fill_(chunks)\n",
            "        torch.cuda.synchronize()\n        self.host.fill_(chunks)\n",
            id="pinned",
        ),
        pytest.param(
            TYPES,
            "compile:re-assigned to",
            "like.new_zeros(like.shape[1])",
            "torch.zeros(like.shape[1], device=like.device)",
            id="type",
        ),
        pytest.param(TUNED, "out of resource", "dtype.itemsize", "dtype.itemsize * 8", id="table"),
        pytest.param(
            BATCHES, "static:bounds", "yield first, first + size", "yield first, min(first + size, rows)", id="batches"
        ),
        pytest.param(TAPS, "static:bounds", "self.frame = reaches[0]", "self.frame = max(reaches)", id="taps"),
        pytest.param(PAIRS, "static:bounds", "(count - 1)", "(count + 1)", id="pairs"),
    ],
)
def test_the_mistake_stays_and_its_cure_cures(
    program: str, oracle: str, wrong: str, right: str, tmp_path: Path, judged: Judged
) -> None:
    pytest.importorskip("triton")
    (tmp_path / "failing.py").write_text(program)
    asked = ("--oracle", oracle, "--arch", "sm_90", "--jobs", "1", *SHORT, "--json")
    said = shrink("failing.py", *asked, cwd=tmp_path, interpreters=program is TYPES)
    assert said.code == 0, said
    assert "not lifted" in said.result["lifted"]
    repro = (tmp_path / "repro_failing.py").read_text()
    assert repro.count(wrong) == 1 and "# shrink" not in repro, repro
    # What the launch is passed has lines of its own, which are indented; there is less code all the same.
    assert len("".join(repro.split())) < len("".join(program.split())), repro
    cured = judged(repro.replace(wrong, right), oracle)
    assert cured.answer is Answer.PASSES and "it ends well (exit 0)" in cured.why, cured
