"""The same fault, not the same words: what the everyday comparison lets through, and what it does not."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from shrinkray_gpu.oracle import Fault, parse
from shrinkray_gpu.oracle.cause_check import LaunchCauses
from shrinkray_gpu.oracle.fault import Reference, lookalike, normalise
from shrinkray_gpu.oracle.same import SameFaultOracle, same_fault
from shrinkray_gpu.runner.inside.static import cause
from shrinkray_gpu.runner.run import Compilation, Launch, Run
from tests.oracle.runs import JSD, MISALIGNED, failing, passing, plain, traceback
from tests.oracle.test_cause_check import PRODUCT


def bound(spec: str, original: Run, *, strict: bool = True) -> SameFaultOracle:
    return same_fault(parse(spec, folder=Path()), strict=strict).calibrate(original)


def test_an_assertion_that_fails_for_another_reason_is_no_success_but_a_find() -> None:
    original = failing("AssertionError", "rows lost")
    oracle = bound("exception:AssertionError", original)
    assert oracle.judge(original).faults
    verdict = oracle.judge(failing("AssertionError", "columns lost"))
    assert not verdict.faults and verdict.is_known
    assert "the message is 'columns lost' instead of 'rows lost'" in verdict.why
    assert verdict.other is not None and verdict.other.text == "columns lost"
    assert bound("exception:AssertionError", original, strict=False).judge(failing("AssertionError", "other")).faults


def test_a_host_that_gets_something_of_memory_that_nobody_wrote_has_another_fault_where_that_is_guarded() -> None:
    original = failing("IndexError", "list index out of range")
    oracle, unwritten = bound("exception:IndexError", original), replace(original, unwritten="values")
    assert oracle.judge(unwritten).faults and not oracle.needs.written
    guarding = oracle.guarding_memory()
    refused = guarding.judge(unwritten)
    assert guarding.needs.written and guarding.judge(original).faults
    assert not refused.faults and refused.is_known and "memory that nobody wrote" in refused.why


def test_the_counts_in_a_failed_comparison_may_change() -> None:
    original = failing(
        "AssertionError", "Tensor-likes are not close!\n\nMismatched elements: 31 / 64 (48.4%)\nat (3, 4)"
    )
    smaller = failing("AssertionError", "Tensor-likes are not close!\n\nMismatched elements: 1 / 1 (100.0%)\nat (0,)")
    assert bound("exception:AssertionError", original).judge(smaller).faults


def test_a_rule_whose_error_no_driver_raises_holds_candidates_against_its_cause() -> None:
    zero = replace(PRODUCT, breaks="div0", kind=cause.ZERO, inputs=("argument",), access="", masked=False)
    launch = Launch("kernel", "0", (1,), synced=True, fault="div0: a divisor is 0", causes=(zero,), unfollowed="")
    original = Run("virtual", 0, virtual=True, launches=(launch,))
    literal = replace(launch, causes=(replace(zero, inputs=("constant",)),))
    oracle = bound("static:div0", original)
    assert oracle.reference is None and oracle.judge(original).faults
    refused = oracle.judge(replace(original, launches=(literal,)))
    assert not refused.faults and refused.why.startswith("another cause: made of constant")
    assert bound("static:div0", original, strict=False).judge(replace(original, launches=(literal,))).faults


def test_an_exit_status_used_for_two_reasons() -> None:
    oracle = bound("exit:1", failing("KeyError", "'block_m'"))
    assert oracle.judge(failing("KeyError", "'block_m'")).faults
    broken = oracle.judge(failing("NameError", "name 'x' is not defined"))
    assert not broken.faults and broken.other is not None


def test_a_second_kernel_with_the_same_error() -> None:
    first, second = JSD, replace(JSD, kernel="softmax")
    fault = Fault("device", "misaligned address", "jsd", 716)
    reference = Reference(fault, frozenset({"jsd", "softmax"}))
    oracle = replace(bound("misaligned address", MISALIGNED), reference=reference)
    assert oracle.judge(replace(MISALIGNED, launches=(first,))).faults
    assert oracle.judge(replace(MISALIGNED, launches=(replace(JSD, kernel="renamed"),))).faults
    assert oracle.judge(replace(MISALIGNED, launches=(first, second))).faults, "which of them it was, nobody knows"
    slipped = oracle.judge(replace(MISALIGNED, launches=(second,)))
    assert not slipped.faults and "in kernel softmax instead of jsd" in slipped.why


def test_the_last_of_several_kernels_is_only_near_the_fault() -> None:
    run = replace(MISALIGNED, launches=(JSD, replace(JSD, kernel="softmax")))
    fault = Fault.of(run)
    assert fault is not None and (fault.kernel, fault.near) == ("", "softmax")
    assert str(fault) == "device fault: misaligned address (CUDA error 716), last launch softmax"


def test_one_access_far_outside_is_reported_in_two_ways() -> None:
    original = replace(MISALIGNED, driver_error=700)
    oracle = bound("illegal memory access", original)
    assert oracle.judge(replace(original, driver_error=717)).faults
    assert not oracle.judge(replace(original, driver_error=715)).faults
    told = plain(
        traceback("torch.AcceleratorError: CUDA error: operation not supported on global/shared address space")
    )
    assert not oracle.judge(told).faults, "the user's own run must say what the user asked for"
    cold = replace(original, mode="cold", driver_error=717)
    assert bound("illegal memory access", cold).judge(told).faults, (
        "the original itself ends so where its user starts it"
    )


def test_the_words_of_clean_runs_win_and_the_other_error_is_told_beside_them() -> None:
    far = Fault("device", "operation not supported on global/shared address space", "fill", 717, instruction="STG")
    told = far.in_words_of(700)
    shown = "an illegal memory access was encountered (CUDA error 700; 717 in other runs) in kernel fill at STG"
    assert str(told) == f"device fault: {shown}" and not told.difference(far)
    assert Fault.from_json(asdict(told)) == told
    assert far.in_words_of(716) == far.in_words_of(717) == far.in_words_of(0) == far and "other" not in str(far)


def test_a_read_too_far_is_the_same_with_and_without_a_pipeline() -> None:
    far = Fault("device", "an illegal memory access was encountered", "backward", 700, instruction="LDGSTS", size=16)
    far = replace(far, space="global", access="read")
    plain = replace(far, instruction="LDG", size=2)
    assert not far.difference(plain) and not plain.difference(far)
    assert not far.difference(replace(plain, code=717, klass="operation not supported on global/shared address space"))
    assert far.difference(replace(plain, instruction="STG", access="write"))
    misaligned = replace(far, klass="misaligned address", code=716)
    assert misaligned.difference(replace(misaligned, instruction="LDG"))


def test_what_an_instrument_saw_counts_where_both_were_looked_at() -> None:
    fault = Fault("device", "misaligned address", "jsd", 716, instruction="UTMALDG", space="shared")
    assert not fault.difference(Fault("device", "misaligned address", "k", 716))
    assert not fault.difference(replace(fault, kernel="k", construct="tl.load"))
    assert (
        fault.difference(replace(fault, instruction="LDG", space="global"))
        == "instruction is 'LDG' instead of 'UTMALDG'"
    )
    vector = replace(fault, instruction="LDS", size=16)
    assert vector.difference(replace(vector, size=4)) == "the access is 4 bytes wide instead of 16"


def test_a_pointer_becomes_a_number_only_where_the_original_has_such_a_thing() -> None:
    """`x + offs.to(tl.int64)`, once `tl.load` was gone from around `offs`, is an illegal access of its own."""
    [launch] = MISALIGNED.launches
    code = Compilation("jsd", launch.hash)
    numbered, made = replace(code, casts=("ptr_to_int",)), replace(code, casts=("int_to_ptr",))
    plain, has, other = (replace(MISALIGNED, compiles=(each,)) for each in (code, numbered, made))
    verdict = bound("misaligned address", plain).judge(has)
    assert verdict.is_known and not verdict.faults and "a pointer is taken as a number" in verdict.why
    assert verdict.other is None, "no find: the reduction made it"
    assert bound("misaligned address", has).judge(has).faults and bound("misaligned address", has).judge(plain).faults
    assert not bound("misaligned address", has).judge(other).faults
    assert bound("misaligned address", plain, strict=False).judge(has).faults
    untold = replace(MISALIGNED, compiles=(replace(code, hash="of another kernel"),))
    assert bound("misaligned address", untold).judge(has).faults, "nobody knows what the original has"
    assert bound("misaligned address", plain).judge(untold).faults


@pytest.mark.parametrize("spec", ["ttgir:async", "ptx:!wgmma"])
def test_a_question_about_code_does_not_care_how_the_run_ends(spec: str) -> None:
    code = Compilation("k", "h", ir={"ttgir": "ttg.async_copy", "ptx": "mma"})
    original = failing("ValueError", "not close", compiles=(code,))
    oracle = bound(spec, original)
    assert oracle.reference is None
    assert oracle.judge(passing(compiles=(code,))).faults


def test_broken_candidates_are_no_finds() -> None:
    wanted = Fault("device", "misaligned address", "jsd", 716)
    assert not lookalike(wanted, Fault("python", "NameError", text="name 'x' is not defined"))
    assert not lookalike(wanted, Fault("compile", "CompilationError", text="x is not defined"))
    assert not lookalike(wanted, Fault("compile", "ValueError", text="'BLOCK' is not in list"))
    assert not lookalike(wanted, Fault("exit", "exit status 1"))
    assert lookalike(wanted, Fault("device", "an illegal memory access was encountered", "jsd", 700))
    assert lookalike(wanted, Fault("compile", "TritonGPUPipeline", text="op expected matching shapes"))
    assert lookalike(wanted, Fault("exit", "SIGSEGV"))


def test_no_fault_at_all_is_no_find() -> None:
    oracle = bound("misaligned address", MISALIGNED)
    verdict = oracle.judge(passing(launches=(Launch("jsd", "h", (1,)),)))
    assert not verdict.faults and verdict.other is None


def test_a_function_of_the_program_is_no_part_of_the_message() -> None:
    said = "doesn't match function result type ('tensor<128xf32>') in function @__main__.%s"
    assert normalise(said % "read__Pfp32_i32_c512") == normalise(said % "g__Pfp32")
    assert normalise("expects @trap") == "expects @trap"


def test_what_python_suggests_is_no_part_of_the_message() -> None:
    """3.12 and later do so: a case recorded with 3.11 is the same fault there."""
    plain = "'dtype' object has no attribute 'numel'"
    assert normalise(f"{plain}. Did you mean: 'name'?") == plain
    assert normalise("name 'x' is not defined. Did you mean: 'tl'? Or did you forget to import 'x'?\nin kernel") == (
        "name 'x' is not defined in kernel"
    )


def test_launches_are_followed_for_the_causes_that_are_kept_whatever_was_asked_about() -> None:
    launch = Launch("kernel", "0", (1,), synced=True, causes=(PRODUCT,), unfollowed="")
    original = replace(failing("RuntimeError", "CUDA error"), launches=(launch,))
    oracle = bound("exception:RuntimeError", original)
    causes = LaunchCauses.of(original)
    assert causes is not None and not oracle.needs.rules
    kept = oracle.keeping(causes)
    assert kept.causes == causes and PRODUCT.breaks in kept.needs.rules
    assert kept.needs.asserts == oracle.needs.asserts


def test_where_nobody_knows_which_of_two_faults_a_device_shows_first_the_second_one_is_another_cause() -> None:
    """So it is on a GPU, too, which shows the one that was asked about: the dry run has told of the other before."""
    hint = replace(PRODUCT, breaks="alignment", kind=cause.HINT, detail="integer")
    launch = Launch("kernel", "0", (1,), synced=True, fault="alignment: 4 bytes off", causes=(hint,), unfollowed="")
    original = replace(failing("RuntimeError", "CUDA error: misaligned address"), virtual=True, launches=(launch,))
    oracle = bound("misaligned address", original)
    assert oracle.judge(original).faults
    both = replace(launch, fault="", undecided="alignment: something else is wrong", causes=(hint, PRODUCT))
    one = replace(both, causes=(hint,))
    ends_well = Run("virtual", 0, virtual=True)
    refused = oracle.judge(replace(ends_well, launches=(both,)))
    assert refused.is_known and "something else goes wrong, too" in refused.why
    assert not oracle.judge(replace(ends_well, launches=(one,))).is_known
    assert not oracle.judge(replace(ends_well, launches=(replace(both, unfollowed="a loop"),))).is_known
