"""From the words of the command to the programs of a study."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.questions.ir.plan import tests as planned
from shrinkray_gpu.questions.varying import axis


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    path = tmp_path / "copy.py"
    path.write_text("STAGES = 4\nSTRIDE = 1\n")
    (tmp_path / "other.py").write_text("STAGES = 2\n")
    return path


def test_variants(copy: Path) -> None:
    found = planned(
        copy,
        argv=("--all",),
        known=[str(copy.with_name("other.py"))],
        bad=["STRIDE=2", "STRIDE=3 STAGES=1 -- --few"],
        stress=[f"{copy.with_name('other.py')} STAGES=3 -- --more"],
        over=[axis("STAGES=1,2")],
    )
    told = [(one.name, one.program.path.name, one.program.text, one.program.argv) for one in found]
    assert told == [
        ("known", "other.py", "STAGES = 2\n", ()),
        ("good", "copy.py", "STAGES = 4\nSTRIDE = 1\n", ("--all",)),
        ("bad 1", "copy.py", "STAGES = 4\nSTRIDE = 2\n", ("--all",)),
        ("bad 2", "copy.py", "STAGES = 1\nSTRIDE = 3\n", ("--few",)),
        ("stress", "other.py", "STAGES = 3\n", ("--more",)),
        ("STAGES=1", "copy.py", "STAGES = 1\nSTRIDE = 1\n", ("--all",)),
        ("STAGES=2", "copy.py", "STAGES = 2\nSTRIDE = 1\n", ("--all",)),
    ]


def test_axes_start_from_the_good_one(copy: Path) -> None:
    found = planned(copy, good=["STRIDE=7 -- --x"], over=[axis("STAGES=1")])
    assert found[-1].program.text == "STAGES = 1\nSTRIDE = 7\n"
    assert found[-1].program.argv == ("--x",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("STRID=2", "did you mean STRIDE"),
        ("nothing.py", "cannot be read"),
        ("a.py b.py", "2 files"),
        ("word", "no NAME=VALUE"),
        ("'open", "quotation"),
    ],
)
def test_what_is_no_variant(copy: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        planned(copy, bad=[text])
