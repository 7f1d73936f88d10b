import torch
import triton
import triton.language as tl


def prune(configs, named, **kwargs):
    return [c for c in configs if c.num_stages * 2 * 128 * 64 * 2 <= 227 * 1024][-1:]


@triton.autotune([triton.Config({}, num_stages=s) for s in (2, 3, 5)], key=[], prune_configs_by={"early_config_prune": prune})
@triton.jit
def kernel(a, c):
    i = tl.arange(0, 128)
    k = tl.arange(0, 64)
    acc = tl.zeros([128, 128], tl.float32)
    for start in range(8):
        left = tl.load(a + i[:, None] * 64 + k[None, :] + start)
        right = tl.load(a + k[:, None] * 128 + i[None, :] + start)
        acc = tl.dot(left, right, acc)
    tl.store(c + i[:, None] * 128 + i[None, :], acc)


kernel[(1,)](torch.zeros(20000, device="cuda"), torch.zeros(128 * 128, device="cuda"))
