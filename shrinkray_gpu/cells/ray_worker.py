"""A cell in a worker process of Ray's, which keeps its lanes for the next cell of the same place."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from shrinkray_gpu.cells.cell import SICK, Cell, OpenLanes, Row, row_of
from shrinkray_gpu.cells.shipped_files import Files, renamed, unpacked
from shrinkray_gpu.errors import ShrinkError

OPEN_PLACES = 2
"""Places whose lanes a worker keeps: each is a process with torch, or several."""
_LANES = OpenLanes(1, OPEN_PLACES)
_PLACES: dict[Path, Path] = {}
"""Where the files of earlier cells are, by where they were."""
_CLEANER = """
import os, shutil, sys, time
if os.fork():
    os._exit(0)  # Ray ends the children of a worker, and this one is to outlive it
os.setsid()
sys.stdin.buffer.read()
time.sleep(3)  # the guards of the lanes have two seconds
shutil.rmtree(sys.argv[1], ignore_errors=True)
"""


def rows(cell: Cell[Any], *files: Files) -> Iterator[Row]:
    """The row of a cell, and no end where the device is sick. `files`: of each of the cell's own. What the row says of
    them has their names on the machine that asks."""
    folder = _own_folder()
    if files:
        for path, held in zip(cell.files, files, strict=True):
            if path not in _PLACES:
                _PLACES[path] = unpacked(path, held, folder)
        cell = cell.moved(_PLACES)
    try:
        lanes = _LANES.of(cell, os.environ.get("CUDA_VISIBLE_DEVICES"))
    except ShrinkError as error:
        raise type(error)(f"{socket.gethostname()}: {error}") from error
    row = renamed(row_of(cell, lanes), {str(here): str(there) for there, here in _PLACES.items()})
    yield row
    while SICK in row:
        time.sleep(60)


@cache
def _own_folder() -> Path:
    """Where this process writes all that is temporary. It goes when the process does, which Ray ends without a word."""
    folder = tempfile.mkdtemp(prefix="shrink-worker-")
    reads, _ = os.pipe()  # the other end is open as long as this process lives
    with open(reads) as end:
        subprocess.run([sys.executable, "-ISB", "-c", _CLEANER, folder], stdin=end, check=True)
    tempfile.tempdir = folder
    return Path(folder)
