"""What a CUDA context costs, alone and beside others, and what makes it cheaper: the price of each faulting try.

    python benchmarks/contexts.py --seconds 4 [--json results/contexts_h100.json]

Forked children of a parent that never touched CUDA, as lanes are: cuInit, the primary context, a module of one kernel,
a launch that ends well or at a misaligned address, and the end of the process. Only the driver is used, no torch.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import statistics
import time
from collections.abc import Mapping

PTX = b"""
.version 7.8
.target sm_80
.address_size 64
.visible .entry store(.param .u64 p) {
    .reg .u64 %a; .reg .u32 %v;
    ld.param.u64 %a, [p];
    mov.u32 %v, 1;
    st.global.u32 [%a], %v;
    ret;
}
\0"""
PHASES = ("init", "context", "launch", "sync", "destroy", "exit")


def child(fault: bool, flags: int, destroy: bool, pipe: int) -> None:
    """All phases but the last, timed, told through `pipe`."""
    at = [time.monotonic()]
    cuda = ctypes.CDLL("libcuda.so.1")
    device, context, module, function = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    address = ctypes.c_uint64()
    assert cuda.cuInit(0) == 0
    at.append(time.monotonic())
    assert cuda.cuDeviceGet(ctypes.byref(device), 0) == 0
    if flags:
        assert cuda.cuDevicePrimaryCtxSetFlags_v2(device, flags) == 0
    assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0
    assert cuda.cuCtxSetCurrent(context) == 0
    at.append(time.monotonic())
    assert cuda.cuModuleLoadData(ctypes.byref(module), PTX) == 0
    assert cuda.cuModuleGetFunction(ctypes.byref(function), module, b"store") == 0
    assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(1 << 20)) == 0
    address = ctypes.c_uint64(address.value + (1 if fault else 0))
    arguments = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(address), ctypes.c_void_p))
    assert cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, arguments, None) == 0
    at.append(time.monotonic())
    assert cuda.cuCtxSynchronize() == (716 if fault else 0)
    at.append(time.monotonic())
    if destroy:
        cuda.cuDevicePrimaryCtxReset_v2(device)
    at.append(time.monotonic())
    os.write(pipe, json.dumps(at).encode() + b"\n")
    os._exit(0)


def lane(seconds: float, environment: Mapping[str, str], fault: bool, flags: int, destroy: bool, pipe: int) -> None:
    """Contexts one after another for so many seconds; the durations of all phases, one line each."""
    os.environ.update(environment)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            child(fault, flags, destroy, writing)
        os.close(writing)
        text = b""
        while piece := os.read(reading, 4096):
            text += piece
        os.close(reading)
        os.waitpid(pid, 0)
        if text:
            at = [*json.loads(text), time.monotonic()]
            os.write(pipe, json.dumps([later - sooner for sooner, later in zip(at, at[1:])]).encode() + b"\n")


def measure(
    lanes: int, seconds: float, environment: Mapping[str, str], *, fault: bool, flags: int = 0, destroy: bool = False
) -> dict[str, float]:
    """Contexts a second over all lanes, and the median seconds of each phase."""
    reading, writing = os.pipe()
    started = time.monotonic()
    pids = []
    for _ in range(lanes):
        pid = os.fork()
        if pid == 0:
            try:
                lane(seconds, environment, fault, flags, destroy, writing)
            finally:
                os._exit(0)
        pids.append(pid)
    os.close(writing)
    text = b""
    while piece := os.read(reading, 65536):
        text += piece
    for pid in pids:
        os.waitpid(pid, 0)
    took = time.monotonic() - started
    rows = [json.loads(line) for line in text.splitlines()]
    told = {name: round(statistics.median(row[i] for row in rows), 4) for i, name in enumerate(PHASES)} if rows else {}
    return {"a second": round(len(rows) / took, 2), **told}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--json")
    given = parser.parse_args()
    plain: dict[str, str] = {}
    one = {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}
    ways: list[tuple[str, int, dict[str, str], dict[str, object]]] = [
        ("clean", 1, plain, {"fault": False}),
        ("clean", 8, plain, {"fault": False}),
        ("fault", 1, plain, {"fault": True}),
        ("fault", 8, plain, {"fault": True}),
        ("fault, one connection", 1, one, {"fault": True}),
        ("fault, one connection", 8, one, {"fault": True}),
        ("clean, one connection", 8, one, {"fault": False}),
        ("fault, eager loading", 8, {"CUDA_MODULE_LOADING": "EAGER"}, {"fault": True}),
        ("fault, blocking sync", 8, plain, {"fault": True, "flags": 4}),
        ("fault, reset", 8, plain, {"fault": True, "destroy": True}),
        ("fault", 3, plain, {"fault": True}),
    ]
    results = []
    for name, lanes, environment, options in ways:
        row = {"what": name, "lanes": lanes, **measure(lanes, given.seconds, environment, **options)}  # type: ignore[arg-type]
        print(json.dumps(row), flush=True)
        results.append(row)
    if given.json:
        with open(given.json, "w") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
