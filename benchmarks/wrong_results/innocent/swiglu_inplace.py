"""SwiGLU of a gated layer, held against the eager version that the model used before."""
import torch
import triton
import triton.language as tl


@triton.jit
def swiglu_kernel(gate_ptr, up_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    gate = tl.load(gate_ptr + offs, mask=offs < n)
    up = tl.load(up_ptr + offs, mask=offs < n)
    tl.store(y_ptr + offs, gate * tl.sigmoid(gate) * up, mask=offs < n)


class Histogram:
    """Of activations, for the log: what is out of range counts as the outermost bin."""

    def __init__(self, limit, bins=8):
        self.limit, self.bins = limit, bins
        self.counts = [0] * bins

    def add(self, values):
        clamped = values.clamp_(-self.limit, self.limit)
        places = ((clamped + self.limit) / (2 * self.limit) * (self.bins - 1)).long().flatten()
        for place in places.tolist():
            self.counts[place] += 1


def eager(gate, up):
    return torch.nn.functional.silu(gate) * up


class Fused:
    def __call__(self, gate, up):
        y = torch.empty_like(gate)
        n = gate.numel()
        swiglu_kernel[(triton.cdiv(n, 256),)](gate, up, y, n, BLOCK=256)
        return y


CASES = [((4, 64), 9.0), ((8, 100), 7.0), ((6, 90), 1.0)]


def inputs(shape):
    return torch.randn(shape, device="cuda"), torch.randn(shape, device="cuda")


def main():
    torch.manual_seed(3)
    for shape, limit in CASES:
        gate, up = inputs(shape)
        fused, seen = Fused()(gate, up), Histogram(limit)
        seen.add(up)
        error = (fused - eager(gate, up)).abs().max().item()
        assert error < 1e-4, f"swiglu is off by {error:.3g} for {shape}"
        print(shape, "ok", seen.counts)


if __name__ == "__main__":
    main()
