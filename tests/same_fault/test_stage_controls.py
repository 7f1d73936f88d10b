"""Of a launch that asks for too much shared memory, the most stages with which it fits; the real test is a trap."""

from __future__ import annotations

from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.runner.knob_settings import parse_setting
from shrinkray_gpu.same_fault.controls import Control
from shrinkray_gpu.same_fault.stage_controls import nearest, of_stages

FULL = Fault("launch", "out of resource", text="out of resource: shared memory, Required: 327680, limit: 232448")


def control(name: str) -> Control:
    return Control(name, parse_setting(name))


def test_fewer_stages_than_are_asked_for_are_tried_the_most_first() -> None:
    assert [each.name for each in of_stages(FULL, "kernel[(1,)](x, num_stages=5)\n")] == [
        "num_stages=4",
        "num_stages=3",
        "num_stages=2",
    ]
    assert [each.name for each in of_stages(FULL, "kernel[(1,)](x)\n")] == ["num_stages=2"]
    assert of_stages(FULL, "kernel[(1,)](x, num_stages=2)\n") == ()


def test_other_faults_have_no_such_control() -> None:
    assert of_stages(Fault("launch", "out of resource", text="out of resource: registers"), "") == ()
    assert of_stages(Fault("device", "misaligned address", code=716), "num_stages=4") == ()


def test_of_several_that_pass_the_most_stages_are_held_against_each_step() -> None:
    one, two, three, warps = map(control, ("num_stages=1", "num_stages=2", "num_stages=3", "num_warps=1"))
    assert nearest((three, two, warps, one)) == (three, warps)
    assert nearest((three, one), chosen=(one,)) == (three, one), "what the user named stays"
    assert nearest((one, warps)) == (one, warps)
