"""CUDA: a variable is declared where it gets its first value."""

from __future__ import annotations

from shrinkray_gpu.cu.cu_program import program_of, text_of
from shrinkray_gpu.passes.cuda import cuda_constants
from shrinkray_gpu.reduction.rendering.render import render


def texts(source: str) -> list[str]:
    program = program_of(f"__global__ void k() {{}}\n{source}", "x.cu")
    made = [text_of(render(program, [edit])) for edit in cuda_constants.find(program)]
    return [" ".join(text.partition("k() {}")[2].split()) for text in made]


def test_a_variable_is_declared_where_it_is_set() -> None:
    assert texts("void run() {\n int *p, n;\n note();\n n = 3;\n use(&n);\n}\n") == [
        "void run() { int *p; note(); int n = 3; use(&n); }"
    ]


def test_one_that_is_read_before_or_set_in_another_block_stays() -> None:
    assert texts("void run() {\n int n;\n use(&n);\n n = 3;\n use(&n);\n}\n") == []
    assert texts("void run() {\n int n;\n { n = 3; }\n use(&n);\n}\n") == []


def test_a_macro_that_is_a_statement_is_put_where_one_stands() -> None:
    macro = "#define CHECK(x) do { if (x) fail(); } while (0)\n"
    assert texts(macro + "void run() {\n CHECK(f());\n}\n") == ["void run() { do { if (f()) fail(); } while (0); }"]
    assert texts(macro + "void run() {\n a(), CHECK(f());\n}\n") == []


def test_an_alias_of_several_words_stays_where_it_makes_a_value() -> None:
    assert texts("using Key = unsigned long;\nvoid run() {\n use(Key{1});\n}\n") == []
    assert texts("using Key = long;\nvoid run() {\n use(Key{1});\n}\n") == ["void run() { use(long{1}); }"]
    assert texts("using Key = unsigned long;\nvoid run(Key k) {}\n") == ["void run(unsigned long k) {}"]
