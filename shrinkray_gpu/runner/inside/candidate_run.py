"""One candidate: it runs as a script of its own, watched by `WATCHERS`, and ends in a report."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from os import _exit, getpid  # as they are before a candidate replaces them
from typing import Any, Dict

from .process import device, script
from .process.lasting import lasting
from .watchers import WATCHERS, WatchedCandidate


def run(request: Dict[str, Any], setup: Dict[str, Any], link: socket.socket) -> Dict[str, Any]:
    """Run the candidate that the request holds. Returns the fields of `runner.run.Run` that this process knows.

    Whatever fails here, each watcher that had begun is ended.
    """
    os.chdir(request["cwd"])
    _write_to(request["temporary"])
    process = getpid()
    candidate = WatchedCandidate(request, setup, link)
    with contextlib.ExitStack() as watching:
        with contextlib.nullcontext() if "torch" in sys.modules else lasting():  # the virtual GPU imports it
            for watcher in WATCHERS:
                watching.enter_context(watcher(candidate))
        gpu = candidate.virtual_gpu
        at_end = gpu.end if gpu is not None else script.nothing
        status, failure, bug = script.perform(
            request["source"], request["path"], request["argv"], asserts=request["asserts"], at_end=at_end
        )
        if getpid() != process:
            _exit(status)  # a child that the script forked came to the script's end
        candidate.ended()
    of_device = {"peak": gpu.peak if gpu is not None else device.peak_bytes(), "gpus": device.gpus_used()}
    return {"exit": status, "failure": failure, "trouble": bug, **candidate.report, **of_device}


def _write_to(folder: str) -> None:
    """From here on `tempfile`, multiprocessing and child processes write to this folder. The run has it for itself, so
    that no candidate finds what another one left there. The tool makes it and removes it: whoever was killed cannot."""
    os.environ["TMPDIR"] = folder
    # Both remember the folder that they found first: the parent's, or that of the candidate before this one.
    tempfile: Any = sys.modules.get("tempfile")
    if tempfile is not None:
        tempfile.tempdir = None
    process: Any = sys.modules.get("multiprocessing.process")
    if process is not None:
        process.current_process()._config.pop("tempdir", None)
