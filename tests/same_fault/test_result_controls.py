"""When the controls are asked that put zeros in the place of what kernels write, and what they refuse."""

from __future__ import annotations

from pathlib import Path

from shrinkray_gpu.oracle import parse
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.runner.knob_settings import KnobSetting
from shrinkray_gpu.runner.run import Failure, Launch, Run
from shrinkray_gpu.same_fault.controls import ControlOutcome, Controls
from shrinkray_gpu.same_fault.result_controls import kernels_of, of_results

PYTHON = Fault("python", "IndexError", "list index out of range")
DEVICE = Fault("device", "an illegal memory access was encountered", code=700)


def test_each_fault_has_its_own() -> None:
    assert [each.name for each in of_results(PYTHON, "", {"pick"}, gpu=False)] == ["zeroed-outputs"]
    assert of_results(PYTHON, "", (), gpu=True) == ()
    [but] = of_results(DEVICE, "gather", {"pick", "gather"}, gpu=True)
    assert but.way.knobs == {"zeroed-outputs-but": "gather"}
    for kernel, kernels, gpu in (("", {"pick"}, True), ("pick", {"pick"}, True), ("gather", {"pick", "gather"}, False)):
        assert of_results(DEVICE, kernel, kernels, gpu=gpu) == ()


def test_kernels_that_the_interpreter_runs_are_known_by_the_text() -> None:
    assert kernels_of("@triton.jit\ndef pick(x):\n    pass\n\n@cache\ndef host():\n    pass\n") == {"pick"}


def test_a_candidate_that_needs_no_kernel_for_its_error_has_another_one() -> None:
    [control] = of_results(PYTHON, "", {"pick"}, gpu=False)
    launch = (Launch("pick", "", (1,)),)
    died = Run("cold", 1, failure=Failure("IndexError", "list index out of range"), launches=launch)
    ways = {"plain": died, "kernel": Run("cold", 0, turned={"zeroed-outputs": 1}), "no kernel": died}
    ways["no launch"] = Run("cold", 0, turned={"zeroed-outputs": 0})
    ways["otherwise"] = Run("cold", 1, failure=Failure("ValueError", "no index"), turned={"zeroed-outputs": 1})

    def run(text: str, way: KnobSetting) -> Run:
        return ways[text]

    controls = Controls(run, parse("exception:IndexError", folder=Path()), reference=died)
    assert controls.attempt(control, "kernel").outcome is ControlOutcome.PASSES
    assert controls.guard("kernel", [control]).faults
    assert controls.attempt(control, "otherwise").outcome is ControlOutcome.PASSES
    assert not controls.guard("no kernel", [control]).faults
    assert not controls.guard("no launch", [control]).faults


def test_where_the_original_says_nothing_of_zeros_nor_may_a_candidate() -> None:
    """Its `if bad:` was gone: with the fix it would still have raised, of 0 outputs."""
    [control] = of_results(PYTHON, "", {"gate"}, gpu=False)

    def died(what: str) -> Run:
        failure = Failure("ArithmeticError", what)
        return Run("cold", 1, failure=failure, launches=(Launch("gate", "", (1,)),), turned={"zeroed-outputs": 1})

    ways = {
        "original": Run("cold", 1, failure=Failure("AssertionError", "not close"), turned={"zeroed-outputs": 1}),
        "no condition": died("case: 0 of 768 outputs are nan"),
        "another check behind it": died("they differ by 0.5"),
    }
    oracle = parse("ArithmeticError: case: 96 of 768", folder=Path())
    controls = Controls(lambda text, way: ways[text], oracle, reference=died("case: 96 of 768 outputs are nan"))
    held = controls.attempt(control, "original").control
    assert controls.guard("another check behind it", [held]).faults
    refused = controls.guard("no condition", [held])
    assert not refused.faults and "without what kernels compute" in refused.why
    alike = controls.attempt(control, "no condition").control  # an original that says so itself
    assert controls.guard("no condition", [alike]).faults
