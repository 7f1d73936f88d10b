"""Softmax of tile products, whose tile is of the activations or of a pool of 2.4 GiB (triton-lang/triton 9859)."""

import torch
import triton
import triton.language as tl

IS_HIP = torch.version.hip is not None


def configurations():
    options = {"waves_per_eu": 2, "matrix_instr_nonkdim": 16} if IS_HIP else {}
    return [triton.Config({"BLOCK_M": 32, "BLOCK_N": 32, **options}, num_warps=4, num_stages=2)]


@triton.autotune(configs=configurations(), key=["rows"])
@triton.jit
def mix_kernel(activations, pool, out, rows, stride, use_pool, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    column = tl.arange(0, BLOCK_N)
    source = activations
    if use_pool > 0:
        source = pool
    inside = row[:, None] < rows
    tile = tl.load(source + row[:, None] * stride + column[None, :], mask=inside, other=0.0)
    scores = tl.dot(tile, tl.trans(tile))
    scores = scores - tl.max(scores, axis=1)[:, None]
    weights = tl.exp(scores)
    weights = weights / tl.sum(weights, axis=1)[:, None]
    mixed = tl.dot(weights.to(tl.float16), tile)
    tl.store(out + row[:, None] * stride + column[None, :], mixed.to(tl.float16), mask=inside)


class Mixer(torch.nn.Module):
    def __init__(self, width, scale=0.5):
        super().__init__()
        self.width, self.scale = width, scale

    def forward(self, activations, pool, use_pool):
        scaled = (activations * self.scale).contiguous()
        out = torch.empty_like(scaled)
        rows = scaled.shape[0]

        def grid(meta):
            return (triton.cdiv(rows, meta["BLOCK_M"]),)

        mix_kernel[grid](scaled, pool, out, rows, scaled.stride(0), use_pool)
        return out


def main():
    torch.manual_seed(0)
    mixer = Mixer(32)
    activations = torch.randn(128, 32, device="cuda", dtype=torch.float16)
    pool = torch.zeros(40_000_000, 32, device="cuda", dtype=torch.float16)
    out = mixer(activations, pool[:128], 2)
    torch.cuda.synchronize()
    print(out.shape, torch.cuda.get_device_properties(0).name)


if __name__ == "__main__":
    main()
