"""Which parameters a kernel writes through: values are followed, and not the names that others have elsewhere."""

from __future__ import annotations

import pytest

from shrinkray_gpu.runner.inside.static.stores import touched_parameters

HEAD = "module {\n  tt.func public @kernel(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32) {\n"
TAIL = "    tt.return\n  }\n}\n"
SIBLINGS = """
    scf.for %i = %n to %n step %n  : i32 {
      %0 = tt.addptr %x, %i : !tt.ptr<f32>, i32
      %1 = tt.load %0 : !tt.ptr<f32>
    }
    scf.for %i = %n to %n step %n  : i32 {
      %0 = arith.addi %i, %n : i32
      %1 = tt.addptr %y, %0 : !tt.ptr<f32>, i32
      tt.store %1, %cst : !tt.ptr<f32>
    }
"""
"""`%0` is made of `%x` in one loop, and of numbers in the other."""
CARRIED = """
    %0:2 = scf.for %i = %n to %n step %n iter_args(%a = %x, %b = %y) -> (!tt.ptr<f32>, !tt.ptr<f32>)  : i32 {
      %1 = tt.load %a : !tt.ptr<f32>
      tt.store %b, %1 : !tt.ptr<f32>
      %2 = tt.addptr %a, %n : !tt.ptr<f32>, i32
      %3 = tt.addptr %b, %n : !tt.ptr<f32>, i32
      scf.yield %2, %3 : !tt.ptr<f32>, !tt.ptr<f32>
    }
"""
SWAPPED = CARRIED.replace("scf.yield %2, %3", "scf.yield %3, %2")
AFTER = CARRIED.replace("tt.store %b, %1", "tt.store %y, %1") + "    tt.store %0#0, %cst : !tt.ptr<f32>\n"
EITHER = """
    %0 = scf.if %c -> (!tt.ptr<f32>) {
      scf.yield %x : !tt.ptr<f32>
    } else {
      scf.yield %y : !tt.ptr<f32>
    }
    tt.store %0, %cst : !tt.ptr<f32>
"""
WHILE = """
    %0 = scf.while (%a = %x) : (!tt.ptr<f32>) -> !tt.ptr<f32> {
      %1 = tt.load %y : !tt.ptr<f32>
      scf.condition(%1) %a : !tt.ptr<f32>
    } do {
    ^bb0(%b: !tt.ptr<f32>):
      tt.store %b, %cst : !tt.ptr<f32>
      scf.yield %b : !tt.ptr<f32>
    }
"""
BRANCH = """
    cf.cond_br %c, ^bb1(%y : !tt.ptr<f32>), ^bb1(%x : !tt.ptr<f32>)
  ^bb1(%a: !tt.ptr<f32>):
    tt.store %a, %cst : !tt.ptr<f32>
"""


@pytest.mark.parametrize(
    "body, stored, loaded, once",
    [
        (SIBLINGS, {1}, {0}, set()),
        (CARRIED, {1}, {0}, set()),
        (SWAPPED, {0, 1}, {0, 1}, set()),
        (AFTER, {0, 1}, {0}, {0}),
        (EITHER, {0, 1}, set(), {0, 1}),
        (WHILE, {0}, {1}, set()),
        (BRANCH, {0, 1}, set(), {0, 1}),
        ("    %1 = tt.atomic_rmw fadd, acq_rel, gpu, %x, %c, %d : f32\n", {0}, {0}, {0}),
        ("    %1 = ours.thing %x, %y : f32\n", {0, 1}, {0, 1}, {0, 1}),
    ],
)  # fmt: skip
def test_what_a_kernel_touches(body: str, stored: set[int], loaded: set[int], once: set[int]) -> None:
    touched = touched_parameters(HEAD + body + TAIL)
    assert touched is not None
    assert (set(touched.stored), set(touched.loaded), set(touched.once)) == (stored, loaded, once)


def test_a_pointer_from_nowhere_is_not_known() -> None:
    assert touched_parameters(HEAD + "    %1 = tt.int_to_ptr %n : i64 -> !tt.ptr<f32>\n" + TAIL) is None
