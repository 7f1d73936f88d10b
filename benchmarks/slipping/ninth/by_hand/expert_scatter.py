import torch
import triton
import triton.language as tl


@triton.jit
def router_kernel(logits, choice):
    tl.store(choice, tl.where(tl.load(logits) < 0.1, 1, 0))


@triton.jit
def permute_kernel(out, order, choice, starts):
    tl.store(out + tl.load(starts + tl.load(choice + tl.load(order))), 0)


choice = torch.empty(1, dtype=torch.int64, device="cuda")
router_kernel[(1,)](torch.zeros(1, device="cuda"), choice)
room = torch.bincount(choice, minlength=2)
order, starts = torch.argsort(choice), room.cumsum(0) - room
permute_kernel[(order.numel(),)](torch.empty(int(room[:1].sum()), device="cuda"), order, choice, starts)
torch.cuda.synchronize()
