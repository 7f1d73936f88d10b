# shrink --arch sm_90 --oracle static:bounds --skip-pass lift --skip-pass names
# lure: an offset that nothing was computed from, or a cache that holds nothing
# cured by: \boffset \+ => 0 +
"""Appends a token to the cache of one layer; all layers lie in one tensor, at offsets that the host tells."""

import torch
import triton
import triton.language as tl


@triton.jit
def append_kernel(cache_ptr, value_ptr, offset, slot, slots, WIDTH: tl.constexpr):
    head = tl.program_id(0)
    lane = tl.arange(0, WIDTH)
    value = tl.load(value_ptr + head * WIDTH + lane)
    at = offset + (head * slots + slot) * WIDTH + lane
    tl.store(cache_ptr + at, value, mask=slot < slots)


class Cache:
    def __init__(self, layers, heads, slots, width):
        self.values = torch.zeros(layers, heads, slots, width, device="cuda")
        self.used = [0] * layers

    def append(self, layer, value):
        layers, heads, slots, width = self.values.shape
        offset = layer * self.values.stride(0) * self.values.element_size()
        append_kernel[(heads,)](self.values, value, offset, self.used[layer], slots, WIDTH=width)
        self.used[layer] += 1


cache = Cache(layers=4, heads=8, slots=128, width=64)
for layer in (0, 3):
    cache.append(layer, torch.full((8, 64), 1.0, device="cuda"))
print(cache.values.sum().item())
