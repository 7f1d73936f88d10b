import torch
import triton
import triton.language as tl


@triton.jit
def page_offset(page, page_bytes):
    return page * page_bytes


@triton.jit
def kernel(arena, pages, out):
    page = tl.load(pages)
    tl.store(out, tl.load(arena + page_offset(page, 65536)).to(tl.int32))


arena = torch.empty(40000 * 65536, dtype=torch.int8, device="cuda")
pages = torch.tensor([39999], dtype=torch.int32, device="cuda")
kernel[(1,)](arena, pages, torch.empty(1, dtype=torch.int32, device="cuda"))
torch.cuda.synchronize()
