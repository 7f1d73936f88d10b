"""The zygote: a keeper that has imported torch and Triton, and whose commands are forks of it.

To import them takes two seconds of a core, five on a machine with a slow disk, and a reduction starts some seven
workers and lanes that do. A fork does as a new interpreter does from there on: our modules, `__main__`, the arguments,
the environment, the folder, the streams and the signals are its own.

What it cannot have of its own is what an interpreter makes of the environment when it starts, and torch and Triton when
they are imported. So the tool asks a zygote only for what has the same environment, see `runner/zygotes`.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import socket
import sys
import time
import traceback
import types
from contextlib import suppress
from typing import Any, Dict, Iterable, Tuple

from . import keeper
from .gpu_target import FIRST_OF_AMD
from .process import wire
from .process.lasting import lasting

HEAD = wire.LENGTH.size


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[-1]))
    order, _ = wire.receive(control)
    with lasting():
        for name in order["imports"]:
            importlib.import_module(name)
    keeper.serve(order["memory"], control, start)


def start(order: Dict[str, Any], out: int, err: int, *links: int) -> int:
    """Begin a worker or a cold lane, the command of this order, as a fork of this process. Returns its number."""
    os.chdir(order["cwd"])
    pid = os.fork()
    if not pid:
        _become([*order["command"], *map(str, links)], order["environment"], out, err, links)
    return pid


def _become(command: Iterable[str], environment: Dict[str, str], out: int, err: int, links: Tuple[int, ...]) -> None:
    """Be what that interpreter would be. Never returns."""
    status, command = 1, list(command)
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        os.dup2(out, 1)
        os.dup2(err, 2)
        for name in os.listdir("/proc/self/fd"):
            if int(name) not in (0, 1, 2, *links):
                with suppress(OSError):  # it was that of the list
                    os.close(int(name))
        if not may_be_fork(_first_message(links[0])):
            for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)
            os.execve(command[0], command, environment)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = command[2:]
        sys.modules["torch"].default_generator.seed()  # else all forks would draw the same; `random` sees to itself
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


def may_be_fork(setup: Dict[str, Any]) -> bool:
    """Whether a process of this setup would import torch and Triton before all else. The virtual GPU does, whatever the
    program imports; but of a GPU of AMD's torch must tell before Triton is imported."""
    if setup.get("arch"):
        return bool(setup["arch"] < FIRST_OF_AMD)
    return {"torch", "triton"} <= set(setup.get("imports", ())) and not _shadowed(setup["own"])


def _shadowed(folders: Iterable[str]) -> bool:
    """Whether the program has a module there that `import` would take for one that was imported here."""
    known = {name.partition(".")[0] for name in sys.modules}
    for folder in folders:
        with suppress(OSError):
            for entry in os.scandir(folder):
                name = entry.name.partition(".")[0]
                if name in known and (entry.name != name or os.path.exists(os.path.join(entry.path, "__init__.py"))):
                    return True
    return False


def _run(main: str) -> None:
    """As `python -B main.py` does. Nothing that was imported of ours is there."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "shrinkray_inside"]:
        del sys.modules[name]
    gc.enable()
    made = types.ModuleType("__main__")
    made.__file__ = main
    sys.modules["__main__"] = made
    with open(main) as file:
        text = file.read()
    exec(compile(text, main, "exec"), made.__dict__)


def _first_message(link: int) -> Dict[str, Any]:
    """What the tool says first, which stays there to be read; empty, where it is gone."""
    with socket.socket(fileno=os.dup(link)) as asked:
        size = HEAD
        while True:
            seen = asked.recv(size, socket.MSG_PEEK)
            if not seen:
                return {}
            if len(seen) >= HEAD:
                size = HEAD + wire.LENGTH.unpack(seen[:HEAD])[0]
            if len(seen) == size > HEAD:
                return dict(json.loads(seen[HEAD:]))
            if len(seen) >= size:
                return {}
            time.sleep(0.001)
