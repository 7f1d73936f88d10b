"""The server: imports torch and Triton once, and forks a keeper for each request.

    python -B server.py SOCKET    the end of its standard input is its own

Run as a file, with no folder of ours on the path: a program's imports find here what they find in a new interpreter.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import os
import select
import signal
import socket
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
INSIDE = HERE.parents[1] / "shrinkray_gpu" / "runner" / "inside"


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
    ours: Any = module("keeper")
    process: Any = load("forked_process", HERE / "process.py")
    ours._start = process.starter(ours._start, str(INSIDE / "main.py"))
    sys.argv = ["main.py", "--keeper", memory, str(control)]
    ours.main()


def module(name: str) -> Any:
    """One of `runner/inside`, found as `main.py` has it."""
    if "shrinkray_inside" not in sys.modules:
        load("shrinkray_inside", INSIDE / "__init__.py", [str(INSIDE)])
    return importlib.import_module("shrinkray_inside." + name)


def load(name: str, path: Path, folders: list[str] | None = None) -> Any:
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=folders)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    spec.loader.exec_module(made)
    return made


if __name__ == "__main__":
    main()
