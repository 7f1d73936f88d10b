"""Reading a script as Python does, and what a Program knows of itself."""

from __future__ import annotations

import ast
import pickle
from pathlib import Path

import libcst as cst
import pytest

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.reduction.program import Program, Region, normalise, read_program
from tests.reduction.any_edits import NASTY


@pytest.fixture
def read(tmp_path: Path):  # type: ignore[no-untyped-def]
    def read(data: bytes) -> Program:
        path = tmp_path / "script.py"
        path.write_bytes(data)
        return read_program(path)

    return read


@pytest.mark.parametrize("path", NASTY, ids=lambda path: path.name)
def test_the_normal_form_means_the_same(path: Path) -> None:
    program = read_program(path)
    assert ast.dump(ast.parse(program.text)) == ast.dump(ast.parse(path.read_bytes()))
    assert ast.dump(ast.parse(program.text.encode())) == ast.dump(ast.parse(program.text))
    assert "\r" not in program.text and program.text.endswith("\n") and "\ufeff" not in program.text
    assert normalise(program.text) == program.text
    assert program.module.code == program.text


@pytest.mark.parametrize("path", NASTY, ids=lambda path: path.name)
def test_spans_are_characters_of_the_text(path: Path) -> None:
    program = read_program(path)
    names = [node for node in program.spans if isinstance(node, cst.Name | cst.SimpleString | cst.Integer)]
    assert names
    for node in names:
        first, last = program.spans[node]
        assert program.text[first:last] == node.value


def test_cookies_are_obeyed_and_rewritten(read) -> None:  # type: ignore[no-untyped-def]
    program = read("# -*- coding: latin-1 -*-\nx = 'é'\n".encode("latin-1"))
    assert program.text == "# -*- coding: utf-8 -*-\nx = 'é'\n"
    assert read(b"#!/bin/sh\n# vim: fileencoding=cp1252\nx = '\x80'\n").text == (
        "#!/bin/sh\n# vim: fileencoding=utf-8\nx = '€'\n"
    )
    assert read(b"x = 1\n\n# coding: latin-1\n").text == "x = 1\n\n# coding: latin-1\n"


def test_form_feeds_outside_strings_are_layout(read) -> None:  # type: ignore[no-untyped-def]
    program = read(b"if a:\n  \x0c    b\n\x0c\nx = 'c\x0cd'\x0c+ 1  # e\x0cf\n")
    assert program.text == "if a:\n    b\n\nx = 'c\x0cd' + 1  # e f\n"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"def f(:\n", "not Python"),
        (b"# coding: nonsense\n", "not a Python source file"),
        (b"x = '\xff'\n", "not a Python source file"),
        (b"x = '\x00'\n", "not (a )?Python"),  # from 3.14 on it is its tokenizer that refuses it
        (b"\xef\xbb\xbf# coding: latin-1\n", "not a Python source file"),
    ],
)
def test_what_is_not_python_is_told_in_one_line(read, data: bytes, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UsageError, match=words) as caught:
        read(data)
    assert "\n" not in str(caught.value) and "script.py" in str(caught.value)


def test_what_libcst_cannot_parse_is_told_too(read) -> None:  # type: ignore[no-untyped-def]
    """Both are Python: libcst 1.9 knows no parentheses around an annotated target, and wants a space after `in`."""
    for source in (b"(x): int = 1\n", b"a in(b if c else d)\n"):
        with pytest.raises(UsageError, match="libcst cannot parse it"):
            read(source)


def test_an_unknown_cookie_in_a_candidate_is_no_error() -> None:
    assert Program.from_text("# coding: nonsense\n").text == "# coding: utf-8\n"


def test_a_missing_file_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        read_program(tmp_path / "nowhere.py")
    with pytest.raises(UsageError, match="cannot be read"):
        read_program(tmp_path)


def test_the_key_is_blind_to_comments_and_layout() -> None:
    program = Program.from_text("x = f(1,\n      2)  # hello\n")
    assert program.key == Program.from_text("# other\nx=f( 1, 2 )").key
    assert program.key != Program.from_text("x = f(1, 3)").key
    assert program.key != Program.from_text("x = f(1, '2')").key
    assert Program.from_text("x = = 1").key != Program.from_text("x = = 2").key
    other = Program((Region("m.py", "y = 1\n"),))
    assert Program((*program.regions, *other.regions)).key != program.key


def test_whether_it_parses() -> None:
    assert Program.from_text("x = 1").parses
    assert not Program.from_text("x = ").parses
    assert not Program((Region("a", "x = 1\n"), Region("b", "x =\n"))).parses
    assert Program((Region("a", "x = 1\n"), Region("b", "x =\n", language="cuda"))).parses


def test_nodes_have_identity_across_the_metadata() -> None:
    program = Program.from_text("def f(a):\n    return a\n")
    function = program.module.body[0]
    assert isinstance(function, cst.FunctionDef)
    assert program.module is program.module
    assert function in program.scopes and function in program.spans
    assert program.parents[function] is program.module
    assert program.text[slice(*program.spans[function])].startswith("def f") and "\n\n" not in program.text


def test_spans_leave_out_decorators_and_own_parentheses() -> None:
    program = Program.from_text("@d\ndef f(): pass\nx = (a + b)  # c\n")
    function, line = program.module.body
    assert program.text[slice(*program.spans[function])].startswith("def")
    assert isinstance(line, cst.SimpleStatementLine) and isinstance(line.body[0], cst.Assign)
    assert program.text[slice(*program.spans[line.body[0].value])] == "a + b"
    assert program.text[slice(*program.layout.outer[line.body[0].value])] == "(a + b)"
    assert program.text[slice(*program.layout.outer[function])].startswith("@d")


def test_a_program_is_a_value() -> None:
    program = Program.from_text("x = 1\n", "a.py")
    assert program == Program((Region("a.py", "x = 1\n"),))
    assert program.with_text("y = 2\n").regions == (Region("a.py", "y = 2\n"),)
    _ = program.layout
    assert pickle.loads(pickle.dumps(program.regions)) == program.regions
    assert Program.from_text("").text == "" and Program.from_text("").module.body == ()
