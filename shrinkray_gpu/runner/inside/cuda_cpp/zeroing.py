"""Shared memory that holds zeros when a kernel of CUDA C++ begins: the knob `zeroed-shared`.

What a block finds there otherwise is what an earlier one left. So a fault that goes away with zeros comes of reading
what nobody had written yet, be it for want of a barrier. Standard library only.
"""

from __future__ import annotations

import re

KNOB = "zeroed-shared"
_TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\b__global__\b|[(){;]""", re.DOTALL)
# On the line of the brace, so that all lines keep their numbers. The block's memory begins behind what the driver has
# reserved for itself: 1024 bytes on an H100, of which it uses (`_end`) 288.
_ZEROS = (
    " { unsigned int shrink_begin, shrink_at, shrink_bytes;"
    ' asm volatile("mov.u32 %0, %%reserved_smem_offset_begin;" : "=r"(shrink_begin));'
    ' asm volatile("mov.u32 %0, %%reserved_smem_offset_cap;" : "=r"(shrink_at));'
    ' asm volatile("mov.u32 %0, %%total_smem_size;" : "=r"(shrink_bytes));'
    " if (shrink_begin) shrink_at = 0;"
    " for (unsigned int i = 4 * (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z));"
    " i < shrink_bytes; i += 4 * blockDim.x * blockDim.y * blockDim.z)"
    ' asm volatile("st.shared.u32 [%0], %1;" :: "r"(shrink_at + i), "r"(0) : "memory");'
    " __syncthreads(); }"
)


class _Knob:
    on = False
    turned = 0


def turn() -> None:
    """From now on `zero_shared_memory` changes what it is given."""
    _Knob.on, _Knob.turned = True, 0


def end() -> int:
    """No more. How many kernels were changed since `turn`."""
    _Knob.on = False
    return _Knob.turned


def zero_shared_memory(text: str) -> str:
    """A source whose kernels fill the shared memory of their block with zeros first, in PTX, which knows all of it by
    address. One that declares none, or any source while the knob is not turned, stays as it is."""
    if not _Knob.on or "__shared__" not in text:
        return text
    parts, copied = [], 0
    depth = -1  # of parentheses in the head of a kernel; -1 outside of one
    for token in _TOKEN.finditer(text):
        word = token[0]
        if word == "__global__":
            depth = 0
        elif depth < 0:
            continue
        elif word == "(":
            depth += 1
        elif word == ")":
            depth -= 1
        elif depth == 0 and word in "{;":
            if word == "{":
                parts += [text[copied : token.end()], _ZEROS]
                copied = token.end()
                _Knob.turned += 1
            depth = -1
    return "".join([*parts, text[copied:]])
