"""The nearest of many stored vectors for each query, timed over some widths; heuristics size the tiles."""

import itertools
import os
import time

import torch
import triton
import triton.language as tl

SHARED = 227 * 1024  # bytes a block may have on Hopper
POINTS = int(os.environ.get("KNN_POINTS", 4096))
REPEATS = int(os.environ.get("KNN_REPEATS", 3))


def row_bytes(args):
    return args["WIDTH"] * args["points"].element_size()


def points_a_tile(args):
    """The most points, as a power of two, of which STAGES tiles fit beside the queries."""
    room = SHARED - args["BLOCK_Q"] * row_bytes(args)
    fitting = room // (args["STAGES"] * row_bytes(args))
    return min(256, max(16, triton.next_power_of_2(fitting)))


def splits(args):
    """Programs that share the points of one tile of queries: enough to fill the machine."""
    tiles = triton.cdiv(args["amount_q"], args["BLOCK_Q"])
    return max(1, min(8, 132 // tiles))


@triton.jit
def nearer(distance, index, other_distance, other_index):
    take = (other_distance < distance) | ((other_distance == distance) & (other_index < index))
    return tl.where(take, other_distance, distance), tl.where(take, other_index, index)


@triton.jit
def norms_kernel(x, out, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    value = tl.load(x + row * WIDTH + tl.arange(0, WIDTH)).to(tl.float32)
    tl.store(out + row, tl.sum(value * value, axis=0))


@triton.heuristics({"BLOCK_P": points_a_tile, "SPLITS": splits})
@triton.heuristics({"num_warps": lambda args: 8 if args["WIDTH"] > 64 else 4})
@triton.jit
def nearest_kernel(
    queries, points, norms, distances, indices, amount_q, amount_p,
    WIDTH: tl.constexpr, BLOCK_Q: tl.constexpr, STAGES: tl.constexpr, BLOCK_P: tl.constexpr, SPLITS: tl.constexpr,
):
    row = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    column = tl.arange(0, WIDTH)
    q = tl.load(queries + row[:, None] * WIDTH + column[None, :], mask=row[:, None] < amount_q, other=0.0)
    best = tl.full([BLOCK_Q], float("inf"), tl.float32)
    where = tl.full([BLOCK_Q], 0, tl.int32)
    for start in tl.range(tl.program_id(1) * BLOCK_P, amount_p, SPLITS * BLOCK_P, num_stages=STAGES):
        point = start + tl.arange(0, BLOCK_P)
        p = tl.load(points + point[None, :] * WIDTH + column[:, None], mask=point[None, :] < amount_p, other=0.0)
        norm = tl.load(norms + point, mask=point < amount_p, other=float("inf"))
        distance = norm[None, :] - 2.0 * tl.dot(q, p)
        found, lane = tl.min(distance, axis=1, return_indices=True)
        best, where = nearer(best, where, found, start + lane)
    at = tl.program_id(1) * amount_q + row
    tl.store(distances + at, best, mask=row < amount_q)
    tl.store(indices + at, where, mask=row < amount_q)


class Index:
    """Vectors that are searched, with the squares of their norms."""

    def __init__(self, points):
        self.points = points
        self.norms = torch.empty(points.shape[0], device=points.device)
        norms_kernel[(points.shape[0],)](points, self.norms, WIDTH=points.shape[1])

    def search(self, queries, block=64, stages=2):
        amount, width = queries.shape
        distances = torch.full((8, amount), float("inf"), device=queries.device)
        indices = torch.zeros((8, amount), dtype=torch.int32, device=queries.device)
        nearest_kernel[lambda args: (triton.cdiv(amount, args["BLOCK_Q"]), args["SPLITS"])](
            queries, self.points, self.norms, distances, indices, amount, self.points.shape[0],
            WIDTH=width, BLOCK_Q=block, STAGES=stages,
        )
        best = distances.argmin(0, keepdim=True)
        return distances.gather(0, best)[0], indices.gather(0, best)[0]


def main():
    torch.manual_seed(0)
    for width, amount in itertools.product((64, 256), (100, 1000)):
        index = Index(torch.randn(POINTS, width).half().cuda())
        queries = torch.randn(amount, width).half().cuda()
        index.search(queries)
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(REPEATS):
            index.search(queries)
        torch.cuda.synchronize()
        print(f"width {width:4} queries {amount:5}: {(time.perf_counter() - began) / REPEATS * 1e3:.2f} ms")


if __name__ == "__main__":
    main()
