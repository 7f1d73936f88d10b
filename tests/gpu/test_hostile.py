"""Each candidate from hell in lanes that hold a context on the GPU, and those that harm the context itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.hostile.candidates import ALL, IDLE, Candidate
from tests.hostile.test_hostile import ENOUGH, SHARED_TENSOR, Place, check, place_in, true_or_unknown

pytestmark = pytest.mark.gpu
X = "import os, torch, time\nx = torch.arange(1024, device='cuda')\n"
HANG = "torch.cuda._sleep(1 << 62)\n"
"""A kernel that does not end by itself."""
SUM = "print(int(x.sum()))\n"
COMPUTES = (
    "import torch\nfree, all = torch.cuda.mem_get_info()\n"
    "print(free > all // 2, int(torch.arange(1024, device='cuda').sum()))\n"
)
"""What the next candidate does: the GPU computes, and its memory is free."""
DRIVER = "import ctypes\ncuda = ctypes.CDLL('libcuda.so.1')\n"

ON_THE_GPU = {
    "it computes": Candidate(X + SUM, stdout="523776\n"),
    "a kernel without an end": Candidate(X + HANG + "torch.cuda.synchronize()\n", hangs=True),
    "a kernel without an end that nobody waits for": Candidate(X + HANG, hangs=True),
    "a kernel without an end, and _exit": Candidate(X + HANG + "os._exit(3)\n", exit=3),
    "a kernel without an end, and a signal": Candidate(X + HANG + "os.kill(os.getpid(), 9)\n", exit=-9),
    "it stops with a kernel at work": Candidate(X + HANG + "os.kill(os.getpid(), 19)\n", unknown=True, hangs=True),
    "all memory is taken": Candidate(
        X + "kept = []\ntry:\n    while True: kept.append(torch.empty(1 << 30, dtype=torch.uint8, device='cuda'))\n"
        "except torch.cuda.OutOfMemoryError: print('full')\n",
        stdout="full\n",
    ),
    "all memory is taken behind torch's back": Candidate(
        X + DRIVER + "at, size, got = ctypes.c_uint64(), 1 << 36, 0\nwhile size > 1 << 20:\n"
        "    if cuda.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(size)): size //= 2\n    else: got += size\n"
        "print(got > 1 << 33)\n",
        stdout="True\n",
    ),
    "a fault that nobody hears of": Candidate(
        X + "try:\n    x[torch.tensor([1 << 40], device='cuda')] = 1\n    torch.cuda.synchronize()\n"
        "except Exception: print('heard')\n",
        stdout="heard\n",
    ),
    "the context is gone": Candidate(
        X + DRIVER + "gpu = ctypes.c_int()\ncuda.cuDeviceGet(ctypes.byref(gpu), 0)\n"
        "cuda.cuDevicePrimaryCtxReset_v2(gpu)\n",
        unknown=True,
    ),
    "a context beside the first one": Candidate(
        X + DRIVER + "gpu, made = ctypes.c_int(), ctypes.c_void_p()\ncuda.cuDeviceGet(ctypes.byref(gpu), 0)\n"
        "cuda.cuCtxCreate_v2(ctypes.byref(made), 0, gpu)\n"
    ),
    "a limit of the context": Candidate(
        X + DRIVER + "cuda.cuCtxSetLimit(2, ctypes.c_size_t(1 << 20))\n" + SUM, stdout="523776\n"
    ),
    "the files of the driver are closed": Candidate(X + "os.closerange(3, 4096)\n", unknown=True),
    "a child comes back with the context": Candidate(X + "if os.fork(): os.wait(); " + SUM, stdout="523776\n"),
    "a child uses the context": Candidate(
        X + "if os.fork() == 0:\n    try: x.sum().item()\n    finally: os._exit(0)\nos.wait()\n" + SUM,
        stdout="523776\n",
    ),
    "a daemon with a context of its own": Candidate(
        X + "import subprocess, sys\ntext = 'import time, torch; x = torch.ones(1 << 30, device=\"cuda\"); "
        "print(int(x[0]), flush=True); time.sleep(600)'\n"
        "child = subprocess.Popen([sys.executable, '-c', text], stdout=subprocess.PIPE, start_new_session=True)\n"
        "print(child.stdout.readline())\n",
        stdout="b'1\\n'\n",
    ),
    "a daemon that computes for ever": Candidate(
        X + "import subprocess, sys\ntext = 'import torch; x = torch.ones(1, device=\"cuda\"); "
        "print(1, flush=True); torch.cuda._sleep(1 << 62); torch.cuda.synchronize()'\n"
        "child = subprocess.Popen([sys.executable, '-c', text], stdout=subprocess.PIPE, start_new_session=True)\n"
        "print(child.stdout.readline())\n",
        stdout="b'1\\n'\n",
    ),
    "a thread that launches for ever": Candidate(
        X + "import threading\ndef launch():\n    while True: x.add_(1)\n"
        "threading.Thread(target=launch, daemon=True).start(); time.sleep(0.1)\n"
    ),
    "a tensor in shared memory": Candidate(SHARED_TENSOR, stdout="1048576\n"),
    "a fork that sleeps with the context": Candidate(
        X + f"if os.fork() == 0: os.setsid(); {IDLE}\n" + SUM, stdout="523776\n"
    ),
}


@pytest.fixture(scope="module", params=["warm", "fork"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with place_in(tmp_path_factory.mktemp("hostile"), request.param, torch=True, warm=True) as place:
        yield place


@pytest.mark.parametrize("name", ALL)
def test_a_candidate_from_hell_beside_a_context(place: Place, name: str) -> None:
    check(place, ALL[name])


@pytest.mark.parametrize("name", ON_THE_GPU)
def test_a_candidate_that_harms_the_gpu(place: Place, name: str) -> None:
    """The verdict is that of a cold process, where that comes to an end."""
    candidate = ON_THE_GPU[name]
    if not candidate.hangs:
        cold = place.pool.serving(place.pool.script, seconds=ENOUGH).cold(candidate.source)
        assert true_or_unknown(cold, candidate) or candidate.unknown, cold
        ended, failure = cold.exit if cold.signal is None else -cold.signal, cold.failure.type if cold.failure else ""
        candidate = replace(candidate, exit=ended or 0, failure=failure)
    check(place, candidate)
    after = place.run(COMPUTES)
    assert (after.exit, after.stdout, after.trouble) == (0, "True 523776\n", ""), after
