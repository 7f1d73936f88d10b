"""`shrink -m MODULE ARGS...`: from a package and its tests to one file that needs neither, by the real command."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from shrinkray_gpu.reduction.size import lines
from tests.e2e.command import Said, only, plain, refused, shrink, well

TMA = ("--arch", "sm_90", "--oracle", "misaligned address")
SOON = (*only("constants", "statements"), "--no-guards")
"""Little search and no evidence: this is about what is reduced."""
INDEX = ("--oracle", "exception:IndexError")

PACKAGE = {
    "rows/__init__.py": '"""Sums of rows."""\n',
    "rows/config.py": """\
from dataclasses import dataclass

@dataclass(frozen=True)
class Tiles:
    tile: int
    stages: int

TILES = {"safe": Tiles(16, 1), "fast": Tiles(4, 4)}
""",
    "rows/shapes.py": """\
def padded(width, tile):
    return -(-width // tile) * tile
""",
    "rows/kernels.py": """\
import triton
import triton.language as tl

from .scales import scaled

@triton.jit
def row_sums(x_ptr, y_ptr, width, TILE: tl.constexpr, STAGES: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, shape=[8, width], strides=[width, 1], block_shape=[1, TILE])
    total = tl.zeros([1, TILE], tl.float32)
    for at in tl.range(0, width, TILE, num_stages=STAGES):
        total += scaled(x.load([0, at]))
    tl.store(y_ptr, tl.sum(total))
""",
    "rows/scales.py": """\
import triton
import triton.language as tl

FACTOR = tl.constexpr(2.0)

@triton.jit
def scaled(value):
    return value * FACTOR
""",
    "rows/launch.py": """\
import torch
import triton

from rows.config import TILES
from rows.kernels import row_sums
from rows.shapes import padded

def sums(x, mode):
    triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    tiles = TILES[mode]
    y = torch.empty(1, device=x.device)
    row_sums[(1,)](x, y, padded(x.shape[1], tiles.tile), TILE=tiles.tile, STAGES=tiles.stages)
    torch.cuda.synchronize()
    return y
""",
    "rows/bench.py": """\
import argparse

import torch

from rows.launch import sums

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=1)
    parser.add_argument("--mode", default="safe")
    given = parser.parse_args()
    for _ in range(given.n):
        sums(torch.ones(8, 64, device="cuda"), given.mode)

if __name__ == "__main__":
    main()
""",
    "tests/conftest.py": """\
import pytest
import torch

@pytest.fixture
def x():
    return torch.randn(8, 64, device="cuda")
""",
    "tests/test_rows.py": """\
import pytest
from rows.launch import sums

@pytest.mark.parametrize("mode", ["safe", "fast"])
def test_sums(x, mode):
    assert sums(x, mode).item() == pytest.approx(2 * x.sum().item())
""",
}

LOOKUP = {
    "look/__init__.py": "",
    "look/table.py": "def find(rows, n):\n    return rows[n]\n",
    "look/bench.py": "import sys\nfrom look.table import find\nprint(find([1, 2, 3], int(sys.argv[2])))\n",
    "look/env.py": "import os\nfrom look.table import find\nfind([1], int(os.environ['ROW']))\n",
    "test_look.py": "from look.table import find\n\ndef test_find():\n    assert find([1, 2, 3], 7) == 8\n",
}


def given(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def standalone(repro: Path, said: Said, most: int) -> list[str]:
    """One short file that needs nothing of the package. Returns the command that is told to show the fault."""
    text = repro.read_text()
    assert lines(text) <= most, text
    assert not any(name in text for name in ("rows.", "look", "import pytest", "runpy", "tests")), text
    told = next(line for line in said.out.splitlines() if line.startswith("  shows the fault: "))
    return shlex.split(told.partition(": ")[2])


def elsewhere(repro: Path) -> Path:
    """A copy of it where nothing of the package is."""
    folder = repro.parent / "elsewhere"
    folder.mkdir()
    return Path(shutil.copy(repro, folder))


def test_a_package_under_pytest(tmp_path: Path) -> None:
    given(tmp_path, PACKAGE)
    said = well(shrink(*TMA, *SOON, "-m", "pytest", "tests/test_rows.py::test_sums", cwd=tmp_path, interpreters=True))
    assert "-m pytest tests/test_rows.py::test_sums" in said.out
    assert " lines to " not in said.out, "the lines of the driver are not those of the program"
    repro = tmp_path / "repro_pytest_test_rows.py"
    shown = standalone(repro, said, 20)
    ours, words = shown[: shown.index(repro.name)], shown[shown.index(repro.name) :]
    assert ours == ["shrink"] or ours[1:] == ["-m", "shrinkray_gpu"], "as it was called"
    well(shrink(*words, cwd=elsewhere(repro).parent))
    assert {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.py")} >= set(PACKAGE)
    assert not list(tmp_path.rglob("__pycache__")) and not list(tmp_path.rglob(".pytest_cache"))


def test_a_module_with_arguments(tmp_path: Path) -> None:
    given(tmp_path, LOOKUP)
    said = well(shrink("-o", "small.py", *INDEX, "-m", "look.bench", "--n", "7", cwd=tmp_path))
    assert "-m look.bench --n 7" in said.out
    repro = tmp_path / "small.py"
    assert standalone(repro, said, 5) == ["python", "small.py"]
    done = plain(elsewhere(repro), cwd=repro.parent / "elsewhere")
    assert done.returncode == 1 and "IndexError" in done.stderr.splitlines()[-1]


def test_check_and_options(tmp_path: Path) -> None:
    work = given(tmp_path / "work", LOOKUP)
    before = sorted(tmp_path.rglob("*"))
    there = ("--cwd", work, "--python", sys.executable)
    said = well(shrink("--check", *INDEX, *there, "-m", "look.bench", "--n", "7", cwd=tmp_path))
    assert said.out == "-m look.bench --n 7 shows 'exception:IndexError'\n"
    well(shrink("--check", *INDEX, *there, "--env", "ROW=3", "-mlook.env", cwd=tmp_path))
    said = shrink("--check", "--oracle", "exception:KeyError", "-m", "pytest", "test_look.py", cwd=work)
    assert said.code == 3 and "-m pytest test_look.py does not show" in said.message
    assert "would have matched: --oracle exception:IndexError" in said.message
    assert sorted(tmp_path.rglob("*")) == before


def test_json_and_resume(tmp_path: Path) -> None:
    given(tmp_path, LOOKUP)
    words = (*INDEX, *only("statements", "unreachable"), "--json", "-m", "look.bench", "--n", "7")
    first = shrink("--max-time", "0.01", *words, cwd=tmp_path)
    assert first.result["ended"] == "out of time", first
    again = well(shrink("--resume", *words, cwd=tmp_path)).result
    assert again["ended"] == "done" and again["output"] == str(tmp_path / "repro_look_bench.py")
    assert (tmp_path / "look_bench.shrink" / "best.py").exists()


@pytest.mark.parametrize(
    "words, message",
    [
        (("-m",), "'-m' requires an argument"),
        (("-m", "nope", "--n", "7"), "no such module"),
        (("-m", "look"), "has no __main__"),
        (("test_look.py", "-m", "look.bench"), "not both: test_look.py"),
        (("-m", "pytest", "test_none.py::test_find"), "no test file test_none.py"),
        (("-m", "pytest", "test_look.py::test_none"), "not found:"),
        (("-m", "pytest", "--nope"), "unrecognized arguments: --nope"),
        (("--control-patch", "x.diff", "-m", "look.bench"), "names none"),
        (("--python", "/bin/true", "-m", "pytest"), "not a Python interpreter"),
    ],
)
def test_a_wrong_command(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    given(tmp_path, LOOKUP)
    said = refused(*INDEX, *words, cwd=tmp_path)
    assert said.code == 2 and said.out == "", said
    assert message in said.message and "\n" not in said.message
    assert not list(tmp_path.glob("repro_*"))


def test_an_option_of_ours_that_goes_to_the_module_is_pointed_out(tmp_path: Path) -> None:
    said = refused("-m", "nope", "--n", "7", "--arch=sm_90", "--oracle", "x", cwd=tmp_path)
    assert said.err.startswith(
        "note: what stands behind -m nope goes to nope, --arch, --oracle too: options of shrink "
    )
    assert "note:" not in refused(*INDEX, "-m", "nope", "--n", "7", cwd=tmp_path).err


def test_explain_tells_the_line_in_the_package(tmp_path: Path) -> None:
    given(tmp_path, PACKAGE)
    before = sorted(tmp_path.rglob("*"))
    words = ("--arch", "sm_90", "--oracle", "misaligned address", "-m", "rows.bench", "--mode", "fast")
    said = well(shrink("explain", *words, cwd=tmp_path))
    for fact in (
        "kernel       row_sums",
        "line         rows/kernels.py:11  total += scaled(x.load([0, at]))",
        "construct    descriptor load",
        "UTMALDG at row_sums+0x",
        "width = 64",
    ):
        assert fact in said.out, said.out
    assert sorted(tmp_path.rglob("*")) == before


def test_explain_tells_the_user_s_own_line_and_not_our_driver_s(tmp_path: Path) -> None:
    given(tmp_path, LOOKUP)
    for words in (("-m", "look.bench", "--n", "7"), ("-m", "pytest", "test_look.py")):
        said = well(shrink("explain", *words, cwd=tmp_path))
        assert "python fault: IndexError" in said.out, said.out
        assert "line         look/table.py:2  return rows[n]" in said.out, said.out
    said = shrink("explain", "-m", "look.bench", "--n", "1", cwd=tmp_path)
    assert said.code == 3 and said.message.startswith("shrink: -m look.bench --n 1 shows no fault. "), said
    said = shrink("explain", "file.py", "-m", "look.bench", cwd=tmp_path)
    assert said.code == 2 and "give a FILE or -m MODULE, not both: file.py" in said.message
