"""Which candidates keep the original's cause: simpler ones do, others with the same error do not."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Any

import pytest

from shrinkray_gpu.oracle.cause_check import HOST, KEPT, TIME, LaunchCauses
from shrinkray_gpu.runner.inside.static import cause
from shrinkray_gpu.runner.inside.static.cause import Cause
from shrinkray_gpu.runner.run import Launch, Run

PRODUCT = Cause(
    breaks="bounds", kind=cause.WRAPPED, operation="product i32", role="term", inputs=("argument", "program"),
    access="load", masked=True, exact=False, far=4096, first=False, always=False, detail="",
    place="k.py:3:4", at="k.py:4:8", sentence="it wraps",
)  # fmt: skip
GATHER = replace(PRODUCT, kind=cause.MEMORY, operation="", inputs=("loaded",), exact=True)
STRIDE = replace(PRODUCT, kind=cause.STRIDE, operation="", inputs=("argument",), exact=True)
HINT = replace(PRODUCT, breaks="alignment", kind=cause.HINT, operation="integer", exact=True)
OPEN = replace(PRODUCT, kind=cause.NO_MASK, operation="", inputs=("program", "range"), masked=False, exact=True)
CHECK = replace(PRODUCT, breaks="assert", kind=cause.ASSERTION, operation="tt.assert", inputs=("loaded",), access="")
RACE = replace(
    PRODUCT, breaks="race", kind=cause.UNORDERED, operation="load-store", inputs=("program", "range"), access="store",
    detail=cause.UPDATE, exact=True, parameters=("stride",),
)  # fmt: skip
TILE = replace(STRIDE, kind=cause.DESCRIPTOR)
LATE = replace(GATHER, overwritten="k.py:7", busy=("a copy", "spin 9", "spin 9"))


def ran(*causes: Cause, unfollowed: str = "") -> Run:
    launch = Launch("kernel", "0", (1,), synced=True, causes=causes, unfollowed=unfollowed)
    return Run("virtual", 1, virtual=True, launches=(launch,))


def difference(original: Run, candidate: Run) -> str:
    causes = LaunchCauses.of(original)
    assert causes is not None
    return causes.difference(candidate)


@pytest.mark.parametrize(
    ("original", "candidate"),
    [
        (PRODUCT, replace(PRODUCT, place="k.py:9:1", at="", sentence="")),
        (PRODUCT, replace(PRODUCT, inputs=("argument", "range"))),  # another numbering of the elements
        (PRODUCT, replace(PRODUCT, inputs=("constant", "program"))),  # a literal, where something else varies
        (replace(PRODUCT, masked=False), PRODUCT),
        (replace(OPEN, far=0), OPEN),
        (OPEN, replace(OPEN, far=8192)),
        (replace(CHECK, always=True), CHECK),
        (replace(CHECK, varying=2), CHECK),
        (HINT, replace(HINT, inputs=("constant", "trip"))),
        (replace(OPEN, beyond=("program", "range")), replace(OPEN, beyond=("program",))),
        (replace(STRIDE, guards=("program",)), STRIDE),
        (replace(OPEN, guards=("loaded program",)), replace(OPEN, guards=("range", "constant loaded range"))),
        (LATE, replace(LATE, overwritten="k.py:2", busy=(*LATE.busy, "more"))),
        (RACE, replace(RACE, inputs=("program",), masked=True)),
        (replace(STRIDE, foreign=("a stride", "a comparison")), replace(STRIDE, foreign=("a stride",))),
    ],
)
def test_a_simpler_candidate_keeps_it(original: Cause, candidate: Cause) -> None:
    assert difference(ran(original), ran(candidate)) == ""


def test_where_what_makes_an_index_is_kept_it_comes_from_the_same_tensor() -> None:
    index = replace(PRODUCT, kind=cause.MEMORY, operation="", inputs=("loaded",), source="64:00c0ffee")
    other = ran(replace(index, source="16:00000001"))
    causes = LaunchCauses.of(ran(index))
    assert causes is not None and causes.difference(other) == ""
    strict = replace(causes, kept=True)
    assert strict.difference(ran(index)) == ""
    assert strict.difference(other) == "the index comes from a tensor that holds something else"
    table = replace(index, shape=(48, 16))
    of_a_table = LaunchCauses.of(ran(table))
    assert of_a_table is not None
    smaller = ran(replace(table, shape=(45, 16)))  # the right index leaves it, too
    assert of_a_table.difference(smaller) == ""
    assert replace(of_a_table, kept=True).difference(smaller) == "the load leaves a tensor of other extents"
    counted = LaunchCauses.of(ran(replace(index, bounds=1)))  # a fix may load fewer
    assert counted is not None and counted.difference(ran(replace(index, bounds=0))) == ""
    assert "compares with fewer" in replace(counted, kept=True).difference(ran(replace(index, bounds=0)))


def test_where_what_makes_them_is_kept_an_assertion_compares_the_same_values() -> None:
    causes = LaunchCauses.of(ran(replace(CHECK, operands=(602, 300))))
    assert causes is not None and causes.difference(ran(replace(CHECK, operands=(7, 4)))) == ""
    strict = replace(causes, kept=True)
    assert strict.difference(ran(replace(CHECK, operands=(602, 300)))) == ""
    assert strict.difference(ran(replace(CHECK, operands=(7, 4)))) == "the assertion hangs on other values"


@pytest.mark.parametrize(
    ("original", "candidate", "why"),
    [
        (
            replace(OPEN, beyond=("range",)),
            replace(OPEN, beyond=("program",)),
            "beyond the tensor is program instead of range",
        ),
        (
            replace(OPEN, beyond=("constant", "range")),
            replace(OPEN, beyond=("constant",)),
            "beyond the tensor is constant instead of constant and range",
        ),
        (
            OPEN,
            replace(OPEN, whole=True),
            "a program instance is outside from its first element on, which the grid may be to blame for",
        ),
        (
            replace(CHECK, inputs=("argument", "loaded")),
            replace(CHECK, inputs=("constant", "loaded")),
            "what is passed decides no more",
        ),
        (PRODUCT, replace(PRODUCT, foreign=("a comparison",)), "a comparison is now in the address"),
        (PRODUCT, replace(PRODUCT, kind=cause.OFFSET), "offset beyond the tensor instead of integer wrapped"),
        (PRODUCT, replace(PRODUCT, operation="sum i32"), "sum i32 instead of product i32"),
        (PRODUCT, replace(PRODUCT, due=False), "in exact arithmetic the load would not be made"),
        (PRODUCT, replace(PRODUCT, inputs=("argument", "constant")), "made of argument and constant instead"),
        (PRODUCT, replace(PRODUCT, masked=False), "the load has lost its mask"),
        (replace(OPEN, below=True), OPEN, "leaves the tensor at its other end"),
        (
            replace(OPEN, kind=cause.WRONG_MASK, bounds=2),
            replace(OPEN, kind=cause.WRONG_MASK, bounds=1),
            "compares with fewer arguments",
        ),
        (
            replace(OPEN, guards=("program", "range")),
            replace(OPEN, guards=("program",)),
            "the load has lost a condition that led to it",
        ),
        (
            replace(OPEN, guards=("constant loaded program",)),
            replace(OPEN, guards=("constant loaded", "constant program")),
            "the condition that leads to the load hangs on less",
        ),
        (PRODUCT, replace(PRODUCT, exact=True), "in exact arithmetic it goes wrong as well"),
        (PRODUCT, replace(PRODUCT, access="store"), "at a store instead of a load"),
        (OPEN, replace(OPEN, kind=cause.EMPTY), "empty tensor instead of missing mask"),
        (OPEN, replace(OPEN, inputs=("constant",)), "made of constant instead of program and range"),
        (OPEN, replace(OPEN, inputs=("loaded", "range")), "now comes from memory"),
        (OPEN, replace(OPEN, far=0), "what it reaches is nearer to the tensor"),
        (OPEN, replace(OPEN, far=4095), "what it reaches is nearer to the tensor"),
        (OPEN, replace(OPEN, first=True), "the first program instance already goes wrong"),
        (STRIDE, replace(STRIDE, detail="in bytes"), "in bytes instead of another sort"),
        (replace(CHECK, varying=2), replace(CHECK, varying=1), "one of another element"),
        (replace(CHECK, bounds=2), replace(CHECK, bounds=1), "hangs on fewer values"),
        (replace(CHECK, parameters=("rows", "ids")), replace(CHECK, parameters=("x",)), "hangs on fewer values"),
        (CHECK, replace(CHECK, always=True), "wherever it is asked"),
        (TILE, replace(TILE, inputs=("constant",)), "made of constant instead of argument"),
        (GATHER, replace(GATHER, inputs=("range",)), "what came from memory does so no more"),
        (STRIDE, replace(STRIDE, inputs=("constant",)), "made of constant instead of argument"),
        (RACE, replace(RACE, operation="store-store"), "store-store instead of load-store"),
        (RACE, replace(RACE, inputs=("range",)), "what was computed from the number of the program instance"),
        (RACE, replace(RACE, detail=""), "race of another sort instead of update"),
        (RACE, replace(RACE, parameters=()), "the address hangs on fewer values that are passed"),
        (HINT, replace(HINT, kind=cause.ELEMENT, operation=""), "address between two elements instead of untrue hint"),
        (
            replace(HINT, kind=cause.ELEMENT, inputs=("argument", "range")),
            replace(HINT, kind=cause.ELEMENT, inputs=("constant", "range")),
            "what is passed decides no more",
        ),
        (HINT, replace(HINT, operation="pointer"), "pointer instead of integer"),
        (HINT, replace(HINT, inputs=("constant",)), "made of constant instead of argument and program"),
        (LATE, replace(LATE, overwritten=""), "also with what was copied from pinned memory at first"),
        (GATHER, replace(GATHER, overwritten="k.py:7"), "only with other contents than what was copied"),
        (LATE, replace(LATE, busy=("a copy", "spin 9")), "the device has less to do"),
    ],
)
def test_another_cause_is_told(original: Cause, candidate: Cause, why: str) -> None:
    assert why in difference(ran(original), ran(candidate))


def test_a_second_defect_is_one_too_many_and_one_less_is_none() -> None:
    assert difference(ran(PRODUCT, OPEN), ran(PRODUCT)) == ""
    assert difference(ran(PRODUCT), ran(PRODUCT, OPEN)) == "something else goes wrong, too: it wraps"
    assert "missing mask instead of" in difference(ran(PRODUCT, OPEN), ran(OPEN))


def test_another_launch_goes_wrong_no_more_than_it_did() -> None:
    def before(*causes: Cause, unfollowed: str = "") -> Run:
        return replace(ran(OPEN), launches=(*ran(OPEN).launches, *ran(*causes, unfollowed=unfollowed).launches))

    assert difference(before(), before()) == difference(before(GATHER), before()) == ""
    assert difference(before(), before(OPEN)) == difference(before(GATHER), before(GATHER)) == ""  # the same again
    assert "in the launch of kernel, too: it wraps" in difference(before(), before(GATHER))
    assert difference(before(unfollowed="a float decides"), before(GATHER)) == ""


def test_what_cannot_be_followed_keeps_no_cause() -> None:
    assert difference(ran(PRODUCT), ran(unfollowed="a float decides")) == "it cannot be followed: a float decides"
    assert "not all of it" in difference(ran(PRODUCT), ran(PRODUCT, unfollowed="a float decides"))
    assert difference(ran(PRODUCT, unfollowed="a loop"), ran(PRODUCT, unfollowed="a loop")) == ""
    assert difference(ran(PRODUCT), ran()) != ""


def test_a_run_in_which_nothing_goes_wrong_has_no_causes() -> None:
    assert LaunchCauses.of(ran()) is None


def test_where_all_is_kept_a_mask_hangs_on_as_many_loaded_values_and_the_same_index_leaves() -> None:
    mask = replace(OPEN, inputs=("loaded", "range"), varying=2, beyond=("range",))
    causes = LaunchCauses.of(ran(mask))
    assert causes is not None
    kept = replace(causes, kept=True)
    assert kept.difference(ran(mask)) == ""
    assert "fewer loaded values" in kept.difference(ran(replace(mask, varying=1)))
    assert "nobody knows which" in kept.difference(ran(replace(mask, beyond=())))
    tiled = LaunchCauses.of(ran(replace(OPEN, indices=("program x in dimension 0", "range 1 in dimension 1"))))
    assert tiled is not None
    fewer = ran(replace(OPEN, indices=("range 1 in dimension 1",)))
    assert tiled.difference(fewer) == "" and "its program x" in replace(tiled, kept=True).difference(fewer)
    grid = LaunchCauses.of(ran(replace(OPEN, whole=True, beyond=("program",))))
    assert grid is not None
    assert "another index" in replace(grid, kept=True).difference(ran(replace(OPEN, beyond=("program",))))


def test_causes_are_the_same_after_a_journal() -> None:
    causes = LaunchCauses.of(ran(replace(OPEN, shape=(4, 16), operands=(7,), parameters=("n",))))
    assert causes is not None
    for kept in (replace(causes, kept=True), replace(causes, others=(GATHER,)), replace(causes, others=None)):
        assert LaunchCauses.from_json(json.loads(json.dumps(asdict(kept)))) == kept


def test_an_extent_hangs_on_no_fewer_values() -> None:
    extent = replace(OPEN, kind=cause.EXTENT, inputs=("argument",), parameters=("VEC", "n"))
    causes = LaunchCauses.of(ran(extent))
    assert causes is not None and causes.difference(ran(extent)) == ""
    assert "fewer values" in causes.difference(ran(replace(extent, parameters=("n",))))


def test_a_mask_may_be_too_wide_by_what_the_host_passes() -> None:
    mask = replace(OPEN, kind=cause.WRONG_MASK, masked=True, bounds=1, passed=("count",))
    causes = LaunchCauses.of(ran(mask))
    assert causes is not None and causes.may_be_made_by_host and not causes.made_by_host and causes.doubt == HOST
    other = ran(replace(mask, passed=()))
    assert causes.difference(other) == "" and "the tensor's own" in replace(causes, kept=True).difference(other)


def test_of_one_element_a_program_nobody_knows_whether_the_tensor_or_the_grid_is_wrong() -> None:
    for inputs, may_be in ({("constant", "program"): True, ("program", "range"): False, ("constant",): False}).items():
        causes = LaunchCauses.of(ran(replace(OPEN, inputs=inputs, sized=True)))
        assert causes is not None and causes.may_be_made_by_host is may_be and not causes.made_by_host


def test_a_bound_that_is_one_too_many_stays_an_extent_of_the_tensor() -> None:
    """`column <= n` of n columns is mended by `<`; of a tensor of n - 1 it is not."""
    mask = replace(OPEN, kind=cause.WRONG_MASK, masked=True, bounds=1, by_one=True)
    causes = LaunchCauses.of(ran(mask))
    assert causes is not None and causes.difference(ran(mask)) == ""
    assert "takes one too many" in causes.difference(ran(replace(mask, by_one=False)))


def test_an_index_that_the_mask_does_not_see_may_be_of_another_sort_and_not_be_gone() -> None:
    mask = replace(OPEN, kind=cause.WRONG_MASK, masked=True, bounds=1, unseen=("trip",))
    causes = LaunchCauses.of(ran(mask))
    assert causes is not None and causes.difference(ran(replace(mask, unseen=("range",)))) == ""
    assert "sees each index" in causes.difference(ran(replace(mask, unseen=())))


def test_where_the_tensor_may_be_too_small_it_is_left_no_further() -> None:
    """A tensor that is as large as it should be mends what reached that far, and nothing else."""
    for below, further, nearer in ((False, 600, 500), (True, -600, -500)):
        mine = replace(OPEN, reach=-540 if below else 540, below=below)
        causes = LaunchCauses.of(ran(mine))
        assert causes is not None and causes.difference(ran(replace(mine, reach=further))) == ""
        held = replace(causes, kept=True)
        assert held.difference(ran(replace(mine, reach=nearer))) == held.difference(ran(mine)) == ""
        assert "reaches further" in held.difference(ran(replace(mine, reach=further)))


def test_where_what_is_passed_may_be_wrong_all_of_it_stays() -> None:
    mine = replace(OPEN, kind=cause.WRONG_MASK, passed=("columns", "frame"))
    causes = LaunchCauses.of(ran(mine))
    assert causes is not None
    assert "tensor's own" in replace(causes, kept=True).difference(ran(replace(mine, passed=("frame",))))


def test_where_what_the_host_makes_may_be_wrong_that_is_said() -> None:
    """A tensor of which the kernel asks no extent may be too small, or have another stride than is written there."""
    mask = replace(OPEN, kind=cause.WRONG_MASK, masked=True, bounds=1)
    literal = replace(STRIDE, inputs=("constant",))
    seen = (mask, replace(OPEN, sized=True), replace(mask, sized=True), STRIDE, literal)
    doubts = [LaunchCauses.of(ran(one)) for one in seen]
    assert [one.doubt for one in doubts if one is not None] == [HOST, "", "", HOST, HOST]
    assert [replace(one, kept=True).doubt for one in doubts if one is not None] == [KEPT, "", "", KEPT, KEPT]


def test_what_is_overwritten_too_early_is_the_host_s_doing_and_a_matter_of_time() -> None:
    late = LaunchCauses.of(ran(replace(OPEN, overwritten="k.py:7")))
    assert late is not None and late.made_by_host and TIME in late.doubt and HOST in late.doubt
    assert "pinned memory" in str(late)


def test_what_also_goes_wrong_where_the_device_is_not_late_is_another_case() -> None:
    both = replace(
        ran(LATE),
        launches=tuple(
            replace(each, fault="bounds: far") for each in (*ran(LATE, LATE).launches, *ran(GATHER).launches)
        ),
    )
    assert "also with what was copied" in difference(ran(LATE), both)
    causes = LaunchCauses.of(both)
    assert causes is not None and not causes.causes[0].overwritten


@pytest.mark.parametrize(
    ("change", "of_launch"),
    [({"parameters": ()}, False), ({"parameters": (), "inputs": ("range",)}, True), ({}, True)],
)
def test_what_the_launch_passes_may_bring_program_instances_together(change: dict[str, Any], of_launch: bool) -> None:
    causes = LaunchCauses.of(ran(replace(RACE, **change)))
    assert causes is not None and causes.may_be_made_by_host is of_launch
