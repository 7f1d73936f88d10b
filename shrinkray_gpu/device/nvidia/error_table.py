"""The CUDA errors that users name: code, names, the driver's words, whether they end the context.

Codes, names and words were read from the CUDA 13.0 runtime (`cudaGetErrorName`, `cudaGetErrorString`); which ones are
sticky is the header's "leaves the process in an inconsistent state", plus 710 (a device assert invalidates the
context), 810 (so says its text), and the uncorrectable hardware errors 214 and 220.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from shrinkray_gpu.device.device_error import DeviceError

# Code and names, and below them the driver's words and what people type instead. "occured" is NVIDIA's spelling.
_STICKY = """
700 cudaErrorIllegalAddress CUDA_ERROR_ILLEGAL_ADDRESS
    an illegal memory access was encountered | illegal memory access | illegal memory access was encountered
    | illegal address
702 cudaErrorLaunchTimeout CUDA_ERROR_LAUNCH_TIMEOUT
    the launch timed out and was terminated | launch timed out | launch timeout
710 cudaErrorAssert CUDA_ERROR_ASSERT
    device-side assert triggered | device-side assert | device side assert triggered | device side assert
    | device assert
714 cudaErrorHardwareStackError CUDA_ERROR_HARDWARE_STACK_ERROR
    hardware stack error
715 cudaErrorIllegalInstruction CUDA_ERROR_ILLEGAL_INSTRUCTION
    an illegal instruction was encountered | illegal instruction | illegal instruction was encountered
716 cudaErrorMisalignedAddress CUDA_ERROR_MISALIGNED_ADDRESS
    misaligned address | misaligned memory access | misaligned shared or local address
717 cudaErrorInvalidAddressSpace CUDA_ERROR_INVALID_ADDRESS_SPACE
    operation not supported on global/shared address space | invalid address space
718 cudaErrorInvalidPc CUDA_ERROR_INVALID_PC
    invalid program counter | invalid pc
719 cudaErrorLaunchFailure CUDA_ERROR_LAUNCH_FAILED
    unspecified launch failure | launch failure
721 cudaErrorTensorMemoryLeak CUDA_ERROR_TENSOR_MEMORY_LEAK
    tensor memory not completely freed | tensor memory leak
214 cudaErrorECCUncorrectable CUDA_ERROR_ECC_UNCORRECTABLE
    uncorrectable ECC error encountered | uncorrectable ECC error
220 cudaErrorNvlinkUncorrectable CUDA_ERROR_NVLINK_UNCORRECTABLE
    uncorrectable NVLink error detected during the execution | uncorrectable NVLink error
226 cudaErrorContained CUDA_ERROR_CONTAINED
    Invalid access of peer GPU memory over nvlink or a hardware error
810 cudaErrorMpsClientTerminated CUDA_ERROR_MPS_CLIENT_TERMINATED
    the MPS client has been terminated by the server | MPS client terminated
911 cudaErrorExternalDevice CUDA_ERROR_EXTERNAL_DEVICE
    an async error has occured in external entity outside of CUDA
"""
_ONCE = """
1 cudaErrorInvalidValue CUDA_ERROR_INVALID_VALUE
    invalid argument
2 cudaErrorMemoryAllocation CUDA_ERROR_OUT_OF_MEMORY
    out of memory
9 cudaErrorInvalidConfiguration
    invalid configuration argument
98 cudaErrorInvalidDeviceFunction
    invalid device function
101 cudaErrorInvalidDevice CUDA_ERROR_INVALID_DEVICE
    invalid device ordinal
200 cudaErrorInvalidKernelImage CUDA_ERROR_INVALID_IMAGE
    device kernel image is invalid
209 cudaErrorNoKernelImageForDevice CUDA_ERROR_NO_BINARY_FOR_GPU
    no kernel image is available for execution on the device | no kernel image is available
218 cudaErrorInvalidPtx CUDA_ERROR_INVALID_PTX
    a PTX JIT compilation failed
222 cudaErrorUnsupportedPtxVersion CUDA_ERROR_UNSUPPORTED_PTX_VERSION
    the provided PTX was compiled with an unsupported toolchain
400 cudaErrorInvalidResourceHandle CUDA_ERROR_INVALID_HANDLE
    invalid resource handle
701 cudaErrorLaunchOutOfResources CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
    too many resources requested for launch
720 cudaErrorCooperativeLaunchTooLarge CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
    too many blocks in cooperative launch
900 cudaErrorStreamCaptureUnsupported CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
    operation not permitted when stream is capturing
912 cudaErrorInvalidClusterSize CUDA_ERROR_INVALID_CLUSTER_SIZE
    a kernel launch error has occurred due to cluster misconfiguration
"""


def _errors(table: str, *, sticky: bool) -> Iterator[DeviceError]:
    """The rows of a table."""
    for row in re.split(r"\n(?=\d)", table.strip()):
        head, words = row.split("\n", 1)
        code, *names = head.split()
        text, *aliases = (" ".join(each.split()) for each in words.split("|"))
        yield DeviceError(int(code), tuple(names), text, tuple(aliases), sticky)


ERRORS = (*_errors(_STICKY, sticky=True), *_errors(_ONCE, sticky=False))
_BY_CODE = {error.code: error for error in ERRORS}
CODES = frozenset(_BY_CODE)

_BEFORE = re.compile(
    r"""\s*
    (?:(?:terminate\s+called.*?what\(\):\s*)?)
    (?:[\w.:]*(?:RuntimeError|AcceleratorError|OutOfMemoryError|CUDAError|CudaError|CudaAPIError|DriverError)\s*:\s*)*
    (?:Triton\s+Error\s+\[CUDA\]\s*:\s*|CUDA\s+(?:driver\s+|runtime\s+)?(?:error|failure)\s*(?:\d+\s*)?:?\s*|CUDA\s+)?
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""What torch, Triton and Python put before the driver's words. The exception's type differs between torch versions."""


_AFTER = re.compile(r"$|[.,;(\[]|\s*cuda kernel errors|\s*search for")
"""What may follow them in a pasted message: the end, punctuation, torch's advice."""


def by_code(code: int) -> DeviceError:
    """The error behind a code; one that is not in the table is told by its number alone."""
    return _BY_CODE.get(code) or DeviceError(code, (), f"CUDA error {code}")


def parse_error(typed: str) -> DeviceError | None:
    """The CUDA error that a user means by these words: its text, an alias, a name, or a whole pasted error line."""
    prefix = _BEFORE.match(typed)
    for rest in (typed, typed[prefix.end() :] if prefix else typed):
        folded = " ".join(rest.split()).casefold()
        for error in ERRORS:
            for said in (error.text, *error.aliases, *error.names):
                if folded.startswith(said.casefold()) and _AFTER.match(folded[len(said) :]):
                    return error
    return None


def sticky_in(text: str) -> DeviceError | None:
    """The sticky error that an error message reports: the driver's words in a line that also says CUDA, or its name."""
    for line in text.splitlines():
        folded = line.casefold()
        for error in ERRORS:
            if error.sticky and (
                ("cuda" in folded and error.text.casefold() in folded) or any(name in line for name in error.names)
            ):
                return error
    return None
