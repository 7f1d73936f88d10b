"""Of a CUDA source, what the host's compiler needs: the same text for candidates that differ in their kernels only."""

from __future__ import annotations

import pytest

from shrinkray_gpu.runner.inside.cuda_cpp.host_source import host_side

KERNEL = "template <int N> __global__ void __launch_bounds__(N, 2) fill(float* p) { if (N) { p[0] = 1; } }"
HOST = "void run(float* p) { fill<4><<<1, 4>>>(p); }"


@pytest.mark.parametrize(
    ("source", "left"),
    [
        (KERNEL, "template <int N> __global__ void __launch_bounds__(N, 2) fill(float* p) {}"),
        (HOST, HOST),
        ("__device__ float one() { return 1; }\n" + HOST, HOST),
        ("namespace a::b {\n__device__ int f() { return 1; }\n" + HOST + "\n}", "namespace a::b { " + HOST + " }"),
        ('extern "C" __global__ void k(int* p) { *p = 1; }', 'extern "C" __global__ void k(int* p) {}'),
        ('extern "C" {\n__device__ void f() { g(); }\n}', 'extern "C" { }'),
        ("__device__ float table[] = {1, 2};", "__device__ float table[] = {1, 2};"),
        ("int a = 1'000; char b = '}'; auto c = R\"x(__device__ void f() {)x\";", None),
        ("__host__ __device__ int f() { return 1; }", None),
        ("__device__ constexpr int f() { return 1; }", None),
        ("struct S { __device__ int f() { return 1; } };", None),
        ("template <class T> struct S { int x = 1.5f; };", None),
        ("enum class E { a, b };", None),
    ],
)
def test_bodies_of_kernels_and_functions_of_the_device_go(source: str, left: str | None) -> None:
    assert " ".join(host_side(source).split()) == (source if left is None else left)


def test_directives_keep_their_lines_and_comments_go() -> None:
    source = "#define N \\\n  4  // four\n/* { */ int x;\n  #if N\nint y; // }\n#endif\n"
    assert host_side(source) == "\n#define N \\\n  4  // four\nint x;\n#if N\nint y;\n#endif\n"


def test_unbalanced_brackets_leave_all_of_it() -> None:
    source = "#ifdef A\n__global__ void f(int x) {\n#else\n__global__ void f() {\n#endif\n}\n"
    assert host_side(source).split() == source.split()
