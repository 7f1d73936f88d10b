"""What may go of a folder: files with their mentions, and what stands in them by their language."""

from __future__ import annotations

import pytest

from shrinkray_gpu.folder import text_spans
from shrinkray_gpu.folder.families import families
from shrinkray_gpu.folder.mentions import without_mentions
from shrinkray_gpu.folder.tree import FileTree, size, written
from shrinkray_gpu.intermediate.search import IrSearch, TextForm

FAMILIES = {each.name: each for each in families()}


def tree(**files: str) -> FileTree:
    return FileTree({name.replace("_dot_", "."): text for name, text in files.items()})


def without(name: str, whole: FileTree) -> dict[str, str]:
    """With all that this family finds taken away at once."""
    family = FAMILIES[name]
    return family.apply(whole, list(family.find(whole))).texts


@pytest.mark.parametrize(
    ("path", "text", "gone", "left"),
    [
        ("a.cu", '#include "x/b.cuh"\n#include "bb.cuh"\nint a;\n', "x/b.cuh", '#include "bb.cuh"\nint a;\n'),
        ("CMakeLists.txt", "add_library(k src/a.cu src/b.cu)\n", "src/a.cu", "add_library(k src/b.cu)\n"),
        ("Makefile", "OBJS = build/a.o build/ba.o\n", "src/a.cu", "OBJS = build/ba.o\n"),
        ("Makefile", "build/a.o: src/b.cu\n", "src/a.cu", "build/a.o: src/b.cu\n"),
        ("m.py", "from p import q\nfrom p.a import b\nimport p.a\nx = 1\n", "p/a.py", "from p import q\nx = 1\n"),
        ("m.py", "from p import a, b\nfrom q import a\nx = a\n", "p/a.py", "from p import b\nfrom q import a\nx = a\n"),
        ("m.py", "from p import a  # noqa\nfrom p.a import (\n    c,\n)\n", "p/a.py", ""),
        ("m.py", "from p import q\nimport p\n", "p/__init__.py", ""),
        ("m.py", "from p import q\nx = 1\n", "p/q.txt", "from p import q\nx = 1\n"),
    ],
)
def test_a_file_goes_with_its_mentions(path: str, text: str, gone: str, left: str) -> None:
    assert without_mentions(path, text, [gone]) == left


def test_definitions_that_another_file_calls_are_within_reach() -> None:
    library, main = "void f() {}\nvoid g() {}\nvoid h() { g(); }\n", "void f();\nint main() { f(); }\n"
    whole = tree(a_dot_cpp=library, main_dot_cpp=main)
    left = without("cuda_unreachable 0", whole)
    assert left["a.cpp"].split() == ["void", "f()", "{}"] and "main" in left["main.cpp"]


def test_a_definition_goes_with_its_declaration_and_its_calls_in_other_files() -> None:
    header, main = "void f(int);\nvoid g();\n", '#include "a.h"\nint main() {\n  f(1);\n  g();\n}\n'
    whole = tree(a_dot_h=header, a_dot_cpp='#include "a.h"\nvoid f(int) {}\n', main_dot_cpp=main)
    family = FAMILIES["cuda_definitions 0"]
    found = [each for each in family.find(whole) if each.parts[0][1].what.endswith(" f")]
    left = family.apply(whole, found[:1]).texts
    assert left["a.h"] == "void g();\n" and "f(" not in left["main.cpp"] + left["a.cpp"] and "g();" in left["main.cpp"]


def test_comments_of_cpp_go() -> None:
    whole = tree(a_dot_cpp="// one\nint x; /* two */\n", b_dot_h="int y;\n")
    assert without("cuda_layout 0", whole)["a.cpp"].split() == ["int", "x;"]


def test_statements_of_cpp_and_python_go_by_their_grammar() -> None:
    kernel, function = "__global__ void k(int *a) {\n  if (a) { *a = 1; }\n}\n", "def f():\n    x = 1\n    return 2\n"
    whole = tree(a_dot_cu=kernel, b_dot_py=function)
    assert without("cuda_statements 0", whole) == {"a.cu": "__global__ void k(int *a) {\n}\n", "b.py": function}
    assert "x = 1" not in without("statements 1", whole)["b.py"]


def test_a_name_of_python_goes_in_all_files_that_import_it() -> None:
    library, init = "def f():\n    return 1\n\n\ndef g():\n    return 2\n", "from a import f, g\n"
    whole = tree(a_dot_py=library, init_dot_py=init, test_dot_py="from a import f\n\nassert f() == 1\nassert True\n")
    family = FAMILIES["names of several files"]
    (found,) = (each for each in family.find(whole) if " f and" in each.parts[0][1].what)
    left = family.apply(whole, [found]).texts
    assert left == {
        "a.py": "\n\ndef g():\n    return 2\n",
        "init.py": "from a import g\n",
        "test.py": "assert True\n",
    }


@pytest.mark.parametrize("text", ["def f():\n    x = 1", "def f():\r\n    x = 1\r\n"])
def test_python_with_any_line_ends_goes_by_its_grammar(text: str) -> None:
    assert "x" not in without("statements 0", tree(a_dot_py=text))["a.py"]


def test_blank_lines_go_in_all_languages() -> None:
    whole = tree(a_dot_py="\n\nx = 1\n", b_dot_cpp="\nint x;\n  \n", c_dot_txt="\nx\n")
    assert without("blanks", whole) == {"a.py": "x = 1\n", "b.cpp": "int x;\n", "c.txt": "x\n"}


def test_python_that_is_none_goes_by_lines() -> None:
    whole = tree(a_dot_py="print 'x'\n\ny\n", b_dot_py="x = 1\n")
    assert without("lines", whole) == {"a.py": "", "b.py": "x = 1\n"}


def test_spans_of_a_text() -> None:
    text = '{"a": [1, 2],\n "b": {}}\n\nend'
    assert [text[a:b] for a, b in text_spans.brackets(text)][1:] == [text[:-5], "1, 2", "[1, 2],", "{}"]
    assert [text[a:b] for a, b in text_spans.paragraphs(text)] == ['{"a": [1, 2],\n "b": {}}\n\n', "end"]
    assert text_spans.without("abcdef", [(1, 3), (2, 5)]) == "af"


def test_the_sum_of_all_files_falls_at_each_step_and_few_tries_do_for_what_is_unused() -> None:
    unused = {f"unused{number}_dot_txt": "line\n" * 9 for number in range(64)}
    whole = tree(a_dot_txt="one\nneedle\n(two)\n", **unused)
    sizes = [whole.bytes]
    search = IrSearch(
        TextForm(written, size),
        lambda each, _: (True, "needle" in "".join(each.texts.values())),
        families(),
        until=float("inf"),
        shown=lambda smaller, tally: sizes.append(smaller.bytes),
    )
    assert search.run(whole).texts == {"a.txt": "needle\n"}
    assert sizes == sorted(set(sizes), reverse=True) and search.tally.tries < 40
