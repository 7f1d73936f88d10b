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
