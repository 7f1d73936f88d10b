"""Which arguments of a launch are turned as controls, and what a candidate shows that dies otherwise under one."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.oracle import parse
from shrinkray_gpu.oracle.cause_check import LaunchCauses
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.runner.inside.static.cause import EMPTY, UNINITIALISED, UNWRITTEN, Cause
from shrinkray_gpu.runner.knob_settings import KnobSetting, parse_setting
from shrinkray_gpu.runner.run import Failure, Run
from shrinkray_gpu.same_fault.argument_controls import of_arguments, of_switches
from shrinkray_gpu.same_fault.controls import Control, ControlOutcome, Controls

TEXT = """\
@triton.jit
def first_kernel(x, SAVE: tl.constexpr, BLOCK: tl.constexpr):
    pass

@triton.jit
def kernel(x, n, TILE: tl.constexpr, WIDTH: tl.constexpr):{mark}
    pass

tile = TILES[n]{keep}
kernel[(1,)](x, n, TILE=tile, WIDTH=64)
"""
KEPT = TEXT.format(mark="  # shrink: keep-head", keep="  # shrink: keep")
LIFTED = TEXT.format(mark="", keep="")
SHORT = Fault("launch", "out of resource", "kernel")


def named(controls: tuple[Control, ...]) -> list[str]:
    return [each.name for each in controls]


def test_a_tensor_has_another_type_where_the_front_end_refuses() -> None:
    refused = Fault("compile", "CompilationError", "kernel")
    numbers, types = ["usual-constant=TILE", "usual-constant=WIDTH"], ["usual-type=x", "other-type=x"]
    assert named(of_arguments(refused, LIFTED)) == [*numbers, *types, "usual-type=n", "other-type=n"]
    assert of_arguments(Fault("compile", "PTXASError", "kernel"), LIFTED) == ()
    assert of_arguments(Fault("compile", "CompilationError", "gone"), LIFTED) == ()


@pytest.mark.parametrize(("text", "names"), [(KEPT, ["other-constant=TILE"]), (LIFTED, [])])
def test_of_a_launch_out_of_resources_what_the_host_makes_is_turned(text: str, names: list[str]) -> None:
    assert named(of_arguments(SHORT, text)) == names


def test_what_the_launch_computes_itself_is_made_by_the_host_too() -> None:
    text = KEPT.replace("tile = TILES[n]  # shrink: keep\n", "").replace(
        "TILE=tile, WIDTH=64)", "TILE=TILES[n], WIDTH=64)"
    )
    assert named(of_arguments(SHORT, text)) == []
    marked = text.replace("WIDTH=64)", "WIDTH=64)  # shrink: keep-parts TILES[n]")
    assert named(of_arguments(SHORT, marked)) == ["other-constant=TILE"]


def test_a_literal_of_the_launch_is_made_by_nobody_in_whichever_place() -> None:
    placed = KEPT.replace("TILE=tile, WIDTH=64", "tile, 64")
    assert named(of_arguments(SHORT, placed)) == ["other-constant=TILE"]
    other = KEPT + "first_kernel[(1,)](x, WIDTH=tile)\n"
    assert named(of_arguments(SHORT, other)) == ["other-constant=TILE"]


def test_an_error_that_another_process_passed_on_is_of_the_only_kernel() -> None:
    passed_on = Fault("compile", "CompilationError")
    assert of_arguments(passed_on, LIFTED) == ()
    alone = "@triton.jit\ndef kernel(TILE: tl.constexpr):\n    pass\n"
    assert named(of_arguments(passed_on, alone)) == ["usual-constant=TILE"]
    assert of_arguments(Fault("compile", "CompilationError", "kernel"), alone.replace("@triton.jit\n", "")) == ()


def test_what_an_autotuner_chooses_is_turned_though_no_launch_passes_it() -> None:
    assert named(of_arguments(SHORT, KEPT.replace("TILE=tile, ", ""))) == ["other-constant=TILE"]


def test_switches_are_turned_where_nobody_wrote_a_tensor() -> None:
    def causes(kind: str) -> LaunchCauses:
        where = ("", "", (), "load", False, True, 0, True, False, "", "", "", "")
        return LaunchCauses("kernel", (Cause(UNINITIALISED, kind, *where),))

    every = [f"other-constant={name}" for name in ("SAVE", "BLOCK", "TILE", "WIDTH")]
    assert named(of_switches(causes(UNWRITTEN), KEPT)) == every
    assert of_switches(causes(EMPTY), KEPT) == ()


def test_a_candidate_that_does_not_end_well_with_another_argument_has_another_cause() -> None:
    way = parse_setting("usual-type=x")
    error = Run("cold", 1, failure=Failure("TypeError", "no tensor"), turned={"usual-type": 1})
    runs = {"well": Run("cold", 0, turned={"usual-type": 1}), "dies": error, "gone": Run("cold", 0, turned={})}

    def run(text: str, way: KnobSetting) -> Run:
        return runs[text]

    controls = Controls(run, parse("exception:IndexError", folder=Path()))
    control = Control(way.name, way)
    assert controls.attempt(control, "well").outcome is ControlOutcome.PASSES
    assert [controls.guard(text, [control]).faults for text in runs] == [True, False, False]
