"""What is IR, by suffix and by content, and which part of a file is the module."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.intermediate.ir_file import holds_ir, read_ir
from shrinkray_gpu.intermediate.pass_table import PassCall
from tests.intermediate.programs import LAID_OUT, SELECT

FOOTER = """
{-#
  external_resources: {
    mlir_reproducer: {
      pipeline: "builtin.module(cse, canonicalize)",
      disable_threading: false,
      verify_each: true
    }
  }
#-}
"""


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("a.ttir", "", True),
        ("a.mlir", "anything", True),
        ("crash.log", f"INFO one\n{SELECT}{FOOTER}RuntimeError\n", True),
        ("dump.txt", LAID_OUT, True),
        ("a.py", f'IR = """\n{SELECT}"""\n', False),
        ("a.txt", "module of mine {\n", False),
    ],
)
def test_by_suffix_or_content(tmp_path: Path, name: str, text: str, wanted: bool) -> None:
    assert holds_ir(written(tmp_path, name, text)) == wanted


def test_a_file_that_is_not_there_is_ir_by_its_suffix_only() -> None:
    assert holds_ir(Path("gone.ttir")) and not holds_ir(Path("gone.log"))


def test_a_module_alone(tmp_path: Path) -> None:
    found = read_ir(written(tmp_path, "a.mlir", SELECT))
    assert found.text.strip() == SELECT.strip() and found.passes == () and found.kind == "ttir"


def test_aliases_and_attributes_belong_to_it(tmp_path: Path) -> None:
    found = read_ir(written(tmp_path, "a.log", f"words {'{'}\n{LAID_OUT}#loc1 = loc(unknown)\nmore\n"))
    assert found.text == f"{LAID_OUT}#loc1 = loc(unknown)\n" and found.kind == "ttgir"


def test_a_log_with_two_stages_is_read_from_its_last(tmp_path: Path) -> None:
    log = f"one\n{SELECT}{FOOTER}two\n{LAID_OUT}{FOOTER.replace('cse, ', '')}RuntimeError: PassManager::run failed\n"
    found = read_ir(written(tmp_path, "a.log", log))
    assert found.text == LAID_OUT and [call.name for call in found.passes] == ["canonicalize"]


def test_a_run_line_names_the_passes(tmp_path: Path) -> None:
    found = read_ir(written(tmp_path, "a.mlir", f"// RUN: triton-opt %s -cse | FileCheck %s\n{SELECT}"))
    assert [call.name for call in found.passes] == ["cse"]


def test_run_lines_that_agree_or_run_no_passes(tmp_path: Path) -> None:
    text = (
        "// RUN: mlir-opt %s -canonicalize | FileCheck %s\n"
        "// RUN: triton-opt %s -cse \\\n// RUN:   -sccp | FileCheck %s\n"
        "// RUN: triton-opt %s -cse -sccp | FileCheck %s --check-prefix=B\n"
    )
    found = read_ir(written(tmp_path, "a.mlir", text + SELECT))
    assert [call.name for call in found.passes] == ["cse", "sccp"]


def test_passes_that_are_given_stand_for_those_of_the_file(tmp_path: Path) -> None:
    two = "// RUN: triton-opt %s -cse\n// RUN: triton-opt %s -sccp\n"
    assert read_ir(written(tmp_path, "a.mlir", two + SELECT), (PassCall("cse"),)).passes == (PassCall("cse"),)


def test_the_mark_of_a_dump_splits_nothing(tmp_path: Path) -> None:
    mark = "// -----// IR Dump Before CSE (cse) //----- //\n"
    assert read_ir(written(tmp_path, "a.log", mark + SELECT + mark + LAID_OUT)).text == LAID_OUT
    assert (
        read_ir(written(tmp_path, "a.mlir", f"// a test\n// -----\n{SELECT}// -----\n")).text.strip() == SELECT.strip()
    )


def test_functions_without_a_module(tmp_path: Path) -> None:
    text = "tt.func @f() {\n  tt.return\n}\n"
    assert read_ir(written(tmp_path, "a.mlir", text)).text == text


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.mlir", b"def f(): pass\n", "holds no module"),
        ("a.mlir", b"", "holds no module"),
        ("a.mlir", SELECT[:200].encode(), "cut short"),
        ("a.mlir", b"\xff\xfe\x00module {", "no text"),
        ("a.llir", b"define void @f() {}", "behind its passes"),
        ("a.mlir", f"// RUN: triton-opt %s -a='b\n{SELECT}".encode(), "cannot be read"),
        ("a.mlir", f"// RUN: triton-opt %s -a\n// RUN: triton-opt %s -b\n{SELECT}".encode(), "to run with --pass"),
        ("a.mlir", f"{SELECT}// -----\n{LAID_OUT}".encode(), "2 tests, with // ----- between them: split it"),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(UsageError, match=message) as raised:
        read_ir(path)
    assert "\n" not in str(raised.value)
