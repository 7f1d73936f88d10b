from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from shrinkray_gpu.evidence.ptxas import run_ptxas
from shrinkray_gpu.intermediate.search import Family
from shrinkray_gpu.ptx.edits import FAMILIES, functions, registers, slices, statements
from shrinkray_gpu.ptx.ptx_text import PtxModule, read, write
from tests.ptx.samples import CRASH, lines, tool

START = read(CRASH)


def keys(*words: str) -> list[int]:
    return [each.key for each in START if any(word in each.text for word in words)]


def after(family: Family[PtxModule], chosen: Sequence[Any]) -> list[str]:
    return list(lines(write(family.apply(START, chosen))))


def test_what_is_still_read_comes_in_as_a_parameter() -> None:
    text = after(statements.FAMILY, keys("ld.global", "add.f32"))
    assert "ld.param.b32 %r4, [in_r4];" in text and not any("%r1," in line for line in text)
    assert any(line.startswith(".visible .entry k(") and ".param .b32 in_r4)" in line for line in text)


def test_two_results_of_one_instruction_come_in_as_two_parameters() -> None:
    text = after(statements.FAMILY, keys("ld.global"))
    assert text.index("ld.param.b32 %r1, [in_r1];") + 1 == text.index("ld.param.b32 %r2, [in_r2];")


def test_a_predicate_that_is_read_stays_and_so_does_a_label() -> None:
    text = after(statements.FAMILY, keys("setp", "$L1"))
    assert "setp.lt.s32 %p1, %r99, %r9;" in text
    assert after(statements.FAMILY, [each.key for each in START if each.text == "$L1"]) == list(lines(write(START)))


def test_a_load_of_a_parameter_that_is_read_stays() -> None:
    assert after(statements.FAMILY, keys("ld.param.b32")) == list(lines(write(START)))


def test_a_store_goes_with_what_was_computed_for_it_alone() -> None:
    text = "\n".join(after(slices.FAMILY, keys("st.global", "ld.global")))
    assert "mul.wide" not in text and "[k_param_0]" not in text and "%r99" in text


def test_a_block_goes_without_what_is_in_it() -> None:
    (key,) = functions.BLOCKS.find(START)
    text = after(functions.BLOCKS, [key])
    assert text.count("{") == 1 and any("rsqrt" in line for line in text)


def test_a_guard_goes() -> None:
    text = after(statements.GUARDS, keys("bra"))
    assert "bra $L1;" in text and any(line.startswith("@%p1 ld.global") for line in text)


def test_registers_of_one_type_become_one_where_they_are_read() -> None:
    items = list(registers.MERGED.find(START))
    text = after(registers.MERGED, [item for item in items if item[1] in ("%r1", "%r2")])
    assert "add.f32 %r4, %r9, %r9;" in text
    assert after(registers.MERGED, [item for item in items if item[1].startswith("%rd")]) == list(lines(write(START)))


def test_headers_lose_what_nobody_reads() -> None:
    text = after(functions.HEADERS, list(functions.HEADERS.find(START)))
    assert any(line == ".visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)" for line in text)


def test_declarations_and_names() -> None:
    small = registers.RENAMED.apply(START, list(registers.RENAMED.find(START)))
    small = registers.DECLARED.apply(small, list(registers.DECLARED.find(small)))
    text = list(lines(write(small)))
    assert ".reg .b32 %r<7>;" in text and ".reg .b64 %rd<4>;" in text and "mov.u32 %r2, %tid.x;" in text


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_ptxas_still_takes_each_single_change(family: Family[PtxModule]) -> None:
    """A change must bring no error of its own, but for what it may not know: here a label and a variable are named."""
    start = read(CRASH.replace("rsqrt.approx.f32x2", "rsqrt.approx.f32"))
    for item in family.find(start):
        text = write(family.apply(start, [item]))
        run = run_ptxas(tool(), text, ["--gpu-name=sm_90a"], seconds=60)
        assert run.status == 0, f"{item}\n{run.said}\n{text}"


TWO = """\
.version 8.0
.target sm_90a
.address_size 64
.visible .entry a()
{
.reg .b32 %r<3>;
mov.b32 %r1, 4;
st.global.b32 [0], %r1;
}
.visible .entry b()
{
.reg .b32 %r<3>;
mov.b32 %r1, 5;
st.global.b32 [0], %r1;
}
"""


@pytest.mark.parametrize("other", [".b32", ".b64", ".f32"])
def test_a_register_of_another_function_is_another(other: str) -> None:
    module = read(TWO.replace(".b32", other, 3))
    text = write(statements.apply(module, [each.key for each in module if each.text == "mov.b32 %r1, 5"]))
    assert ".visible .entry b(.param .b32 in_r1)" in text and "ld.param.b32 %r1, [in_r1];" in text


@pytest.mark.parametrize(
    "reader", ["@%p1 ld.global.b32 {%r1}, [0]", "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32 {%r1}, %rd1, %rd2"]
)
def test_what_is_written_in_part_needs_its_first_value(reader: str) -> None:
    declared = ".reg .pred %p<2>;\n.reg .b64 %rd<3>;\n"
    module = read(TWO.replace("st.global.b32 [0], %r1", reader).replace(".reg .b32", declared + ".reg .b32"))
    (first,) = [each.key for each in module if each.text == "mov.b32 %r1, 5"]
    assert "ld.param.b32 %r1, [in_r1];" in write(statements.apply(module, [first]))


def test_an_accumulator_keeps_what_was_computed_for_it() -> None:
    wgmma = "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32 {%r1}, 1, 2;\nst.global.b32 [0], %r1"
    module = read(TWO.replace("st.global.b32 [0], %r1", wgmma))
    stores = [each.key for each in module if each.text.startswith("st.")]
    assert write(slices.apply(module, stores)).count("mov.b32 %r1") == 2
