# shrink --arch sm_90 --oracle static:bounds --skip-pass lift --skip-pass names
# lure: an edge list of which nothing is read, or features of no node
# cured by: (tl\.load\(features_ptr.*?)mask=(.*?)(, other=0\.0\)) => \1mask=(\2) & (source[:, None] < 4096)\3
# cured by: (s_ptr.*(tl\.load\(so(?:[^()]|\([^()]*\))*\))(\[.*?])?.*?mask=)(.*?), other => \1(\4) & (\2\3 < 4096), other
"""Sums of neighbours' features in a graph by rows of edges. A deleted edge stays in its row and points to GONE."""

import torch
import triton
import triton.language as tl

GONE = 1 << 23


@triton.jit
def gather_kernel(features_ptr, start_ptr, source_ptr, out_ptr, BLOCK: tl.constexpr, WIDTH: tl.constexpr):
    node = tl.program_id(0)
    begin = tl.load(start_ptr + node)
    end = tl.load(start_ptr + node + 1)
    lane = tl.arange(0, WIDTH)
    total = tl.zeros([WIDTH], tl.float32)
    for first in range(begin, end, BLOCK):
        edge = first + tl.arange(0, BLOCK)
        there = edge < end
        source = tl.load(source_ptr + edge, mask=there, other=0)
        rows = tl.load(features_ptr + source[:, None] * WIDTH + lane[None, :], mask=there[:, None], other=0.0)
        total += tl.sum(rows, axis=0)
    tl.store(out_ptr + node * WIDTH + lane, total)


def neighbour_sums(features, edges):
    nodes, width = features.shape
    degrees = torch.tensor([len(row) for row in edges])
    start = torch.cat([torch.zeros(1, dtype=torch.int64), degrees.cumsum(0)]).int().cuda()
    source = torch.tensor([node for row in edges for node in row], dtype=torch.int32).cuda()
    out = torch.empty_like(features)
    gather_kernel[(nodes,)](features, start, source, out, BLOCK=8, WIDTH=width)
    return out


features = torch.randn(300, 16).cuda()
edges = [[(node * step) % 300 for step in range(1, 2 + node % 11)] for node in range(300)]
print(neighbour_sums(features, edges).sum().item())
for node in (40, 207):
    edges[node][0] = GONE
print(neighbour_sums(features, edges).sum().item())
