"""The server: imports torch and Triton once, and forks a keeper for each request.

    python -B server.py SOCKET    the end of its standard input is its own

Run as a file, with no folder of ours on the path: a program's imports find here what they find in a new interpreter.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
INSIDE = HERE.parents[1] / "shrinkray_gpu" / "runner" / "inside"
READ_AT_START = ("PYTHON", "LC_", "LANG", "LD_", "TORCH", "PYTORCH", "TRITON", "CUDA", "OMP_", "MKL_", "OPENBLAS_")
"""Beginnings of names in the environment that Python, torch and Triton read when they start."""
READ_LATER = frozenset(
    {"TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TORCH_EXTENSIONS_DIR", "CUDA_CACHE_PATH"}
    | {"TRITON_REPRODUCER_PATH"}  # by its compiler's passes
    | {"PYTHONPATH"}  # see `starter`
    | {"PYTORCH_NVML_BASED_CUDA_CHECK", "CUDA_VISIBLE_DEVICES"}  # no test that forks is one for a GPU
)
ROLES = ([], ["--cold"], ["--zygote"])
CUSTOM = "sitecustomize.py"
"""Python imports it at its start from PYTHONPATH."""
Start = Callable[..., int]


def main() -> None:
    here = str(HERE)
    sys.path[:] = [entry for entry in sys.path if entry != here]
    listening = socket.socket(fileno=int(sys.argv[1]))
    listening.set_inheritable(False)
    gc.disable()
    for name in ("torch", "triton", "triton.language", "numpy.random"):
        importlib.import_module(name)
    gc.freeze()
    gc.enable()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for keepers
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is for the tool
    wire = module("process.wire")
    while True:
        ready, _, _ = select.select([listening, 0], [], [])
        if 0 in ready:
            os._exit(0)
        asking, _ = listening.accept()
        with asking:
            order, fds = wire.receive(asking, fds=1)
            pid = os.fork()
            if not pid:
                try:
                    os.setsid()
                    asking.close()
                    listening.close()
                    keeper(order["memory"], fds[0])
                finally:
                    os._exit(1)
            wire.send(asking, {"pid": pid})
            os.close(fds[0])


def keeper(memory: str, control: int) -> None:
    """Be the keeper, whose commands begin as forks where they can."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nowhere, fd)
    os.close(nowhere)
    usual = module("keeper")._start
    sys.argv = ["main.py"]
    module("keeper").serve(json.loads(memory), socket.socket(fileno=control), starter(usual, str(INSIDE / "main.py")))


def starter(usual: Start, main: str) -> Start:
    """What starts a keeper's command: a fork, where that is a worker, a cold lane or a zygote in this interpreter."""
    own, paths = read_at_start(os.environ), python_path(os.environ)

    def start(order: dict[str, Any], out: int, err: int, *links: int) -> int:
        command = order["command"]
        ours = command[:3] == [sys.executable, "-B", main] and command[3:] in ROLES
        others = python_path(order["environment"])
        customized = others != paths and any(os.path.exists(os.path.join(path, CUSTOM)) for path in others)
        if not ours or customized or read_at_start(order["environment"]) != own:
            return usual(order, out, err, *links)
        sys.path[:] = [*others, *(path for path in sys.path if path not in paths)]
        begun: int = module("zygote").start(order, out, err, *links)
        return begun

    return start


def read_at_start(environment: Any) -> dict[str, str]:
    return {
        name: value for name, value in environment.items() if name.startswith(READ_AT_START) and name not in READ_LATER
    }


def python_path(environment: Any) -> list[str]:
    return [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path]


def module(name: str) -> Any:
    """One of `runner/inside`, found as `main.py` has it."""
    if "shrinkray_inside" not in sys.modules:
        path = INSIDE / "__init__.py"
        spec = importlib.util.spec_from_file_location(
            "shrinkray_inside", path, submodule_search_locations=[str(INSIDE)]
        )
        assert spec is not None and spec.loader is not None
        made = importlib.util.module_from_spec(spec)
        sys.modules["shrinkray_inside"] = made
        spec.loader.exec_module(made)
    return importlib.import_module("shrinkray_inside." + name)


if __name__ == "__main__":
    main()
