"""The errors of AMD's runtimes that users name. Below HIP is HSA, whose errors end the process: code, name, words.

Written by AMD's documents, and not run on a GPU of AMD's. The words of HSA are those of `hsa_status_string`. HIP's
errors have the codes and the words of CUDA's: that table has them, and this one only their names.
"""

from __future__ import annotations

from shrinkray_gpu.device.device_error import DeviceError
from shrinkray_gpu.device.nvidia import error_table as cuda

_HSA = 0x10000
"""Added to HSA's codes, which overlap with CUDA's."""
MEMORY_FAULT = _HSA + 43
_ILLEGAL_ADDRESS = 700


def _hsa(status: int, name: str, text: str, *aliases: str, like: int = 0, event: str = "") -> DeviceError:
    names = tuple(filter(None, (name, event)))
    return DeviceError(_HSA + status, names, text, aliases, label=f"HSA status {status:#x}", like=like)


ERRORS = (
    _hsa(
        41,
        "HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION",
        "The agent attempted to access memory beyond the largest legal address",
        "memory aperture violation",
        like=_ILLEGAL_ADDRESS,
    ),
    _hsa(42, "HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION", "The agent attempted to execute an illegal shader instruction"),
    _hsa(
        43,
        "HSA_STATUS_ERROR_MEMORY_FAULT",
        "Memory access fault by GPU node",
        "Memory access fault by GPU",
        like=_ILLEGAL_ADDRESS,
        event="HSA_AMD_GPU_MEMORY_FAULT_EVENT",  # as the debug agent tells it
    ),
    _hsa(0x1008, "HSA_STATUS_ERROR_OUT_OF_RESOURCES", "The runtime failed to allocate the necessary resources"),
    _hsa(0x1009, "HSA_STATUS_ERROR_INVALID_PACKET_FORMAT", "The AQL packet is malformed"),
    _hsa(0x1016, "HSA_STATUS_ERROR_EXCEPTION", "An HSAIL operation resulted in a hardware exception"),
)
_HIP = {
    "hipErrorIllegalAddress": _ILLEGAL_ADDRESS,
    "hipErrorLaunchTimeOut": 702,
    "hipErrorAssert": 710,
    "hipErrorLaunchFailure": 719,
}


CODES = frozenset(error.code for error in ERRORS)


def by_code(code: int) -> DeviceError:
    """The error behind one of `CODES`."""
    return next(error for error in ERRORS if error.code == code)


def parse_error(typed: str) -> DeviceError | None:
    """The error that a user means by these words: its text, an alias, a name, or a whole pasted line."""
    folded = " ".join(typed.split()).casefold()
    for error in ERRORS:
        if any(name in typed for name in error.names) or any(
            folded.startswith(said.casefold()) for said in (error.text, *error.aliases)
        ):
            return error
    return sticky_in(typed)


def sticky_in(text: str) -> DeviceError | None:
    """The error that a message reports: the line in which the runtime says why it aborts, or HIP's own error."""
    for line in text.splitlines():
        for error in ERRORS:
            if any(name in line for name in error.names) or (error.code == MEMORY_FAULT and error.text in line):
                return error
        if found := next((code for name, code in _HIP.items() if name in line), 0):
            return cuda.by_code(found)
        if "hip error" in line.casefold() or "[HIP]" in line:
            folded = line.casefold()
            for error in cuda.ERRORS:
                if error.sticky and error.text.casefold() in folded:
                    return error
    return None
