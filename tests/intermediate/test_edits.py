"""Each family on a small program: what it offers, and that any set of it is a module that the compiler parses."""

from __future__ import annotations

import math
import random

import pytest

from shrinkray_gpu.intermediate import edits
from shrinkray_gpu.intermediate.edits import (
    arguments,
    attributes,
    branches,
    functions,
    loops,
    operations,
    slices,
    tensor_types,
)
from shrinkray_gpu.intermediate.generic_text import write
from shrinkray_gpu.intermediate.model import IrModule, every, size
from shrinkray_gpu.intermediate.search import Family, IrSearch, TextForm
from tests.intermediate.conftest import Asked
from tests.intermediate.programs import JUMPS, LAID_OUT, LOOP, PRODUCT, QUOTED, SELECT, SHARED, SWITCH

PROGRAMS = {"loop": LOOP, "jumps": JUMPS, "layouts": LAID_OUT, "select": SELECT, "switch": SWITCH, "quoted": QUOTED}
MAY_BE_REFUSED = {"layouts", "shapes", "functions of one type", "slices", "bodies", "attributes"}
"""Families whose changes only the compiler can judge."""


def each_alone(asked: Asked, text: str, family: Family) -> list[str]:
    """What each change alone makes of the program, as people write it."""
    module = asked.module(text)
    return [asked.parses(write(family.apply(module, [item]))) for item in family.find(module)]


def named(module: IrModule, name: str) -> list[int]:
    return [each.key for each in every(module.top) if each.name == name]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("family", edits.FAMILIES, ids=lambda family: family.name)
def test_any_set_of_changes_parses(asked: Asked, family: Family, program: str) -> None:
    module = asked.module(PROGRAMS[program])
    items, chance = list(family.find(module)), random.Random(f"{family.name} {program}")
    sets = [[item] for item in items]
    if not family.alone:
        sets = [chance.sample(items, chance.randint(1, len(items))) for _ in range(12)] if items else []
    for chosen in sets:
        trial = asked.compiler.normal(write(family.apply(module, chosen)))
        assert trial.parsed or family.name in MAY_BE_REFUSED, f"{chosen}: {trial.said}"


@pytest.mark.parametrize("family", edits.FAMILIES, ids=lambda family: family.name)
def test_a_change_whose_place_is_gone_changes_nothing_else(asked: Asked, family: Family) -> None:
    """Items are named once, and other changes are made before some of them are tried."""
    for text in PROGRAMS.values():
        module = asked.module(text)
        items = list(family.find(module))
        for other in edits.FAMILIES:
            for item in list(other.find(module))[:6]:
                changed = other.apply(module, [item])
                for mine in items[:6]:
                    write(family.apply(changed, [mine]))


def test_what_an_operation_made_comes_in_as_an_argument(asked: Asked) -> None:
    module = asked.module(SELECT)
    (key,) = named(module, "arith.select")
    text = asked.parses(write(operations.apply(module, [key])))
    assert "arith.select" not in text
    assert "%arg4: !tt.ptr<f32>)" in text and "tt.load %arg4" in text
    assert "%arg1: !tt.ptr<f32> {tt.pointer_range = 32 : i32}" in text, "what is said of the others stays with them"


def test_inside_a_loop_as_well_and_all_at_once(asked: Asked) -> None:
    module = asked.module(LOOP)
    text = asked.parses(write(operations.apply(module, list(operations.find(module)))))
    assert not any(word in text for word in ("arith.", "scf.", "tt.load", "tt.call")), "nothing but returns is left"


def test_a_function_that_is_called_takes_more_and_its_callers_hand_it_over(asked: Asked) -> None:
    module = asked.module(LOOP)
    callee = next(each for each in module.functions if each.symbol == "@twice")
    key = next(each.key for each in callee.inner() if each.name == "arith.addf")
    text = asked.parses(write(operations.apply(module, [key])))
    assert "tt.call @twice(" in text and ": (f32, f32) -> f32" in text


def test_a_function_goes_with_the_calls_of_it(asked: Asked) -> None:
    without = [each for each in each_alone(asked, LOOP, functions.FAMILY) if "@twice" not in each]
    assert len(without) == 1 and "tt.call" not in without[0]


def test_a_body_takes_the_place_of_its_loop(asked: Asked) -> None:
    texts = each_alone(asked, LOOP, loops.REGIONS)
    assert any("scf.for" not in text and "tt.load" in text for text in texts)
    assert sum("scf.if" not in text for text in texts) == 2, "one for each arm"


def test_a_loop_carries_less(asked: Asked) -> None:
    texts = each_alone(asked, LOOP, loops.CARRIED)
    assert any("-> (tensor<64xf32>)  : i32" in text for text in texts)
    assert any("-> (i32)  : i32" in text for text in texts)


def test_an_operand_stands_for_the_result(asked: Asked) -> None:
    assert any("arith.select" not in text for text in each_alone(asked, SELECT, operations.FORWARDED))


def test_masks_go_the_value_for_masked_lanes_first(asked: Asked) -> None:
    module = asked.module(LOOP)
    items = list(operations.OPERANDS.find(module))
    once = operations.OPERANDS.apply(module, items)
    assert "tt.load %arg" not in write(once) and len(list(operations.OPERANDS.find(once))) == 1
    twice = operations.OPERANDS.apply(once, list(operations.OPERANDS.find(once)))
    assert list(operations.OPERANDS.find(twice)) == [] and asked.parses(write(twice))


def test_arguments(asked: Asked) -> None:
    module = asked.module(SELECT)
    merged = arguments.MERGED.apply(module, list(arguments.MERGED.find(module)))
    assert len(list(arguments.MERGED.find(merged))) == 0
    empty = operations.apply(module, list(operations.find(module)))
    assert "@s() {" in asked.parses(write(arguments.UNUSED.apply(empty, list(arguments.UNUSED.find(empty)))))


def test_a_choice_becomes_a_jump_and_blocks_become_one(asked: Asked) -> None:
    module = asked.module(JUMPS)
    (item, *_) = branches.FAMILY.find(module)
    straight = branches.FAMILY.apply(module, [item])
    assert "cf.cond_br" not in write(straight)
    whole = branches.MERGED.apply(straight, list(branches.MERGED.find(straight)))
    assert "^bb" not in asked.parses(write(whole))


def test_the_way_around_an_empty_block(asked: Asked) -> None:
    module = asked.module(JUMPS)
    light = operations.apply(module, named(module, "tt.load"))
    around = branches.EMPTY.apply(light, list(branches.EMPTY.find(light)))
    assert asked.parses(write(around)).count("^bb") < asked.parses(write(light)).count("^bb")


def test_an_argument_of_a_block_goes_with_what_is_handed_over(asked: Asked) -> None:
    texts = each_alone(asked, JUMPS, arguments.OF_BLOCKS)
    assert any("cf.br ^bb3\n" in text for text in texts)


def test_a_slice_is_returned_or_written_to(asked: Asked) -> None:
    texts = each_alone(asked, SELECT, slices.FAMILY)
    assert any("-> f32" in text and "tt.load" in text and "tt.store" not in text for text in texts)
    assert any("tt.store %1, %arg" in text and "tt.load" not in text for text in texts), "at the pointer selected"
    assert not any("-> !tt.ptr" in text for text in texts), "no kernel returns pointers"


def test_a_body_as_the_whole_function(asked: Asked) -> None:
    module = asked.module(LOOP)
    (loop,) = named(module, "scf.for")
    item = next(each for each in functions.BODIES.find(module) if each[1] == loop)
    text = asked.parses(write(functions.BODIES.apply(module, [item])))
    assert "scf.for" not in text and "tt.load" in text and "tt.reduce" not in text


def test_a_function_returns_less(asked: Asked) -> None:
    texts = each_alone(asked, LOOP, functions.RETURNED)
    assert any("tt.call @twice(%4) : (f32) -> ()" in text or ": (f32) -> ()" in text for text in texts)


def test_attributes_go_but_not_what_a_module_says_of_its_target(asked: Asked) -> None:
    module = asked.module(LAID_OUT.replace("module attributes {", "module attributes {some.note, "))
    names = [name for _, _, name in attributes.FAMILY.find(module)]
    assert "some.note" in names and not {"ttg.target", "ttg.num-warps"} & {*names}
    module = asked.module(SELECT)
    text = asked.parses(write(attributes.FAMILY.apply(module, list(attributes.FAMILY.find(module)))))
    assert "tt." in text and "divisibility" not in text and "public" not in text


def test_smaller_tensors_everywhere_at_once(asked: Asked) -> None:
    texts = each_alone(asked, LOOP, tensor_types.SHAPES)
    assert any("tensor<2xf32>" in text and "end = 2 : i32" in text and "64" not in text for text in texts)


@pytest.mark.parametrize(
    ("memory", "sizes"),
    [
        ("128x64xf16, #swizzled", {128: {1, 2, 4, 64}}),
        ("128x64xf16, #turned", {128: {64}, 64: {1, 2, 4, 32}}),
        ("128x256xf16, #plain", {128: {1, 2, 4, 64}, 256: {1, 2, 4, 128}}),
    ],
)
def test_no_tensor_is_smaller_than_its_swizzle(asked: Asked, memory: str, sizes: dict[int, set[int]]) -> None:
    module = asked.module(SHARED.replace("MEMORY", memory))
    found: dict[int, set[int]] = {}
    for item in tensor_types.SHAPES.find(module):
        found.setdefault(item[0], set()).add(item[1])
        asked.parses(write(tensor_types.SHAPES.apply(module, [item])))
    assert found == sizes


def test_no_product_is_smaller_than_its_instruction(asked: Asked) -> None:
    module = asked.module(PRODUCT)
    items = list(tensor_types.SHAPES.find(module))
    assert min(smaller for before, smaller in items if before == 128) == 64
    assert min(smaller for before, smaller in items if before == 32) == 8
    for item in items:
        asked.parses(write(tensor_types.SHAPES.apply(module, [item])))
    assert ("", "") not in tensor_types.LAYOUTS.find(module), "an operation of a GPU's dialect needs layouts"


def test_a_function_that_became_another_one_stands_for_none(asked: Asked) -> None:
    twins = """\
module {
  tt.func private @a() { tt.return }
  tt.func private @b() { tt.return }
  tt.func public @k() {
    tt.call @a() : () -> ()
    tt.call @b() : () -> ()
    tt.return
  }
}
"""
    module = asked.module(twins)
    pairs = list(functions.MERGED.find(module))
    once = functions.MERGED.apply(module, pairs[:1])
    again = functions.MERGED.apply(once, [next(pair for pair in pairs if pair == pairs[0][::-1])])
    assert again is once


def test_one_layout_for_another_and_none_at_all(asked: Asked) -> None:
    module = asked.module(LAID_OUT)
    merged = [tensor_types.LAYOUTS.apply(module, [item]) for item in tensor_types.LAYOUTS.find(module)]
    assert any("#blocked1>" not in write(each) for each in merged)
    assert ("", "") not in tensor_types.LAYOUTS.find(module), "an operation of layouts needs them"
    key = named(module, "ttg.convert_layout")
    bare = tensor_types.LAYOUTS.apply(operations.apply(module, key), [("", "")])
    assert "tensor<32x64xf32>" in asked.parses(write(bare))


def test_a_block_that_a_switch_leads_to_stays(asked: Asked) -> None:
    assert each_alone(asked, SWITCH, branches.EMPTY) == [asked.parses(SWITCH)]


def test_a_call_by_a_name_in_quotes_goes_with_its_function(asked: Asked) -> None:
    module = asked.module(QUOTED)
    (inner,) = (each for each in module.functions if "inner" in each.symbol)
    assert inner.symbol == next(each.setting("callee") for each in every(module.top) if each.name == "tt.call")
    left = asked.parses(write(functions.FAMILY.apply(module, [inner.key])))
    assert "inner" not in left and "tt.store" in left


def test_a_change_that_raises_is_no_candidate(asked: Asked) -> None:
    def broken(module: IrModule, chosen: object) -> IrModule:
        raise IndexError("a bug")

    tested: list[str] = []

    def test(module: IrModule, text: str) -> tuple[bool, bool]:
        tested.append(text)
        return True, True

    families = (Family("broken", operations.FAMILY.find, broken), operations.FAMILY)
    search = IrSearch(TextForm(write, size), test, families, until=math.inf)
    smallest = search.run(asked.module(SELECT))
    assert search.tally.broken and tested and not any(each.name == "tt.store" for each in every(smallest.top))
    assert search.ended == "done"
