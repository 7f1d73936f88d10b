"""An error that a device reports: its code, its names, the words of its driver."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DeviceError:
    """One error of a vendor's runtime."""

    code: int
    names: tuple[str, ...]
    """As the runtime and the driver spell it: `cudaErrorMisalignedAddress`, `CUDA_ERROR_MISALIGNED_ADDRESS`."""
    text: str
    """What `cudaGetErrorString` says, the words that torch and Triton pass on."""
    aliases: tuple[str, ...] = ()
    """What people type instead."""
    sticky: bool = True
    """Whether each later call in the context returns it again, so that the driver can be asked after the script."""
    label: str = ""
    """How its code is told, where that is not CUDA's."""
    like: int = 0
    """CUDA's error for the same, where it has another code: what static rules tell of it."""

    @property
    def number(self) -> str:
        """`CUDA error 716`."""
        return self.label or f"CUDA error {self.code}"

    def __str__(self) -> str:
        return f"{self.text} ({self.number})"
