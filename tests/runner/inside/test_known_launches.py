"""Launches of Triton's interpreter that need not be run again: which are known, and that no verdict is another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

from shrinkray_gpu.runner.inside.compare.comparison import AGAINST, SAVE
from tests.runner.inside.test_comparison import SCRIPT, checked

CHECK = "assert torch.allclose(actual, expected)"
HELPER = SCRIPT.replace("@triton.jit\n", "@triton.jit\ndef double(x):\n    return x * 2\n\n@triton.jit\n", 1).replace(
    "tl.load(x + at, mask=at < n) * 2", "double(tl.load(x + at, mask=at < n))"
)


def asked(folder: Path, script: str, check: str = CHECK, *, known: bool = True) -> dict[str, Any]:
    """A run that is held against the original's, as those of candidates are."""
    kept = str(folder / "kept")
    return checked(folder, check, AGAINST + kept, script=script, known=str(folder / "known") if known else "")


def files(folder: Path) -> list[Path]:
    return sorted((folder / "known").glob("*"))


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    checked(tmp_path, CHECK, SAVE + str(tmp_path / "kept"), script=HELPER)
    return tmp_path


def test_the_second_run_has_what_the_first_wrote(recorded: Path) -> None:
    first = asked(recorded, HELPER)
    [file] = files(recorded)
    assert asked(recorded, f"unused = 1\n{HELPER}")["comparison"] == first["comparison"]
    head, _, data = file.read_bytes().partition(b"\n")
    file.write_bytes(head + b"\n" + bytes(len(data)))  # zeros, so that it shows where they come from
    zeros = asked(recorded, f"unused = 1\n{HELPER}")
    assert zeros["comparison"]["largest"] != first["comparison"]["largest"] and len(files(recorded)) == 1
    assert [launch["kernel"] for launch in zeros["launches"]] == [launch["kernel"] for launch in first["launches"]]
    assert asked(recorded, HELPER, known=False)["comparison"] == first["comparison"]


OTHERS = {
    "the kernel": ("mask=at < n)\n", "mask=at < n - 1)\n"),
    "what it calls": ("return x * 2", "return x * 2.5"),
    "a number": ("x.numel(), BLOCK", "x.numel() - 1, BLOCK"),
    "a constant": ("BLOCK=16", "BLOCK=32"),
    "a value": ("torch.randn(12)", "torch.randn(12) * 2"),
    "what it is written over": ("torch.zeros_like(x)", "torch.ones_like(x)"),
    "the grid": ("rows[(1,)]", "rows[(2,)]"),
    "a stride": ("torch.randn(12)", "torch.randn(24)[::2]"),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_anything_else_is_another_launch(recorded: Path, other: tuple[str, str]) -> None:
    assert HELPER.count(other[0]) == 1
    asked(recorded, HELPER)
    asked(recorded, HELPER.replace(*other))
    assert len(files(recorded)) == 2


def test_a_parameter_that_is_no_constant_any_more_is_asked_again(recorded: Path) -> None:
    """`tl.arange` refuses it, whatever the launch wrote before."""
    asked(recorded, HELPER)
    without = asked(recorded, HELPER.replace("BLOCK: tl.constexpr", "BLOCK"))
    assert "must be of type tl.constexpr" in without["failure"]["text"]


NEVER = {
    "outside of a tensor": ("tl.load(x + at, mask=at < n)", "tl.load(x + at - 1, mask=at < n)"),
    "of memory that nobody wrote": ("torch.randn(12)", "torch.empty(12)"),
    "that prints": ("    at = tl.arange", "    tl.device_print('n', n)\n    at = tl.arange"),
    "that a Python value is in": ("    return x * 2", "    return x * TABLE['two']"),
    "that fails": ("    at = tl.arange(0, BLOCK)", "    at = tl.arange(0, BLOCK) + tl.arange(0, 2 * BLOCK)"),
}


@pytest.mark.parametrize("other", NEVER.values(), ids=NEVER)
def test_a_launch_is_not_kept(recorded: Path, other: tuple[str, str]) -> None:
    assert HELPER.count(other[0]) == 1
    asked(recorded, HELPER.replace("def twice", "TABLE = {'two': 2}\ndef twice").replace(*other))
    assert files(recorded) == []


def test_no_verdict_is_another(recorded: Path) -> None:
    """Each candidate twice, so that the second run has all from the first, and once as if nothing were known."""
    candidates = [HELPER, *(HELPER.replace(*other) for other in (*OTHERS.values(), *NEVER.values()))]
    for script in candidates:
        plain = asked(recorded, script, known=False)
        for _ in range(2):
            seen = asked(recorded, script)
            same = ("exit", "comparison", "unwritten", "trouble")
            assert [seen[key] for key in same] == [plain[key] for key in same], script
