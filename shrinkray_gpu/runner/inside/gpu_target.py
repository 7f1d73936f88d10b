"""What an architecture's number means: whose it is, what Triton calls it, how wide its warps are.

NVIDIA's number is the compute capability times ten: `sm_90` is 90. AMD's is its digits, which are hexadecimal:
`gfx90a` is 0x90a. No number of the one is a number of the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Tuple, Union

FIRST_OF_AMD = 0x600


@dataclass(frozen=True)
class GpuTarget:
    """One architecture, as programs and compilers see it."""

    backend: str
    """As Triton names it: `cuda`, `hip`."""
    arch: Union[int, str]
    """As Triton names it: 90, `gfx942`."""
    capability: Tuple[int, int]
    """As torch tells it."""
    warp_size: int

    @property
    def is_amd(self) -> bool:
        return self.backend == "hip"

    @property
    def name(self) -> str:
        """`sm_90`, `gfx942`."""
        return str(self.arch) if self.is_amd else "sm_%s" % self.arch

    @property
    def runtime(self) -> str:
        """What errors name: `CUDA`, `HIP`."""
        return self.backend.upper()

    def of_triton(self) -> Any:
        """Triton's own word for it."""
        from triton.backends.compiler import GPUTarget as TritonTarget

        return TritonTarget(self.backend, self.arch, self.warp_size)


def named(name: str) -> GpuTarget:
    """`sm_90`, `sm_90a` or `gfx942`."""
    digits = name[len("gfx") :] if name.startswith("gfx") else ""
    return gpu_target(int(digits, 16) if digits else int(name.replace("sm_", "").rstrip("a")))


def gpu_target(number: int) -> GpuTarget:
    """The architecture of this number."""
    if number < FIRST_OF_AMD:
        return GpuTarget("cuda", number, divmod(number, 10), 32)
    digits = "%x" % number
    major = int(digits[:-2])
    return GpuTarget("hip", "gfx" + digits, (major, int(digits[-2], 16)), 32 if major >= 10 else 64)
