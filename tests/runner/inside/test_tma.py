"""The static rule on IR text: which copies execute, and where they land. Spellings of Triton 3.4 to 3.9."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shrinkray_gpu.runner.inside.evaluator import integers
from shrinkray_gpu.runner.inside.evaluator.copies import examine
from shrinkray_gpu.runner.inside.evaluator.memory import Described
from shrinkray_gpu.runner.inside.evaluator.numbers import Algebra, Unfollowed, wrapped
from shrinkray_gpu.runner.inside.static import tma
from shrinkray_gpu.runner.inside.static.rule import LaunchFacts, RuleFinding

HEAD = """
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 0, transposed = false, elementBitWidth = 32}>
#loc = loc("k.py":1:0)
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:90"} {
"""
TAIL = """
    tt.return loc(#loc)
  } loc(#loc)
} loc(#loc)
"""
PIPELINED = """
  tt.func public @k(%d: !tt.tensordesc<tensor<1x4xf32, #shared>> loc("d"(#loc)), %N: i32 loc("N"(#loc))) {
    %c0 = arith.constant 0 : i32 loc(#loc)
    %c1 = arith.constant 1 : i32 loc(#loc)
    %c3 = arith.constant 3 : i32 loc(#loc)
    %true = arith.constant true loc(#loc)
    %buf = ttg.local_alloc : () -> !ttg.memdesc<3xTILE, #shared, #smem, mutable> loc(#loc)
    %bar = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #shared1, #smem, mutable> loc(#loc)
    %last:2 = scf.for %i = %c0 to %N step %c1 iter_args(%stage = %c0, %x = %c0) -> (i32, i32)  : i32 {
      %dst = INDEX
      COPY
      %next = arith.addi %stage, %c1 : i32 loc(#loc)
      %wrap = arith.cmpi sge, %next, %c3 : i32 loc(#loc)
      %to = arith.select %wrap, %c0, %next : i32 loc(#loc)
      scf.yield %to, %x : i32, i32 loc(#loc)
    } {tt.num_stages = 4 : i32} loc(#loc)
"""
INDEX = (
    "ttg.memdesc_index %buf[%stage] : !ttg.memdesc<3xTILE, #shared, #smem, mutable> -> "
    "!ttg.memdesc<TILE, #shared, #smem, mutable>"
)
SUBVIEW = INDEX.replace("memdesc_index %buf[%stage]", "memdesc_subview %buf[%stage, %c0, %c0]")
LOAD = (
    "ttng.async_tma_copy_global_to_local %d[%c0, %i] %dst, %bar, %true : !tt.tensordesc<tensor<1x4xf32, #shared>>, "
    "!ttg.memdesc<1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<TILE, #shared, #smem, mutable> loc(#loc)"
)
STORE = (
    "ttng.async_tma_copy_local_to_global %d[%c0, %i] %dst : !tt.tensordesc<tensor<1x4xf32, #shared>>, "
    "!ttg.memdesc<TILE, #shared, #smem, mutable>"
)
GATHER = LOAD.replace("async_tma_copy_global_to_local %d[%c0, %i]", "async_tma_gather %d[%rows, %i]")
SCATTER = STORE.replace("async_tma_copy_local_to_global %d[%c0, %i]", "async_tma_scatter %d[%rows, %i]")
REDUCE = STORE.replace("async_tma_copy_local_to_global %d", "async_tma_reduce add, %d")
MULTICAST = LOAD.replace("%true :", "%true, %mask {multicast} :")
IM2COL = LOAD.replace("%i] %dst", "%i] offsets = [%c1, %c1] %dst")
SHORT = LOAD.replace("!tt.tensordesc<tensor<1x4xf32, #shared>>", "!tt.tensordesc<1x4xf32, #shared>")

DESCRIPTOR = Described(None, (8, 64), (64, 1), 4)


def kernel(tile="1x4xf32", index=INDEX, copy=LOAD):
    text = HEAD + PIPELINED + TAIL
    return text.replace("INDEX", index).replace("COPY", copy).replace("TILE", tile)


@pytest.mark.parametrize("copy", [LOAD, STORE, GATHER, SCATTER, REDUCE, MULTICAST, IM2COL, SHORT])
@pytest.mark.parametrize("index", [INDEX, SUBVIEW])
def test_every_spelling_of_a_copy_is_read(copy, index):
    reason = examine(kernel(index=index, copy=copy), (1, 1, 1), [DESCRIPTOR, 5]).reason
    kind = "store" if copy in (STORE, SCATTER, REDUCE) else "load"
    assert reason == f"k: TMA {kind} of 1x4xf32, stages 16 bytes apart, address in shared memory 16 mod 128"


@pytest.mark.parametrize(
    ("tile", "residue"),
    [("1x4xf32", 16), ("2x4xf32", 32), ("1x16xf32", 64), ("1x48xf32", 64), ("1x16xf16", 32), ("1x64xi8", 64)],
)
def test_the_residue_is_that_of_the_tile(tile, residue):
    assert examine(kernel(tile), (1, 1, 1), [DESCRIPTOR, 5]).reason.endswith(f" {residue} mod 128")


@pytest.mark.parametrize("tile", ["1x32xf32", "8x4xf32", "1x64xf16", "2x16xi32", "4x32xf8E4M3FN"])
def test_whole_lines_are_aligned(tile):
    assert examine(kernel(tile), (1, 1, 1), [DESCRIPTOR, 5]) == RuleFinding()


@pytest.mark.parametrize(("trips", "faults"), [(0, False), (1, False), (2, True), (2048, True), (-3, False)])
def test_the_second_trip_is_the_first_that_faults(trips, faults):
    assert bool(examine(kernel(), (4, 1, 1), [DESCRIPTOR, trips]).reason) is faults


@pytest.mark.parametrize(("first", "trips", "residue"), [(0, 1000, 0), (0, 1001, 16), (2, 1001, 0), (2, 1003, 32)])
def test_stages_go_round_in_loops_of_any_length(first, trips, residue):
    text = kernel(copy=LOAD.replace("%true", "%late")).replace("%stage = %c0", "%stage = %first")
    text = text.replace("%dst =", "%late = arith.cmpi sge, %i, %n : i32\n      %dst =")
    text = text.replace(
        "    %true =",
        f"    %n = arith.constant {trips - 1} : i32\n    %first = arith.constant {first} : i32\n    %true =",
    )
    assert examine(text, (1, 1, 1), [DESCRIPTOR, trips]).reason.endswith(f" {residue} mod 128" if residue else "")
    assert examine(text, (1, 1, 1), [DESCRIPTOR, trips]).unknown == ""


def steps(step, unsigned=""):
    """The same kernel with a second parameter as the step of its loop."""
    text = kernel().replace("%N: i32", "%S: i32, %N: i32").replace("step %c1", "step %S")
    return examine(text.replace("scf.for ", "scf.for " + unsigned), (1, 1, 1), [DESCRIPTOR, step, 5])


@pytest.mark.parametrize("step", [0, -1, -8])
def test_a_loop_that_does_not_get_on_never_reaches_a_second_stage(step):
    assert steps(step) == RuleFinding(unknown=f"a loop of step {step} never ends")


def test_unless_its_step_is_unsigned_or_larger():
    assert "16 mod 128" in steps(4).reason
    assert steps(5) == RuleFinding()
    assert "never ends" not in steps(-1, "unsigned ").unknown
    assert "depending on data" in steps(None).unknown


def test_a_grid_without_programs_runs_nothing():
    facts = LaunchFacts(kernel(), "", (4, 0, 1), [DESCRIPTOR, 5])
    assert tma.RULE.examine(facts) == RuleFinding()
    assert tma.RULE.examine(replace(facts, grid=(4, 1, 1))).unknown == "nobody followed it"


def test_an_empty_tensor_has_nothing_to_copy():
    assert examine(kernel(), (1, 1, 1), [Described(None, (8, 0), (1, 1), 4), 5]).reason == ""


def test_an_unknown_trip_count_is_not_a_fault_but_is_said():
    finding = examine(kernel(), (1, 1, 1), [DESCRIPTOR, None])
    assert finding.reason == "" and "depending on data" in finding.unknown


def test_arguments_that_do_not_fit_are_unknown():
    assert "do not match" in examine(kernel(), (1, 1, 1), [DESCRIPTOR]).unknown


def test_a_predicate_that_is_false_stops_the_copy():
    text = kernel().replace("%true = arith.constant true", "%true = arith.constant false")
    assert examine(text, (1, 1, 1), [DESCRIPTOR, 5]) == RuleFinding()


def test_only_the_last_program_may_have_two_trips():
    text = (
        kernel()
        .replace("%c0 to %N", "%c0 to %p")
        .replace("    %true =", "    %p = tt.get_program_id x : i32 loc(#loc)\n    %true =")
    )
    assert examine(text, (2, 1, 1), [DESCRIPTOR, 5]).reason == ""
    assert examine(text, (3, 1, 1), [DESCRIPTOR, 5]).reason != ""


@pytest.mark.parametrize(("n", "faults"), [(3, True), (9, False)])
def test_branches_follow_the_arguments(n, faults):
    loop, _, rest = kernel().partition("      " + LOAD.replace("TILE", "1x4xf32"))
    text = (
        loop
        + "      %small = arith.cmpi slt, %N, %c8 : i32\n      scf.if %small {\n        "
        + LOAD.replace("TILE", "1x4xf32")
        + "\n      } else {\n        ttng.fence\n      }\n"
        + rest
    ).replace("    %true =", "    %c8 = arith.constant 8 : i32\n    %true =")
    assert bool(examine(text, (1, 1, 1), [DESCRIPTOR, n]).reason) is faults


def test_partitions_see_captures_under_their_own_names():
    text = (
        HEAD
        + """
  tt.func public @k(%d: !tt.tensordesc<tensor<1x4xf32, #shared>>, %N: i32) attributes {noinline = false} {
    %c1 = arith.constant 1 : i32
    %buf = ttg.local_alloc : () -> !ttg.memdesc<3x1x4xf32, #shared, #smem, mutable>
    %bar = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttg.warp_specialize(%bar, %d, %buf, %N) attributes {requestedRegisters = array<i32: 24>}
    default {
      ttg.warp_yield
    }
    partition0(%a: !ttg.memdesc<1xi64, #shared1, #smem, mutable>, %b: !tt.tensordesc<tensor<1x4xf32, #shared>>, %c: !ttg.memdesc<3x1x4xf32, #shared, #smem, mutable>, %e: i32) num_warps(2) {
      %c0 = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %t = arith.cmpi sgt, %e, %one : i32
      %s = ttg.memdesc_index %c[%one] : !ttg.memdesc<3x1x4xf32, #shared, #smem, mutable> -> !ttg.memdesc<1x4xf32, #shared, #smem, mutable>
      ttng.async_tma_copy_global_to_local %b[%c0, %c0] %s, %a, %t : !tt.tensordesc<tensor<1x4xf32, #shared>>, !ttg.memdesc<1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1x4xf32, #shared, #smem, mutable>
      ttg.warp_return
    } : (!ttg.memdesc<1xi64, #shared1, #smem, mutable>, !tt.tensordesc<tensor<1x4xf32, #shared>>, !ttg.memdesc<3x1x4xf32, #shared, #smem, mutable>, i32) -> ()
"""  # noqa: E501
        + TAIL
    )
    assert examine(text, (1, 1, 1), [DESCRIPTOR, 1]).reason == ""
    assert examine(text, (1, 1, 1), [DESCRIPTOR, 2]).reason != ""


def test_early_returns_are_jumps():
    text = kernel().replace(
        "    %true =",
        "    %stop = arith.cmpi slt, %N, %c3 : i32\n    cf.cond_br %stop, ^bb1, ^bb2\n  ^bb1:  // pred: ^bb0\n"
        "    tt.return\n  ^bb2:  // pred: ^bb0\n    %true =",
    )
    assert examine(text, (1, 1, 1), [DESCRIPTOR, 2]).reason == ""
    assert examine(text, (1, 1, 1), [DESCRIPTOR, 3]).reason != ""


@pytest.mark.parametrize(
    ("name", "body", "args", "result"),
    [
        ("divsi", "%a, %b : i32", [-7, 2], -3),
        ("remsi", "%a, %b : i32", [-7, 2], -1),
        ("addi", "%a, %b : i32", [2**31 - 1, 1], -(2**31)),
        ("cmpi", "ult, %a, %b : i32", [-1, 1], 0),
        ("cmpi", "slt, %a, %b : i32", [-1, 1], 1),
        ("extsi", "%a : i1 to i32", [1], -1),
        ("extui", "%a : i32 to i64", [-1], 2**32 - 1),
        ("xori", "%a, %b : i1", [1, 1], 0),
        ("muli", "%a, %b : i32", [None, 0], 0),
        ("addi", "%a, %b : i32", [None, 0], None),
        ("select", "%c, %a, %b : i32", [None, 4, 4], 4),
    ],
)
def test_arithmetic_is_that_of_the_machine(name, body, args, result):
    operands = [Unfollowed("nobody knows") if value is None else value for value in args]
    found = wrapped(integers.evaluate(Algebra(1), name, body, operands))
    assert isinstance(found, Unfollowed) if result is None else found == result
