from __future__ import annotations

import pytest

from shrinkray_gpu.evidence.ptxas import run_ptxas
from shrinkray_gpu.ptx import ptx_text
from shrinkray_gpu.ptx.operands import access, registers
from shrinkray_gpu.ptx.ptx_text import CODE, NotPtx, count, lines_of, pretty, read, write
from tests.ptx.samples import CRASH, lines, tool


def test_what_is_written_reads_the_same() -> None:
    module = read(CRASH)
    assert read(write(module)).statements == module.statements
    assert count(module) == 13
    kinds = {each.kind for each in module}
    assert kinds == {
        ptx_text.HEADER, ptx_text.VARIABLE, ptx_text.FUNCTION, ptx_text.OPEN, ptx_text.CLOSE, ptx_text.REGISTERS,
        ptx_text.NOTE, ptx_text.LABEL, ptx_text.CODE, ptx_text.SECTION,
    }  # fmt: skip


def test_ptxas_takes_what_is_written() -> None:
    module = read(CRASH.replace("rsqrt.approx.f32x2", "rsqrt.approx.f32"))
    for text in (write(module), pretty(module)):
        assert run_ptxas(tool(), text, ["--gpu-name=sm_90a"], seconds=60).status == 0


def test_a_line_names_its_statement() -> None:
    module = read(CRASH)
    (wanted,) = (each.key for each in module if "rsqrt" in each.text)
    line = next(n for n, text in enumerate(write(module).splitlines(), 1) if "rsqrt" in text)
    assert lines_of(module)[line] == wanted


def test_pretty_has_a_line_for_each_parameter() -> None:
    text = pretty(read(CRASH))
    assert ".param .u32 k_param_1" in lines(text) and ") .reqntid 128" in lines(text)
    assert read(text).statements == read(CRASH).statements


@pytest.mark.parametrize("text", ["add.s32 %r1, %r1, 1;", CRASH[: CRASH.index("ret;")], ".version 8.4\n.visible"])
def test_what_is_no_ptx(text: str) -> None:
    with pytest.raises(NotPtx):
        if read(text):
            raise NotPtx("an open block is no end")


@pytest.mark.parametrize(
    ("text", "reads", "writes"),
    [
        ("add.s32 %r1, %r2, 4", {"%r2"}, {"%r1"}),
        ("@!%p1 ld.global.v2.b32 {%r1, %r2}, [ %rd3 + 0 ]", {"%p1", "%rd3"}, {"%r1", "%r2"}),
        ("st.shared.v2.b32 [%r7], {%r8, %r9}", {"%r7", "%r8", "%r9"}, set()),
        ("mov.b64 %rd1, {%r1, %r2}", {"%r1", "%r2"}, {"%rd1"}),
        ("setp.lt.s32 %p1|%p2, %r1, %r2", {"%r1", "%r2"}, {"%p1", "%p2"}),
        ("bar.sync 0", set(), set()),
        ("mbarrier.try_wait.parity.shared.b64 p, [%r1], %r2", {"%r1", "%r2"}, {"p"}),
        ("mbarrier.init.shared::cta.b64 [%r1], 1", {"%r1"}, set()),
        ("call.uni (retval0), f, (param0)", {"f", "param0"}, {"retval0"}),
        ("@%p1 bra $L1", {"%p1", "$L1"}, set()),
        ("wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%f1,%f2}, %rd1, %rd2, 1", {"%rd1", "%rd2"},
         {"%f1", "%f2"}),
    ],
)  # fmt: skip
def test_reads_and_writes(text: str, reads: set[str], writes: set[str]) -> None:
    assert access(text).reads == reads and access(text).writes == writes


def test_registers_by_their_declarations() -> None:
    kinds = {name: kind for (_, name), kind in registers(read(CRASH)).items()}
    assert kinds["%r99"] == ".b32" and kinds["%rd3"] == ".b64" and kinds["%p1"] == ".pred" and kinds["t"] == ".b32"
    assert "%tid" not in kinds and "k_param_0" not in kinds


def test_a_block_may_declare_the_name_of_another_one_otherwise() -> None:
    body = "{{ .reg .b{0} %r<9>; mov.b{0} %r1, %r2; {{ .reg .b16 %r1; mov.b16 %r1, 0; }} mov.b{0} %r3, %r1; }}\n"
    module = read(".version 8.4\n" + "".join(f".visible .entry k{n}()\n{body.format(n)}" for n in (32, 64)))
    kinds = registers(module)
    found = [kinds[each.key, name] for each in module if each.kind == CODE for name in sorted(access(each.text).writes)]
    assert found == [".b32", ".b16", ".b32", ".b64", ".b16", ".b64"]
