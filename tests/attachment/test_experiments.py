"""What a row of experiments says: whether the knob decides, and where its boundary is."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.attachment.experiments import SAME, Experiment, Experiments, KnobResults, run_experiments
from shrinkray_gpu.oracle.spec import parse
from shrinkray_gpu.runner.knob_settings import KnobSetting
from shrinkray_gpu.runner.run import Failure, Run
from shrinkray_gpu.same_fault.controls import Controls

PLAIN = Experiment("", "plain", "", "python repro.py", "faults")
WORDS = {"p": "passes", "f": "faults", "n": "not applicable", ".": "not tried"}


def row(outcomes: str, current: str, *, kind: str = "stages", name: str = "knob", first: int = 1) -> KnobResults:
    values = [str(first << at if kind == "tile" else first + at) for at in range(len(outcomes))]
    made = [
        Experiment(name, kind, value, "sed -e x", WORDS[letter], text=f"{name}={value}")
        for value, letter in zip(values, outcomes)
    ]
    return KnobResults(name, kind, current, tuple(made))


@pytest.mark.parametrize(
    ("outcomes", "boundary"),
    [
        ("ppffff", "passes up to 2; faults from 3 on (tried to 6)"),
        ("pfffff", "passes at 1; faults from 2 on (tried to 6)"),
        ("fffff", "faults at each of 1, 2, 3, 4, 5"),
        ("ppfpp", "passes up to 2; faults at 3; passes from 4 on (tried to 5)"),
        ("npf.p", "passes at 2; faults at 3; passes at 5"),
        ("nnn", ""),
    ],
)
def test_the_boundary_in_words(outcomes: str, boundary: str) -> None:
    assert row(outcomes, "3").boundary == boundary


def test_of_what_has_no_order_there_are_only_sets() -> None:
    assert row("pfp", "2", kind="dtype").boundary == "passes with 1, 3; faults with 2"


def test_a_knob_decides_if_anything_passes_and_not_if_nothing_was_told() -> None:
    assert [row(one, "1").matters for one in ("fp", "ff", "fn")] == [True, False, None]


def test_the_nearest_passing_variant_is_the_one_of_fewest_steps() -> None:
    far, near = row("pffff", "5", name="far"), row("ffpf", "2", name="near")
    nearest = Experiments(PLAIN, (far, near)).nearest
    assert nearest is not None and (nearest.knob, nearest.value) == ("near", "3")
    assert Experiments(PLAIN, (row("ff", "1"),)).nearest is None


def test_no_variable_takes_a_worker_of_its_own_where_a_knob_stands_for_it() -> None:
    ways: list[KnobSetting] = []

    def run(text: str, way: KnobSetting) -> Run:
        ways.append(way)
        return Run("virtual", 1, failure=Failure("KeyError", "7", ()))

    controls = Controls(run, parse("exception:KeyError", folder=Path()))
    found = run_experiments("x = {}[7]\n", "repro.py", controls, gpu=False, jobs=1)
    (told,) = found.experiments
    assert told.command == "DISABLE_PTXAS_OPT=1 python repro.py" and told.faults, "its reader sets the variable"
    assert [way.name for way in ways] == ["as it is", *SAME.values()] and all(way.cheap for way in ways)
