"""A stand-in for a device that faults by chance: a module beside the script, out of the reducer's reach.

The chance must not lie in the script itself, or the first thing that a reducer takes away is the chance. Here, as with
a kernel on a GPU, the same text faults in some processes only: at `CHANCE`, drawn anew in each process.
With `draws` the chance is `tests.chance`'s, which no test fails by.
"""

from __future__ import annotations

from pathlib import Path

from tests.chance import EVEN

DRAWN = """\
import os

LUCK = int.from_bytes(os.urandom(4), "big") / 2**32
"""

DEVICE = """\
CHANCE = {chance}


def launch(kernel, grid, *tensors, tile, stages):
    if grid > 0 and tile * 4 % 128 and stages > 2 and LUCK < CHANCE / (1 if stages > 3 else 3):
        raise RuntimeError("CUDA error: misaligned address")
    return sum(tensors, [])
"""
"""Three stages fault, too, but in a third of the processes in which four do: that is no repro of the same fault."""

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


def lay_out(folder: Path, chance: float, text: str = SCRIPT, *, draws: Path | None = None) -> Path:
    """The script, and a device that faults in this part of all processes."""
    folder.mkdir(parents=True, exist_ok=True)
    luck = EVEN.format(draws=str(draws)) if draws else DRAWN
    (folder / "device.py").write_text(luck + DEVICE.format(chance=chance))
    path = folder / "failing.py"
    path.write_text(text)
    return path
