"""A program whose first run ends well by chance is lifted all the same. Which runs do is fixed here, by their turn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu import start as lifting
from shrinkray_gpu.calibration.missed import FURTHER
from shrinkray_gpu.errors import NotReproduced
from shrinkray_gpu.reduction.journal import Journal
from shrinkray_gpu.same_fault.checkpoints import Checkpoints
from shrinkray_gpu.start import UserProgram
from tests.e2e.programs import NARROW_TILES
from tests.start.test_choice import begun, given

LUCK = """\
with open({turns!r}, "a") as turns:
    turns.write(".")
    turns.flush()
    TURN = turns.tell()


def mode():
    return "fast" if TURN in {faulting} else "safe"
"""


def program(folder: Path, draws: Path, *faulting: int) -> UserProgram:
    (folder / "luck.py").write_text(LUCK.format(turns=str(draws), faulting=faulting))
    text = NARROW_TILES.replace("import torch\n", "import luck\nimport torch\n", 1).replace(
        "    main()", "    main(luck.mode())"
    )
    found = given(folder, text, "misaligned address")
    return replace(found, setup=replace(found.setup, arch=90))


def test_the_run_with_launches_written_down_is_repeated_until_it_shows_the_fault(tmp_path: Path, draws: Path) -> None:
    said: list[str] = []
    flaky = program(tmp_path, draws, 2)
    start = begun(replace(flaky, look=Checkpoints(flaky.setup, 60.0).fault), said)
    assert start.lanes is not None
    start.lanes.close()
    assert start.fault is not None and start.fault.kernel == "row_sums"
    assert draws.stat().st_size == 2, "what the instruments read is of the run that showed the fault"
    assert start.lifted and start.alone and "luck" not in start.program.text
    assert start.told.startswith("lifted: launch 1 of 1 (row_sums) alone shows the fault, ")
    assert start.told.endswith("; the program itself shows it in some runs only")
    assert start.tries["cold"] == 3 and not start.tries["lane"], "of two scripts the first is tried alone"
    assert (
        said[0] == "a run ends without the fault, which may hang on what kernels write: one more, in which they are run"
    )


def test_on_the_virtual_gpu_one_run_more_is_enough(tmp_path: Path, draws: Path) -> None:
    """Nothing is left to chance there, but for what the host does."""
    missed = program(tmp_path, draws)
    start = begun(missed, [])
    with pytest.raises(NotReproduced, match="in 2 runs"):
        missed.plan(start)
    assert draws.stat().st_size == 3  # in the last one all static rules are looked at


def test_a_run_of_another_fault_is_not_repeated(tmp_path: Path, draws: Path) -> None:
    other = given(tmp_path, f"open({str(draws)!r}, 'a').write('.')\n[][7]\n", "exception:KeyError")
    assert begun(other, []).oracle is None
    assert draws.stat().st_size == 1


def flaky_modules(folder: Path, draws: Path, *faulting: int) -> UserProgram:
    (folder / "luck.py").write_text(LUCK.format(turns=str(draws), faulting=faulting))
    return given(folder, "import luck\n\n{'safe': 1}[luck.mode()]\n", "exception:KeyError")


def test_its_modules_come_into_the_file_however_often_that_ends_well(tmp_path: Path, draws: Path) -> None:
    # Turn 3 is the program's. Of a fault seen in one of three runs twelve may miss it before that is believed.
    start = begun(flaky_modules(tmp_path, draws, 3, 13), [])
    assert start.lifted and not start.alone and "import luck" not in start.program.text
    assert start.told == "in one file with 1 module of its own (luck)"
    assert start.lanes is not None, "those that came up for the one file"
    start.lanes.close()
    assert start.reference is not None and start.reference.failure is not None
    assert start.reference.failure.type == "KeyError"


def test_what_a_lane_showed_is_enough_to_begin_with_when_resumed(tmp_path: Path, draws: Path) -> None:
    asked = flaky_modules(tmp_path, draws, *range(3, 40))
    first = begun(asked, [])
    assert first.lanes is None, "in one file it shows the fault at once"
    again = begun(asked, [], resume=True)
    assert again.program.text == first.program.text
    plan = asked.plan(replace(again, program=asked.program, seen=(again.reference,) if again.reference else ()))
    plan.close()
    assert again.reference is not None and again.reference.mode != "cold" and plan.seen.cold_seconds > 0


def test_where_the_fault_never_shows_calibration_gets_the_lanes(tmp_path: Path, draws: Path) -> None:
    start = begun(flaky_modules(tmp_path, draws), [])
    assert start.lanes is not None
    start.lanes.close()
    assert (start.oracle, start.lifted) == (None, False)
    assert draws.stat().st_size == start.tries["cold"] + start.tries["lane"] == FURTHER + 1


@pytest.mark.parametrize("alone", [True, False])
def test_what_was_lifted_and_will_not_do_becomes_one_file(tmp_path: Path, draws: Path, alone: bool) -> None:
    asked = flaky_modules(tmp_path, draws, 1, 4, 8)
    with Journal.open(tmp_path / "failing.shrink", original=asked.program, seed=0, width=6, settings={}) as journal:
        start = lifting.begin(asked, journal, print)
        assert start.lifted
        again = lifting.without(replace(start, alone=alone), asked, "no", journal, print)
    assert again.lifted == alone and ("import luck" in again.program.text) != alone
    assert again.told.startswith("not lifted, after all: no")
    assert (sum(again.tries.values()) > sum(start.tries.values())) == alone, "the runs in one file are counted too"
