"""The makings of the GPU cases, as far as they can be seen to without a GPU: what fails on one costs its minutes."""

from __future__ import annotations

import json
import os
import sys
import tarfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu.corpus.case import load
from shrinkray_gpu.oracle import parse
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.same_fault.patch import patches
from tests.gpu import make_cases
from tests.gpu.originals.makings import MAKINGS, ORIGINALS, Making

LAUNCHED = {
    "packed_requests": ("", ["checksum_kernel"] * 2),
    "stale_trip_count": (
        "--steps 1",
        ["settle_kernel", "scan_backward_kernel"] * 3 + ["scan_backward_kernel"],
    ),
    "paged_cache": ("", ["copy_pages_kernel", "scale_kernel"] * 2),
    "swapped_strides": ("", ["score_kernel", "mix_kernel"]),
    "last_tile": ("", ["peak_kernel", "normalise_kernel"]),
    "unknown_token": ("", ["bag_kernel"] * 2),
    "lost_updates": ("", ["route_kernel", "count_kernel", "balance_kernel"]),
    "tma_store_message": ("--tiles 16", ["split_product_kernel"]),
    "tma_store_reused": ("--tiles 1", ["fill_kernel"]),
    "split_sum": ("", ["chained_sum_kernel"]),
}


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    """The virtual GPU."""
    folder = str(tmp_path_factory.mktemp("virtual"))
    environment = {**os.environ, "TRITON_CACHE_DIR": f"{folder}/triton", "PYTHONDONTWRITEBYTECODE": "1"}
    setup = Setup(sys.executable, environment, ("torch", "triton"), (str(ORIGINALS),), folder, arch=90)
    lanes = Pool(Script(ORIGINALS / "none.py", cwd=ORIGINALS), setup, mode="virtual", jobs=1, seconds=120)
    yield lanes
    lanes.close()


@pytest.mark.parametrize("name", LAUNCHED)
def test_an_original_comes_to_its_launches(name: str, pool: Pool) -> None:
    """Nothing runs there, so it ends well."""
    args, launched = LAUNCHED[name]
    path = ORIGINALS / f"{name}.py"
    script = Script(path, cwd=ORIGINALS, asserts=False, argv=tuple(args.split()))
    run = pool.serving(script, seconds=120).run(path.read_text())
    assert run.exit == 0, run.stderr
    assert [launch.kernel for launch in run.launches] == launched


def test_every_original_here_is_one_of_a_making() -> None:
    ours = {one.original.stem for one in MAKINGS if one.original.parent == ORIGINALS}
    assert ours == set(LAUNCHED) == {path.stem for path in ORIGINALS.glob("*.py")} - {"__init__", "makings", "arrivals"}


@pytest.mark.parametrize("making", MAKINGS, ids=lambda making: making.name)
def test_oracle_and_patch_are_sound(making: Making) -> None:
    parse(making.oracle, folder=making.original.parent)
    assert making.original.is_file() and all((making.original.parent / name).is_file() for name in making.beside)
    for option, value in zip(making.options, making.options[1:]):
        if option == "--control-patch":
            assert value in making.beside
            patches.read(making.original.parent / value, making.original.read_text(), making.original.name)


NARROW = """\
import torch
import triton
import triton.language as tl

import widths


@triton.jit
def scale(x, WIDTH: tl.constexpr):
    tl.static_assert(WIDTH >= 16, "too narrow")
    tl.store(x, 2.0)


scale[(1,)](torch.zeros(64, device="cuda"), WIDTH=widths.NARROW)
"""


@pytest.fixture
def making(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Making:
    """One that needs no GPU, in folders of its own."""
    monkeypatch.setattr(make_cases, "WORK", tmp_path / "work")
    monkeypatch.setattr(make_cases, "CORPUS", tmp_path / "work" / "corpus")
    monkeypatch.setenv("OUT", str(tmp_path / "out"))
    make_cases.CORPUS.mkdir(parents=True)
    (tmp_path / "narrow.py").write_text(NARROW)
    (tmp_path / "widths.py").write_text("NARROW = 8\n")
    return Making(
        "narrow", tmp_path / "narrow.py", "compile:too narrow", "A narrow one", "compile error", "It is too narrow.",
        ("https://x/1",), ("--arch", "sm_90"), needs={"packages": ["triton>=3"]}, beside=("widths.py",), seconds=4,
    )  # fmt: skip


@pytest.mark.slow
def test_a_case_is_made_and_brought_home(making: Making, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(make_cases, "MAKINGS", (making,))
    until = time.monotonic() + 200
    (told,) = [make_cases._made(making, 1, until)]
    assert told["state"] == "added", (make_cases.WORK / "narrow" / "log.txt").read_text()
    case = load(make_cases.CORPUS / "narrow")
    assert (case.title, case.mechanism, case.upstream) == ("A narrow one", "It is too narrow.", ("https://x/1",))
    assert [str(package) for package in case.needs.packages] == ["triton>=3"] and case.needs.architecture == "sm_90"
    assert case.original.read_text() == NARROW and (case.folder / "widths.py").exists()
    assert make_cases._made(making, 1, until)["state"] == "is there already"
    make_cases._packed([told])
    with tarfile.open(tmp_path / "out" / "cases.tar.gz") as tar:
        names = tar.getnames()
    assert {"corpus/narrow/case.toml", "reductions/narrow/log.txt", "reductions/narrow/repro_narrow.py"} <= set(names)
    assert json.loads((tmp_path / "out" / "cases.json").read_text())[0]["after"][0] < 12


@pytest.mark.slow
def test_one_that_cannot_be_made_says_why(making: Making) -> None:
    until = time.monotonic() + 200
    state = make_cases._made(replace(making, oracle="compile:too wide"), 1, until)["state"]
    assert state.startswith("NOT REDUCED, exit code 3: shrink: ")
    assert not list(make_cases.CORPUS.iterdir())
    assert make_cases._made(making, 1, time.monotonic())["state"].startswith("NOT REDUCED, exit code no time was left")
    assert make_cases._made(replace(making, beside=("none.py",)), 1, until)["state"].startswith("FileNotFoundError")
