"""Lift first: by the real command, on the virtual GPU. What the reduction begins with, and what the user is told."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu.reduction.size import lines
from tests.e2e.command import only, plain, shrink
from tests.e2e.programs import NARROW_TILES

ARCH = ("--arch", "sm_90", "--no-guards")
"""Nobody asks here whether it is the same fault: test_guards.py does."""
MISALIGNED = (*ARCH, "--oracle", "misaligned address")
TWICE = """\
import torch
import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, n, C: tl.constexpr):
    i = tl.arange(0, C)
    tl.store(y_ptr + i, tl.load(x_ptr + i, i < n) + 1, i < n)


@triton.jit
def double(x_ptr, C: tl.constexpr):
    i = tl.arange(0, C)
    tl.store(x_ptr + i, tl.load(x_ptr + i) * 2)


class Model:
    def __init__(self, width):
        self.width = width
        self.workspace = torch.zeros(width, device="cuda")

    def step(self, x):
        y = torch.empty_like(x)
        add[(1,)](x, y, x.numel(), C=triton.next_power_of_2(x.numel()))
        double[(1,)](self.workspace, C=self.width)
        return y


def main():
    model = Model(16)
    for n in (30, 60):
        print(model.step(torch.randn(n, device="cuda")).shape)
    torch.cuda.synchronize()


main()
"""
"""Compiles a kernel for 32, then for 64: an oracle that asks for both needs the list of launches."""


def reduced(
    folder: Path, *words: str, text: str = NARROW_TILES, argv: tuple[str, ...] = (), interpreters: bool = False
) -> dict[str, Any]:
    """The result of the command, as its --json says."""
    (folder / "failing.py").write_text(text)
    said = shrink("failing.py", *words, "--json", "--", *argv, cwd=folder, interpreters=interpreters)
    assert said.code == 0, said
    return said.result


PASSES = ("statements", "constants", "tiles", "arguments", "accesses", "sinking")
"""All that it takes to 13 lines; the whole schedule tries five times as much, to save 30 tokens."""


def test_the_faulty_launch_alone_is_what_is_reduced_and_takes_no_arguments(tmp_path: Path) -> None:
    text = NARROW_TILES.replace("def main(mode", "import sys\n\n\ndef main(mode").replace(
        "    main()", "    main(sys.argv[1])"
    )
    told = reduced(tmp_path, *MISALIGNED, *only(*PASSES), text=text, argv=("fast",), interpreters=True)
    assert told["lifted"].startswith("lifted: launch 1 of 1 (row_sums) alone shows the fault, 21 lines to ")
    assert told["before"][0] == 21 and told["after"][0] <= 13
    assert "main" not in told["text"] and "print" not in told["text"]
    assert "torch.cuda.synchronize()" in told["text"] and "num_stages" in told["text"]
    assert 0 < told["seconds"]["lift"] <= told["seconds"]["start"]
    assert told["same"] == "nobody looked whether this is the same fault: the guards are off"
    assert not told["controls"] and not told["fingerprint"]
    assert not {"control", "fingerprint"} & set(told["tries"])
    shown = shlex.split(told["command"])
    assert shown[0] == "shrink" and "--check" in shown and "fast" not in shown
    before = {path.name for path in tmp_path.iterdir()}
    checked = shrink(*shown[1:], cwd=tmp_path)
    assert checked.code == 0 and "repro_failing.py shows 'misaligned address'" in checked.out
    assert {path.name for path in tmp_path.iterdir()} == before


def test_where_it_takes_two_launches_the_list_of_all_is_reduced(tmp_path: Path) -> None:
    asked = ("--oracle", "ttgir:tensor<32xf32", "--oracle", "ttgir:tensor<64xf32")
    told = reduced(tmp_path, *ARCH, *asked, *only("unreachable", "definitions", "statements", "constants"), text=TWICE)
    assert told["lifted"].startswith("lifted: no launch alone shows the fault, the list of all 4 does, ")
    assert "double" not in told["text"] and "class" not in told["text"]
    assert told["text"].count("C=") == 2
    assert told["after"][0] <= 14


def test_without_a_launch_the_modules_of_its_own_are_made_one_file(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "__init__.py").write_text("from tables.rows import Table\n")
    (tmp_path / "tables" / "rows.py").write_text(
        "class Table:\n    def __init__(self, rows):\n        self.rows = rows\n\n"
        "    def find(self, key):\n        return self.rows[key]\n"
    )
    told = reduced(
        tmp_path,
        *("--oracle", "exception:IndexError"),
        text="import sys\nimport tables\n\nfor key in (1, 2, 7):\n    print(tables.Table([1, 2, 3]).find(key))\n",
    )
    assert told["lifted"] == "in one file with 2 modules of its own (tables.rows, tables)"
    alone = tmp_path / "alone"
    alone.mkdir()
    (alone / "repro.py").write_text(told["text"])
    assert "IndexError" in plain(alone / "repro.py", cwd=alone).stderr
    assert lines(told["text"]) <= 2


BY_NAMES = """\
import importlib
from tables.rows import Table
for name in ("loud",):
    importlib.import_module("tables." + name)
"""


@pytest.mark.parametrize("patch", ["", "import tables.rows\ntables.rows.FIRST = 5\n"], ids=["reached", "not reached"])
def test_of_a_package_that_loads_modules_by_name_what_is_reached_is_made_one_file(tmp_path: Path, patch: str) -> None:
    """A package with kernels imports all of itself. Where what it does then decides, it stays imported."""
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "__init__.py").write_text(BY_NAMES)
    (tmp_path / "tables" / "loud.py").write_text(patch)
    first = 0 if patch else 5
    rows = f"FIRST = {first}\n\n\nclass Table:\n    def find(self, rows):\n        return rows[FIRST]\n"
    (tmp_path / "tables" / "rows.py").write_text(rows)
    told = reduced(
        tmp_path,
        *("--oracle", "exception:IndexError"),
        text="from tables import Table\n\nprint(Table().find([1, 2]))\n",
    )
    if patch:
        assert "import" in told["text"] and "tables" in told["text"]
    else:
        assert told["lifted"] == "in one file with 1 module of its own (tables.rows)" and "import" not in told["text"]
