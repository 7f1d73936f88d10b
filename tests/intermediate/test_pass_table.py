"""Passes by name: what a pipeline's text or a RUN: line asks for, and the binding's own functions for it."""

from __future__ import annotations

import pytest

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.intermediate.pass_table import PassCall, read_pass, read_pipeline, read_run_line
from tests.intermediate.conftest import Asked

FOOTER = (
    "builtin.module(tritongpu-coalesce, tritonamdgpu-accelerate-matmul{arch-generation-name=gfx942 kPack=2 "
    "matrix-instruction-size=16}, tt.func(tritonamdgpu-canonicalize-pointers{enable-large-tensor-ptr-canon=false}), "
    "canonicalize{  max-iterations=10 region-simplify=normal})"
)


def test_a_pipeline() -> None:
    calls = read_pipeline(FOOTER)
    assert [call.name for call in calls] == [
        "tritongpu-coalesce",
        "tritonamdgpu-accelerate-matmul",
        "tritonamdgpu-canonicalize-pointers",
        "canonicalize",
    ]
    assert calls[1].options == {"arch-generation-name": "gfx942", "kPack": "2", "matrix-instruction-size": "16"}


@pytest.mark.parametrize("text", ["builtin.module(cse", "builtin.module(cse{a=1", "a; b"])
def test_a_pipeline_that_is_cut_short_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        read_pipeline(text)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        (
            'triton-opt %s -split-input-file --tritongpu-pipeline="num-stages=4" -cse -o - 2>&1 | FileCheck %s -dump',
            [(PassCall("tritongpu-pipeline", {"num-stages": "4"}), PassCall("cse"))],
        ),
        ("triton-opt %s --pass-pipeline='builtin.module(cse)'", [(PassCall("cse"),)]),
        ("not --crash triton-opt %s -cse 2>&1 | FileCheck %s", [(PassCall("cse"),)]),
        ("A=1 /bin/triton-opt %s -cse | triton-opt -sccp", [(PassCall("cse"), PassCall("sccp"))]),
        ("triton-opt %s -cse && triton-opt %s -sccp", [(PassCall("cse"),), (PassCall("sccp"),)]),
        ("mlir-opt %s -canonicalize | triton-translate -x", []),
        ("split-file %s %t -x; FileCheck -dump < %s", []),
        ("mlir-translate -x 'it", []),
    ],
)
def test_a_run_line(line: str, wanted: list[tuple[PassCall, ...]]) -> None:
    assert list(read_run_line(line)) == wanted


def test_a_flag_is_read_as_it_is_written() -> None:
    for call in (PassCall("cse"), PassCall("tritongpu-pipeline", {"num-stages": "4", "dump": "true"})):
        assert read_run_line(f"triton-opt %s {call.flag()}") == ((call,),)


def test_a_pass_of_the_command_line() -> None:
    two = PassCall("tritongpu-pipeline", {"num-stages": "4", "dump": "true"})
    assert read_pass("tritongpu-pipeline=num-stages=4 dump=true") == (two,)
    assert read_pass('--tritongpu-pipeline="num-stages=4 dump=true"') == (two,)
    assert read_pass("pass-pipeline=builtin.module(cse, sccp)") == (PassCall("cse"), PassCall("sccp"))
    with pytest.raises(UsageError, match="4 is no option=value"):
        read_pass("tritongpu-pipeline=4")


def test_the_binding_says_what_its_passes_are_called(asked: Asked) -> None:
    table = asked.compiler.table
    assert {"canonicalize", "tritongpu-coalesce", "tritonamdgpu-canonicalize-pointers"} <= set(table.known)
    assert len(table.known) > 60
    step = table.step(read_pipeline(FOOTER)[1], "")
    assert step == ("amd.passes.ttgpuir", "add_accelerate_matmul", ("gfx942", 16, 2)), "in the order of the function"
    assert table.call(step) == read_pipeline(FOOTER)[1]


def test_what_a_run_line_leaves_out_is_the_target_s(asked: Asked) -> None:
    table = asked.compiler.table
    call = PassCall("convert-triton-to-tritongpu")
    assert table.step(call, "gfx942")[2] == ("hip:gfx942", 4, 64, 1)
    assert table.step(call, "sm_90")[2] == ("cuda:90", 4, 32, 1)


def test_another_release_s_name_for_the_architecture(asked: Asked) -> None:
    step = asked.compiler.table.step(PassCall("convert-triton-amdgpu-to-llvm", {"gfx-arch": "gfx950"}), "")
    assert step[2][0] == "gfx950"


def test_an_unknown_pass_is_one_line(asked: Asked) -> None:
    with pytest.raises(UsageError, match="has no pass tritongpu-coalesc .*did you mean tritongpu-coalesce"):
        asked.compiler.table.step(PassCall("tritongpu-coalesc"), "")
    with pytest.raises(UsageError, match="takes a number"):
        asked.compiler.table.step(PassCall("tritongpu-pipeline", {"num-stages": "many"}), "")


def test_a_pipeline_with_quotes_in_it_is_found() -> None:
    from shrinkray_gpu.runner.inside.intermediate.binding import pipeline_in

    assert pipeline_in(r'pipeline: "builtin.module(x{a=\"q r\" b=1})",') == 'builtin.module(x{a="q r" b=1})'
    assert pipeline_in("module {}") == ""
