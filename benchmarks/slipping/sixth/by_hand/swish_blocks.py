import torch
import triton
import triton.language as tl

FAMILIES = {"silu": ("swish")}
ALIASES = {alias: name for name, aliases in FAMILIES.items() for alias in aliases}


@triton.jit
def kernel(x, ACT: tl.constexpr):
    if ACT == "silu":
        bent = tl.sigmoid(tl.load(x))
    tl.store(x, bent)


kernel[(1,)](torch.zeros(1, device="cuda"), ACT=ALIASES.get("swish", "swish"))
torch.cuda.synchronize()
