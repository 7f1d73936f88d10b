"""A layer norm whose scale and shift come of one of two tables, as each token says (sgl-project/sglang 21621)."""

import torch
import triton
import triton.language as tl

WIDTH, TOKENS, BATCHES = 768, 32, 2


@triton.jit
def gated_norm_kernel(rows, out, scale_0, shift_0, scale_1, shift_1, choice, table_stride, width, tokens, eps,
                      BLOCK: tl.constexpr):  # fmt: skip
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < width
    x = tl.load(rows + row * width + column, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / width
    apart = tl.where(inside, x - mean, 0.0)
    inverse = tl.rsqrt(tl.sum(apart * apart, axis=0) / width + eps)
    batch = row // tokens
    second = tl.load(choice + row) != 0
    scales_0 = scale_0 + batch * table_stride + column
    scales_1 = scale_1 + batch * table_stride + column
    shifts_0 = shift_0 + batch * table_stride + column
    shifts_1 = shift_1 + batch * table_stride + column
    scale = tl.load(tl.where(second, scales_1, scales_0), mask=inside, other=0.0)
    shift = tl.load(tl.where(second, shifts_1, shifts_0), mask=inside, other=0.0)
    tl.store(out + row * width + column, apart * inverse * (1 + scale) + shift, mask=inside)


class GatedNorm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.tables = torch.nn.ParameterList(torch.randn(BATCHES, WIDTH) for _ in range(4))

    def forward(self, rows, choice):
        out = torch.empty_like(rows)
        scale_0, shift_0, scale_1, shift_1 = (table.detach() for table in self.tables)
        gated_norm_kernel[(len(rows),)](
            rows, out, scale_0, shift_0, scale_1, shift_1, choice, scale_0.stride(0), WIDTH, TOKENS, 1e-5, BLOCK=1024,
            num_warps=4,
        )  # fmt: skip
        return out


def main():
    torch.manual_seed(11)
    norm = GatedNorm().cuda()
    rows = torch.randn(BATCHES * TOKENS, WIDTH, device="cuda")
    choice = (torch.arange(BATCHES * TOKENS, device="cuda") % 3 == 0).to(torch.int32)
    out = norm(rows, choice)
    torch.cuda.synchronize()
    print(out.shape)


if __name__ == "__main__":
    main()
