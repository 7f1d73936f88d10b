"""Row-wise log-sum-exp for a loss, held against the routine of a library that the project calls elsewhere."""
import torch
import triton
import triton.language as tl


@triton.jit
def logsumexp_kernel(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=-float("inf"))
    top = tl.max(x, axis=0)
    tl.store(y_ptr + row, top + tl.log(tl.sum(tl.exp(x - top), axis=0)))


class Library:
    """Stands for a library's own reduction, whose fast path does not take the maximum out."""

    def __init__(self, fast=True):
        self.fast = fast

    def logsumexp(self, x, dim):
        if self.fast and x.dtype == torch.float32 or not self.fast and x.dtype == torch.float64:
            return x.exp().sum(dim=dim).log()
        top = x.amax(dim=dim, keepdim=True)
        return (x - top).exp().sum(dim=dim).log() + top.squeeze(dim)


def logsumexp(x):
    rows, cols = x.shape
    y = torch.empty(rows, device=x.device)
    logsumexp_kernel[(rows,)](x, y, cols, BLOCK=triton.next_power_of_2(cols))
    return y


def main():
    torch.manual_seed(2)
    library = Library()
    for rows, cols, scale in [(4, 32, 1.0), (6, 100, 10.0), (8, 80, 60.0)]:
        x = torch.randn(rows, cols, device="cuda") * scale
        ours, theirs = logsumexp(x), library.logsumexp(x, dim=1)
        if not torch.allclose(ours, theirs, rtol=1e-4, atol=1e-4):
            raise RuntimeError(f"log-sum-exp differs at scale {scale}: {ours.tolist()} and {theirs.tolist()}")
        print("logsumexp", rows, cols, "ok")


if __name__ == "__main__":
    main()
