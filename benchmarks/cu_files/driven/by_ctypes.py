"""A kernel that nvcc compiled, loaded and launched through ctypes: the offset of the second half is in bytes."""

import ctypes
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = """
extern "C" __global__ void halves(float4* data, size_t second, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[second + i] = make_float4(1, 2, 3, 4);
}
"""
COUNT = 1 << 18

cuda = ctypes.CDLL("libcuda.so.1")


def check(status: int, what: str) -> None:
    if status:
        sys.exit(f"{what}: CUDA error {status}")


with tempfile.TemporaryDirectory() as place:
    source = Path(place) / "halves.cu"
    source.write_text(SOURCE)
    subprocess.run(["nvcc", "-arch=native", "-cubin", "-o", f"{place}/halves.cubin", source], check=True)
    image = (Path(place) / "halves.cubin").read_bytes()

device, context, module, function = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
data = ctypes.c_uint64()
check(cuda.cuInit(0), "init")
check(cuda.cuDeviceGet(ctypes.byref(device), 0), "device")
check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), "context")
check(cuda.cuCtxSetCurrent(context), "context")
check(cuda.cuModuleLoadData(ctypes.byref(module), image), "module")
check(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"halves"), "function")
check(cuda.cuMemAlloc_v2(ctypes.byref(data), ctypes.c_size_t(2 * COUNT * 16)), "allocate")
arguments = [struct.pack("<Q", data.value), struct.pack("<Q", COUNT * 16), struct.pack("<i", COUNT)]
held = [ctypes.create_string_buffer(each, len(each)) for each in arguments]
parameters = (ctypes.c_void_p * 3)(*(ctypes.addressof(each) for each in held))
check(cuda.cuLaunchKernel(function, COUNT // 256, 1, 1, 256, 1, 1, 0, None, parameters, None), "launch")
check(cuda.cuCtxSynchronize(), "halves")
