"""CUDA: a function called once gives way to its body."""

from __future__ import annotations

import pytest

from shrinkray_gpu.cu.cu_program import program_of, text_of
from shrinkray_gpu.passes.cuda import cuda_inlining
from shrinkray_gpu.reduction.rendering.render import render


def texts(source: str) -> list[str]:
    program = program_of(f"__global__ void k() {{}}\n{source}", "x.cu")
    made = [text_of(render(program, [edit])) for edit in cuda_inlining.find(program)]
    return [" ".join(text.partition("k() {}")[2].split()) for text in made]


def test_the_variable_that_it_returns_has_its_new_name_from_the_start() -> None:
    source = (
        "static R pack(int n) {\n R made;\n made.total = n;\n return made;\n}\nvoid run() {\n const R r = pack(3);\n}\n"
    )
    assert texts(source) == ["void run() { R r; r.total = 3; }"]


def test_what_else_it_returns_is_put_where_it_was_called() -> None:
    source = "int twice(int n) {\n note(n);\n return 2 * n;\n}\nvoid run() {\n int r = twice(3);\n}\n"
    assert texts(source) == ["void run() { note(3); int r = 2 * 3; }"]


def test_of_a_template_the_arguments_are_put_in_and_one_that_the_compiler_finds_is_left() -> None:
    template = "template <typename T, int N>\nvoid fill(int n) {\n A<T> a;\n T x(n);\n a.put(x, N);\n}\n"
    plain = texts(template + "void run() {\n fill<float, 4>(count);\n}\n")
    assert plain[-1] == "void run() { { A<float> a; float x(count); a.put(x, 4); } }"
    assert texts(template + "void run() {\n fill<float>(count);\n}\n") == []


def test_a_second_variable_of_the_same_declaration_stays() -> None:
    source = (
        "static R pack(int n) {\n R made;\n made.total = n;\n return made;\n}\nvoid run() {\n R a, r = pack(3);\n}\n"
    )
    assert texts(source) == ["void run() { R made; made.total = 3; R a, r = made; }"]


def test_the_one_instance_of_a_template_is_a_plain_function() -> None:
    template = "template <typename T, int N>\n__global__ void fill(T* at) {\n at[N] = T(1);\n}\n"
    source = f"{template}void run() {{\n fill<float, 4><<<1, 1>>>(x);\n fill<float, 4><<<2, 1>>>(y);\n}}\n"
    program = program_of(source, "x.cu")
    (edit,) = cuda_inlining.find_instances(program)
    assert " ".join(text_of(render(program, [edit])).split()) == (
        "__global__ void fill(float* at) { at[4] = float(1); } void run() { fill<<<1, 1>>>(x); fill<<<2, 1>>>(y); }"
    )
    for other in ("fill<int, 4><<<2", "fill<float><<<2", "fill<<<2"):
        assert not [*cuda_inlining.find_instances(program_of(source.replace("fill<float, 4><<<2", other), "x.cu"))]


@pytest.mark.parametrize(
    ("parameter", "declared", "argument", "deduced"),
    [
        ("const std::vector<T>& in", "std::vector<long> a(3), b", "b", "long"),
        ("T* in", "const unsigned n = 1; float x, *p", "p", "float"),
        ("T in", "struct Plus {}", "Plus{}", "Plus"),
        ("const T* in", "const float* p", "p", "float"),
        ("const T* in", "float* p", "p", "float"),
        ("T* in", "const float* p", "p", "const float"),
        ("T* in", "auto p = made()", "p", ""),
        ("T* in", "std::vector<float> p", "p", ""),
        ("T in", "float p[3]", "p", ""),
        ("T in", "", "p.x", ""),
    ],
)
def test_an_argument_of_a_template_is_read_off_what_the_function_is_given(
    parameter: str, declared: str, argument: str, deduced: str
) -> None:
    source = f"template <int N, class T>\nvoid fill({parameter}) {{\n T x = N;\n}}\n"
    source += f"void run() {{\n {declared};\n fill<4>({argument});\n fill<4>({argument});\n}}\n"
    program = program_of(source, "x.cu")
    edits = [*cuda_inlining.find_instances(program)]
    if not deduced:
        assert not edits
        return
    text = " ".join(text_of(render(program, edits)).split())
    assert text.startswith(f"void fill({parameter.replace('T', deduced)}) {{ {deduced} x = 4; }}")
    assert text.endswith(f"fill({argument}); fill({argument}); }}")


def test_what_a_constructor_begins_with_calls_on() -> None:
    """No statement can stand before its list."""
    source = "int f(int n) {\n note(n);\n return n;\n}\nstruct A {\n int n;\n A(int k) : n(f(k)) {}\n};\n"
    assert texts(source) == []


def test_an_instance_by_a_parameter_of_the_caller_stays() -> None:
    source = """
    template <typename Op> float inner(float x, Op op) { return op(x) + Op::n; }
    template <typename Op> float outer(float x, Op op) { return inner<Op>(x, op); }
    int main() { outer<Plus>(1, Plus{}); }
    """
    program = program_of(f"__global__ void k() {{}}\n{source}", "x.cu")
    whats = [edit.what for edit in cuda_inlining.find_instances(program)]
    assert whats == ["the one instance of outer"]


def test_a_parameter_that_is_written_is_a_variable_of_its_own() -> None:
    """The caller goes on with its own."""
    source = "int mixed(int key) {\n key ^= 3;\n return key;\n}\n"
    source += "void run(int key) {\n int at = mixed(key);\n use(key, at);\n}\n"
    assert texts(source) == ["void run(int key) { int key2 = key; key2 ^= 3; int at = key2; use(key, at); }"]


def test_a_variable_of_it_is_no_other_of_the_caller() -> None:
    source = "int f(int n) {\n int sum = g(n);\n note(sum);\n return sum + 1;\n}\n"
    source += "void run(int sum) {\n if (sum) {\n int r = f(sum);\n use(r);\n }\n}\n"
    assert texts(source) == [
        "void run(int sum) { if (sum) { int sum2 = g(sum); note(sum2); int r = sum2 + 1; use(r); } }"
    ]
    several = "void run() {\n int a = f(1);\n int b = h(2);\n use(a, b);\n}\n"
    two = "int f(int n) {\n int s = g(n);\n return s + 1;\n}\nint h(int n) {\n int s = g(n);\n return s + 2;\n}\n"
    program = program_of(f"__global__ void k() {{}}\n{two}{several}", "x.cu")
    made = " ".join(text_of(render(program, [*cuda_inlining.find(program)])).split())
    assert "int s = g(1); int a = s + 1; int s2 = g(2); int b = s2 + 2;" in made
