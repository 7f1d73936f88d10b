"""A stand-in for a device that faults by chance: a module beside the script, out of the reducer's reach.

The chance must not lie in the script itself, or the first thing that a reducer takes away is the chance. Here, as with
a kernel on a GPU, the same text faults in some processes only: at `CHANCE`, drawn anew in each process. Where a test
must not fail by chance, the processes that are spared whatever is drawn are named by their turn.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

DEVICE = """\
import os

CHANCE = {chance}
LUCK = int.from_bytes(os.urandom(4), "big") / 2**32
{turn}

def launch(kernel, grid, *tensors, tile, stages):
    if grid > 0 and tile * 4 % 128 and stages > 2 and LUCK < CHANCE / (1 if stages > 3 else 3):
        raise RuntimeError("CUDA error: misaligned address")
    return sum(tensors, [])
"""
"""Three stages fault, too, but in a third of the processes in which four do: that is no repro of the same fault."""

TURN = """
with open({turns!r}, "a") as turns:  # appended to at once, whatever other processes do
    turns.write(".")
    turns.flush()
    if turns.tell() in {spared}:
        LUCK = 1.0
"""

SCRIPT = """\
import json

import device

CONFIGS = {"safe": {"tile": 32, "stages": 1}, "fast": {"tile": 4, "stages": 4}}


def rows(count, width):
    made = []
    for i in range(count):
        made.append([i * width + j for j in range(width)])
    return made


class Kernel:
    def __init__(self, name, config):
        self.name = name
        self.config = dict(config)

    def __call__(self, grid, *tensors):
        return device.launch(self.name, grid, *tensors, **self.config)


def main(mode="fast"):
    x, y = rows(8, 4), rows(2, 2)
    kernel = Kernel("row_sums", CONFIGS[mode])
    total = kernel(len(x), x[0], y[1])
    print(json.dumps({"total": sum(total), "rows": len(x)}))


if __name__ == "__main__":
    main()
"""


SHORT = """\
import device

TILES = {"safe": 32, "fast": 4}


def main(mode="fast"):
    x = [1] * TILES[mode]
    print("total:", device.launch("sums", len(x), x, tile=TILES[mode], stages=4))


main()
"""
"""For a test that should not take minutes."""

ORACLE = "exception:RuntimeError:misaligned address"


def lay_out(
    folder: Path, chance: float, text: str = SCRIPT, *, turns: Path | None = None, spared: Collection[int] = ()
) -> Path:
    """The script, and a device that faults in this part of all processes; but never in those whose turn (from 1) is in
    `spared`. They are counted in the file `turns`, where candidates may write: below /dev."""
    folder.mkdir(parents=True, exist_ok=True)
    turn = TURN.format(turns=str(turns), spared=spared) if turns else ""
    (folder / "device.py").write_text(DEVICE.format(chance=chance, turn=turn))
    path = folder / "failing.py"
    path.write_text(text)
    return path


@pytest.fixture
def turns() -> Iterator[Path]:
    """An empty file in which candidates may write, wherever they are."""
    with tempfile.NamedTemporaryFile(dir="/dev/shm") as file:
        yield Path(file.name)
