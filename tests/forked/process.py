"""A fork of the keeper, which has torch imported, in place of a new interpreter that would import it."""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import struct
import sys
import time
import traceback
import types
from collections.abc import Callable
from typing import Any

READ_AT_START = ("PYTHON", "LC_", "LANG", "LD_", "TORCH", "PYTORCH", "TRITON", "CUDA", "OMP_", "MKL_", "OPENBLAS_")
"""Beginnings of names in the environment that Python, torch and Triton read when they start."""
READ_LATER = frozenset(
    {"TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TORCH_EXTENSIONS_DIR", "CUDA_CACHE_PATH"}
    | {"TRITON_REPRODUCER_PATH"}  # by its compiler's passes
    | {"PYTHONPATH"}  # see `starter`
    | {"PYTORCH_NVML_BASED_CUDA_CHECK", "CUDA_VISIBLE_DEVICES"}  # no test that forks is one for a GPU
)
FIRST_OF_AMD = 0x600
"""Of a GPU of AMD's torch must tell before Triton is imported; see `inside/gpu_target`."""
ROLES = ([], ["--cold"])
CUSTOM = "sitecustomize.py"
"""Python imports it at its start from PYTHONPATH."""

Start = Callable[..., int]


def starter(usual: Start, main: str) -> Start:
    """What starts a keeper's command: a fork, where that is a worker or a cold lane of ours in this interpreter."""
    own, paths = _read_at_start(os.environ), _paths(os.environ)

    def start(order: dict[str, Any], out: int, err: int, *links: int) -> int:
        command = order["command"]
        ours = command[:3] == [sys.executable, "-B", main] and command[3:] in ROLES
        others = _paths(order["environment"])
        customized = others != paths and any(os.path.exists(os.path.join(path, CUSTOM)) for path in others)
        if not ours or customized or _read_at_start(order["environment"]) != own:
            return usual(order, out, err, *links)
        os.chdir(order["cwd"])
        pid = os.fork()
        if not pid:
            sys.path[:] = [*others, *(path for path in sys.path if path not in paths)]
            _become([*command, *map(str, links)], order["environment"], out, err, links)
        return pid

    return start


def _read_at_start(environment: Any) -> dict[str, str]:
    return {
        name: value for name, value in environment.items() if name.startswith(READ_AT_START) and name not in READ_LATER
    }


def _paths(environment: Any) -> list[str]:
    return [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path]


def _become(command: list[str], environment: dict[str, str], out: int, err: int, links: tuple[int, ...]) -> None:
    """Never returns."""
    status = 1
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        os.dup2(out, 1)
        os.dup2(err, 2)
        for name in os.listdir("/proc/self/fd"):
            if int(name) not in (0, 1, 2, *links):
                _close(int(name))
        setup = _first_message(links[0])
        if not 0 < (setup.get("arch") or 0) < FIRST_OF_AMD:
            for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)
            os.execve(command[0], command, environment)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = command[2:]
        _run(command[2])
        status = 0
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _run(main: str) -> None:
    """As `python -B main` does. Nothing that the keeper imported of ours is there, nor what it turned off."""
    for name in [name for name in sys.modules if name.partition(".")[0] in ("shrinkray_inside", "forked_process")]:
        del sys.modules[name]
    gc.enable()
    made = types.ModuleType("__main__")
    made.__file__ = main
    sys.modules["__main__"] = made
    with open(main) as file:
        text = file.read()
    exec(compile(text, main, "exec"), made.__dict__)


def _first_message(link: int) -> dict[str, Any]:
    """What the tool says first, which stays there to be read; empty, where it is gone."""
    with socket.socket(fileno=os.dup(link)) as asked:
        size = 4
        while True:
            seen = asked.recv(size, socket.MSG_PEEK)
            if not seen:
                return {}
            if len(seen) >= 4:
                size = 4 + struct.unpack("!I", seen[:4])[0]
            if len(seen) == size > 4:
                return dict(json.loads(seen[4:]))
            if len(seen) >= size:
                return {}
            time.sleep(0.001)


def _close(fd: int) -> None:
    try:
        os.close(fd)
    except OSError:
        pass  # it was that of the list
