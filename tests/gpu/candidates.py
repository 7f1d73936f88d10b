"""Candidates for the poison test: 240 programs that do to a warm lane what candidates do, in a mixed order."""

from __future__ import annotations

import random

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n"

COPY = """
@triton.jit
def copy(x_ptr, y_ptr, shift, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at + shift, mask=at < n), mask=at < n)
"""

TMA = """
@triton.jit
def total(x_ptr, y_ptr, rows, cols, STAGES: tl.constexpr, TILE: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, shape=[rows, cols], strides=[cols, 1], block_shape=[1, TILE])
    acc = tl.zeros([1, TILE], tl.float32)
    for at in tl.range(0, cols, TILE, num_stages=STAGES):
        acc += x.load([tl.program_id(0), at])
    tl.store(y_ptr + tl.program_id(0), tl.sum(acc))
"""

ALLOCATOR = "triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device='cuda'))\n"
SYNC = "torch.cuda.synchronize()\n"


def copying(shift: int, n: int, block: int) -> str:
    """Elements `shift` past the start: fine, silently wrong, or an illegal access, by how far."""
    return (
        f"{HEAD}{COPY}\nx = torch.arange({n}, device='cuda', dtype=torch.float32)\ny = torch.zeros_like(x)\n"
        f"copy[({-(-n // block)},)](x, y, {shift}, {n}, BLOCK={block})\n{SYNC}"
    )


def tma(stages: int, tile: int, allocator: bool = True) -> str:
    """A descriptor load in a pipelined loop: misaligned for narrow tiles with several stages."""
    return (
        f"{HEAD}{TMA}\n{ALLOCATOR if allocator else ''}"
        "x = torch.ones(8, 64, device='cuda')\ny = torch.zeros(8, device='cuda')\n"
        f"total[(8,)](x, y, 8, 64, STAGES={stages}, TILE={tile})\n{SYNC}assert y.sum().item() == 512\n"
    )


LEAKS = (
    ALLOCATOR,
    "torch.set_default_dtype(torch.float64)\n",
    "torch.set_default_device('cuda')\n",
    "import os\nos.environ['CUDA_LAUNCH_BLOCKING'] = '1'\nos.environ['TRITON_DEBUG'] = '1'\n",
    "torch.cuda.synchronize = lambda *a: None\n",
    "triton.cdiv = lambda a, b: 0\n",
    "tl.zeros = None\n",
    "import builtins\nbuiltins.kept = torch.empty(1 << 28, device='cuda')\n",
    "torch.manual_seed(1)\ntorch.set_grad_enabled(False)\n",
    "import sys\nsys.modules['math'] = None\n",
    "torch.kept = torch.empty(1 << 26, device='cuda')\n",
    "torch.Tensor.sum = lambda self, *a: self\n",
)

LOOKS = (
    tma(1, 32, allocator=False),
    "import torch\nassert torch.ones(1).dtype == torch.float32\n",
    "import torch\nassert torch.ones(1).device.type == 'cpu'\n",
    "import os\nassert 'TRITON_DEBUG' not in os.environ\n",
    f"import torch\n{SYNC}assert torch.cuda.synchronize.__module__ == 'torch.cuda'\n",
    "import triton\nassert triton.cdiv(5, 2) == 3\n",
    tma(1, 32),
    "import math\nassert math.pi > 3\n",
    "import torch\nassert torch.is_grad_enabled() and torch.ones(3).sum().item() == 3\n",
)


def candidates(seed: int = 0) -> list[str]:
    """240 of them: 40 leave state behind, 20 overrun silently, the rest fault, pass, raise, hang, exit and crash."""
    order = random.Random(seed)
    found: list[str] = []
    found += [f"{HEAD}{LEAKS[i % len(LEAKS)]}y = torch.zeros(4, device='cuda') + {i}\n" for i in range(40)]
    found += [copying(shift=256 + 64 * i, n=512, block=256) for i in range(20)]  # past x, inside torch's 2 MiB segment
    found += [copying(shift=(1 << 33) + i, n=512, block=256) for i in range(12)]
    found += [copying(shift=-(1 << 20) - i, n=512, block=256) for i in range(12)]  # mapped only if another left memory
    found += [tma(stages, tile) for stages in (3, 4) for tile in (4, 8, 16)] * 4
    found += [tma(stages, tile) for stages, tile in ((1, 4), (2, 8), (3, 32), (4, 32))] * 4
    found += [copying(shift=0, n=512 + i, block=128) for i in range(32)]
    found += [*LOOKS * 5][:42]
    found += [f"import torch\nx = torch.ones({i}, device='cuda')\nprint(undefined_{i})\n" for i in range(20)]
    found += [f"import torch\nwhile True:\n    {i}\n" for i in range(4)]
    found += [f"import os, torch\ntorch.ones(1, device='cuda')\nos._exit({i})\n" for i in range(9)]
    found += ["import ctypes, torch\nctypes.string_at(0)\n" + "#" * i for i in range(9)]
    assert len(found) == 240, len(found)
    order.shuffle(found)
    return found
