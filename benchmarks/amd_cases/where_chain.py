"""Rows of three experts' weights, selected by pointers and weighed (triton-lang/triton 10381)."""

import torch
import triton
import triton.language as tl

ROWS, WIDTH = 4, 64


@triton.jit
def route_kernel(first, second, third, choice, gate, out, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    block = tl.program_id(0)
    row = tl.arange(0, ROWS)
    column = tl.arange(0, WIDTH)
    chosen = tl.load(choice + block * ROWS + row)
    weights = first + row * 0
    weights = tl.where(chosen == 1, second, weights)
    weights = tl.where(chosen == 2, third, weights)
    tile = tl.load(weights[:, None] + block * WIDTH + column[None, :])
    scale = tl.load(gate + block * ROWS + row)
    tile = tile * scale[:, None]
    total = tl.sum(tile * tile, axis=1)
    tile = tile / tl.sqrt(total + 1e-5)[:, None]
    tl.store(out + (block * ROWS + row)[:, None] * WIDTH + column[None, :], tile)


class Router(torch.nn.Module):
    def __init__(self, blocks):
        super().__init__()
        self.experts = torch.nn.ParameterList(torch.randn(blocks, WIDTH) for _ in range(3))
        self.blocks = blocks

    def forward(self, choice, gate):
        out = torch.empty(self.blocks * ROWS, WIDTH, device=gate.device)
        first, second, third = (expert.detach() for expert in self.experts)
        route_kernel[(self.blocks,)](first, second, third, choice, gate, out, ROWS=ROWS, WIDTH=WIDTH, num_warps=2)
        return out


def main():
    torch.manual_seed(5)
    router = Router(16).cuda()
    choice = torch.arange(0, 16 * ROWS, device="cuda", dtype=torch.int32) % 3
    gate = torch.softmax(torch.randn(16 * ROWS, device="cuda"), dim=0)
    out = router(choice, gate)
    torch.cuda.synchronize()
    print(out.shape)


if __name__ == "__main__":
    main()
