import argparse
from dataclasses import dataclass

import torch
import triton
import triton.language as tl


@triton.jit
def page_start(page: tl.tensor, stride: tl.tensor):
    """Where a page begins."""
    return page * stride


@triton.jit
def copy_pages_kernel(cache_ptr, table_ptr):
    slot = tl.program_id(0)
    token = tl.arange(0, 16)
    cols = tl.arange(0, 4)
    inside = (token < 16)[:, None]
    tl.store(
        cache_ptr + slot.to(tl.int64) * 8192 + token[:, None] * 4 + cols[None, :],
        tl.load(
            cache_ptr + page_start(
                tl.load(table_ptr + slot), 655360
            ) + token[:, None] * 4 + cols[None, :],
            mask=inside, other=0,
        ),
        mask=inside,
    )


@dataclass(frozen=True)
class Layout:
    pages: int


argparse.ArgumentParser(description=None, formatter_class=argparse.RawDescriptionHelpFormatter)
Layout(4096)
data = torch.empty(4096, 655360, dtype=torch.int8, device="cuda")
order = [*range(8), *range(4088, 4096)]
for number, table in enumerate(
    [torch.tensor(order[i * 8:(i + 1) * 8], dtype=torch.int32, device="cuda") for i in range(2)]
):
    copy_pages_kernel[(1,)](data, table)
    torch.cuda.synchronize()
