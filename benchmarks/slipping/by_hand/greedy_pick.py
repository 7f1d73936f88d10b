import torch
import triton
import triton.language as tl


@triton.jit
def kernel(logits, chosen, vocabulary, TILE: tl.constexpr):
    token = tl.arange(0, TILE)
    value = tl.load(logits + token, mask=token < vocabulary, other=0.0)
    tl.store(chosen, tl.argmax(value, axis=0))


logits = torch.full((3,), -1.0, device="cuda")
chosen = torch.empty(1, dtype=torch.int32, device="cuda")
kernel[(1,)](logits, chosen, 3, TILE=4)
["a", "b", "c"][chosen.item()]
