# shrink --oracle "illegal memory access"
# lure: the second kernel, which reads far away: the same error of the driver, and its turn never comes
# must: tl\.store\(
# must not: tl\.load\(
# ends: 1 illegal memory access|operation not supported on global
# fault: device fault: (an illegal memory access|operation not supported on global)
# naive: no guards
"""Two passes over a paged cache with one wrong page number: the first clears pages, the second sums them."""

import torch
import triton
import triton.language as tl

PAGE = 256


@triton.jit
def clear_kernel(cache_ptr, page, PAGE: tl.constexpr):
    at = tl.program_id(0) * PAGE + tl.arange(0, PAGE)
    tl.store(cache_ptr + page.to(tl.int64) * PAGE + at, 0.0)


@triton.jit
def sum_kernel(cache_ptr, out_ptr, page, PAGE: tl.constexpr):
    at = tl.program_id(0) * PAGE + tl.arange(0, PAGE)
    x = tl.load(cache_ptr + page.to(tl.int64) * PAGE + at)
    tl.store(out_ptr + tl.program_id(0), tl.sum(x))


def clear(cache, page):
    clear_kernel[(4,)](cache, page, PAGE=PAGE)
    torch.cuda.synchronize()


def total(cache, page):
    out = torch.zeros(4, device=cache.device)
    sum_kernel[(4,)](cache, out, page, PAGE=PAGE)
    return out.sum().item()


cache = torch.ones(64, PAGE, device="cuda")
for page in (3, 1 << 30):
    clear(cache, page)
    print(page, total(cache, page))
