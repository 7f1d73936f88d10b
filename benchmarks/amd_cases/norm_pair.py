"""Two norms of different widths in one launch, a task each (vllm-project/vllm 50689)."""

import torch
import triton
import triton.language as tl

QUERY_WIDTH, LATENT_WIDTH = 1536, 512


@triton.jit
def norm_pair_kernel(queries, latents, query_gain, latent_gain, query_out, latent_out, query_stride, latent_stride,
                     query_width, latent_width, eps, BLOCK: tl.constexpr):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    if tl.program_id(1) == 0:
        row_in = queries + row * query_stride
        row_out = query_out + row * query_width
        gain = query_gain
        width = query_width
    else:
        row_in = latents + row * latent_stride
        row_out = latent_out + row * latent_width
        gain = latent_gain
        width = latent_width
    column = tl.arange(0, BLOCK)
    x = tl.load(row_in + column, mask=column < width, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, axis=0) / width + eps)
    weight = tl.load(gain + column, mask=column < width, other=0.0).to(tl.float32)
    tl.store(row_out + column, (x * scale * weight).to(row_out.dtype.element_ty), mask=column < width)


class NormPair(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.query_gain = torch.nn.Parameter(torch.ones(QUERY_WIDTH, dtype=torch.bfloat16))
        self.latent_gain = torch.nn.Parameter(torch.ones(LATENT_WIDTH, dtype=torch.bfloat16))

    def forward(self, queries, latents):
        query_out, latent_out = torch.empty_like(queries), torch.empty_like(latents)
        norm_pair_kernel[(len(queries), 2)](
            queries, latents, self.query_gain.detach(), self.latent_gain.detach(), query_out, latent_out,
            queries.stride(0), latents.stride(0), QUERY_WIDTH, LATENT_WIDTH, 1e-6, BLOCK=2048, num_warps=4,
        )  # fmt: skip
        return query_out, latent_out


def main():
    torch.manual_seed(7)
    norms = NormPair().cuda()
    queries = torch.randn(12, QUERY_WIDTH, device="cuda", dtype=torch.bfloat16)
    latents = torch.randn(12, LATENT_WIDTH, device="cuda", dtype=torch.bfloat16)
    query_out, latent_out = norms(queries, latents)
    torch.cuda.synchronize()
    print(query_out.shape, latent_out.shape)


if __name__ == "__main__":
    main()
