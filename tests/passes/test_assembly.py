from __future__ import annotations

from shrinkray_gpu.passes.kernel import assembly, outlets
from shrinkray_gpu.reduction.rendering.render import render
from shrinkray_gpu.reduction.size import tokens
from tests.passes.offers import offered, program, results

HEAD = "@triton.jit\ndef k(out, x):\n"


def call(asm: str, constraints: str, inputs: str, rest: str = "tl.int32, True, 1") -> str:
    return f'tl.inline_asm_elementwise("{asm}", "{constraints}", [{inputs}], {rest})'


def test_an_input_goes_with_its_constraint_and_its_number() -> None:
    text = HEAD + f"    y = {call('add $0, $2, $1; add $0, $0, $3;', '=f,r,f,r', 'a, b, c')}\n"
    want = HEAD + f"    y = {call('add $0, $0, $1; add $0, $0, $2;', '=f,r,r', 'a, c')}\n"
    assert offered(assembly.find, text, want)


def test_an_operand_stays_where_none_of_its_kind_is_left() -> None:
    text = HEAD + f"    y = {call('cvt.rs $0, $1, $2, $3;', '=h,f,f,r', 'a, b, c')}\n"
    one = HEAD + f"    y = {call('cvt.rs $0, $1, $1, $2;', '=h,f,r', 'b, c')}\n"
    other = HEAD + f"    y = {call('cvt.rs $0, $1, $1, $2;', '=h,f,r', 'a, c')}\n"
    assert offered(assembly.find, text, one) and offered(assembly.find, text, other)
    assert len(results(assembly.find, text)) == 2


def test_all_inputs_at_once_and_what_only_they_used() -> None:
    text = HEAD + f"    a = tl.load(x)\n    y = {call('cvt $0, $1, ${2:x};', '=r,r,r', 'a, 0')}\nk[(1,)](s, t)\n"
    want = f"@triton.jit\ndef k(out):\n    y = {call('cvt $0, $0, ${0:x};', '=r', '')}\nk[(1,)](s)\n"
    assert offered(assembly.find, text, want)


def test_several_registers_of_one_input() -> None:
    text = HEAD + f"    y = {call('m $0, $1, $2, $3, $4;', '=r,r,r,f,f', 'a, b')}\n"
    want = HEAD + f"    y = {call('m $0, $0, $0, $1, $2;', '=r,f,f', 'b')}\n"
    assert offered(assembly.find, text, want)


def test_a_call_whose_inputs_cannot_be_told_apart_keeps_them() -> None:
    for constraints in ("=r,r", "r,r,r"):
        text = HEAD + f"    y = {call('m $0, $1;', constraints, 'a, b')}\n"
        assert not results(assembly.find, text)


def test_one_instruction_alone_and_one_less() -> None:
    text = HEAD + f"    y = {call('{ .reg .b16 t; cvt t, $1; mov $0, {t, t}; }', '=r,r', 'a')}\n"
    for asm in ("cvt t, $1;", "{ .reg .b16 t; cvt t, $1; }"):
        assert offered(assembly.find, text, HEAD + f"    y = {call(asm, '=r,r', 'a')}\n")


def test_a_print_for_a_store_and_what_only_the_store_used() -> None:
    text = HEAD + "    rows = tl.arange(0, 4)\n    tl.store(out + rows, f(x), mask=rows < 3)\nk[(1,)](s, t)\n"
    want = '@triton.jit\ndef k(x):\n    tl.device_print("", f(x))\nk[(1,)](t)\n'
    assert offered(outlets.find, text, want)


def test_a_store_that_leaves_something_behind_is_no_longer_than_a_print() -> None:
    text = HEAD + "    tl.store(x, tl.load(x))\n"
    assert not any("print" in after for after in results(outlets.find, text))


def test_a_tile_is_printed_as_it_is_where_only_a_store_asked_for_one_number() -> None:
    for reduced in ("tl.sum({})", "tl.max({}, axis=0)", "tl.min(tl.sum({}, 1))"):
        text = HEAD + f"    tl.store(x, {reduced.format('tl.load(x + tl.arange(0, 4))')})\n"
        want = HEAD + '    tl.device_print("", tl.load(x + tl.arange(0, 4)))\n'
        assert offered(outlets.find, text, want)


def test_what_only_the_reduction_used_goes_with_it() -> None:
    text = HEAD + "    axis = f()\n    tl.store(out, tl.sum(tl.load(x), axis))\nk[(1,)](s, t)\n"
    want = '@triton.jit\ndef k(x):\n    tl.device_print("", tl.load(x))\nk[(1,)](t)\n'
    assert offered(outlets.find, text, want)


def test_the_gain_of_a_print_is_what_it_takes_away() -> None:
    for value in ("tl.load(x, m, 0)", "tl.sum(tl.load(x))", "tl.sum(tl.max(tl.load(x), 1), axis=0)", "f(x)"):
        start = program(HEAD + f"    tl.store(out, {value})\nk[(1,)](s, t)\n")
        for edit in outlets.find(start):
            assert 0 < edit.weight <= tokens(start.text) - tokens(render(start, [edit]).text)
