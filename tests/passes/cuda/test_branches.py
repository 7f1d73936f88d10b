"""CUDA: a loop over a container, once."""

from __future__ import annotations

from shrinkray_gpu.cu.cu_program import program_of, text_of
from shrinkray_gpu.passes.cuda import cuda_branches
from shrinkray_gpu.reduction.rendering.render import render


def texts(source: str) -> list[str]:
    program = program_of(f"__global__ void k() {{}}\n{source}", "x.cu")
    made = [text_of(render(program, [edit])) for edit in cuda_branches.find(program)]
    return [" ".join(text.partition("k() {}")[2].split()) for text in made]


def test_a_loop_over_a_list_for_its_first_element_or_its_last() -> None:
    source = "void run() {\n const std::vector<P> ps{{1, 2}, {3, 4}};\n for (const P& p : ps) use(p);\n}\n"
    first, last, *_ = texts(source)
    assert first == "void run() { { const P p{1, 2}; use(p); } }"
    assert last == "void run() { { const P p{3, 4}; use(p); } }"
    first, *_ = texts("void run() {\n for (int n : {5, 6}) use(n);\n}\n")
    assert first == "void run() { { int n = 5; use(n); } }"


def test_a_list_that_is_read_elsewhere_stays() -> None:
    first, *_ = texts("void run() {\n int v[] = {5, 6};\n for (int n : v) use(n);\n use(v);\n}\n")
    assert first == "void run() { int v[] = {5, 6}; { int n = 5; use(n); } use(v); }"


def test_what_is_in_a_container_is_its_first_element() -> None:
    first, *_ = texts("void run(V& v) {\n for (auto& n : v.all) use(n);\n}\n")
    assert first == "void run(V& v) { { auto& n = v.all[0]; use(n); } }"


def test_a_block_whose_names_mean_something_around_it_stays() -> None:
    opens = "void run(int n) {\n { int m = 1; use(m); }\n use(n);\n}\n"
    assert "void run(int n) { int m = 1; use(m); use(n); }" in texts(opens)
    assert not any("{ int n = 1" not in text for text in texts(opens.replace("m", "n")))
    twice = texts("void run() {\n { int i = 1; a(i); }\n for (int i = 0; i < 2; ++i) b(i);\n { int i = 2; c(i); }\n}\n")
    assert any(text.startswith("void run() { int i = 1; a(i); for") for text in twice)
    assert all("{ int i = 2; c(i); }" in text for text in twice)


def test_a_macro_says_no_namespace_that_is_opened() -> None:
    source = "namespace a { struct E {}; }\n#define CHECK(x) if (x) throw ::a::E()\n"
    source += "void run() {\n CHECK(1);\n throw a::E();\n}\n"
    (text,) = (text for text in texts(source) if "namespace" not in text)
    assert text == "struct E {}; #define CHECK(x) if (x) throw E() void run() { CHECK(1); throw E(); }"


def test_a_loop_that_names_the_parts_of_an_element() -> None:
    first, *_ = texts("void run() {\n const P v[] = {{1, 2}, {3, 4}};\n for (const auto& [a, b] : v) use(a, b);\n}\n")
    assert "{ const auto& [a, b] = v[0]; use(a, b); }" in first
