"""Arrays in the place of vectors."""

from __future__ import annotations

from shrinkray_gpu.cu.cu_program import program_of, text_of
from shrinkray_gpu.passes.cuda import cuda_containers
from shrinkray_gpu.reduction.rendering.render import render


def arrays(*lines: str) -> list[str]:
    program = program_of("__global__ void k() {}\nvoid run(int n) {\n" + "\n".join(lines) + "\n}\n", "x.cu")
    texts = [text_of(render(program, [edit])) for edit in cuda_containers.find(program)]
    return [" ".join(text.partition("void run(int n) {")[2].rpartition("}")[0].split()) for text in texts]


def test_what_is_pushed_is_a_list() -> None:
    lines = ("std::vector<int> v;", "v.push_back(3);", "v.push_back(n);", "use(v.data(), v.size() * 4);")
    assert arrays(*lines) == ["int v[] = {3, n}; use(v, 2 * 4);"]


def test_a_size_is_an_allocation_of_zeros() -> None:
    assert arrays("std::vector<float> w(n * 2);", "use(w.begin(), w.end(), w[1], w.size());") == [
        "float* w = new float[n * 2](); use(w, w + n * 2, w[1], n * 2);"
    ]


def test_a_list_is_an_array() -> None:
    assert arrays("const std::vector<int> u{1, n};", "for (int x : u) use(x, u.front());") == [
        "int u[] = {1, n}; for (int x : u) use(x, u[0]);"
    ]


def test_a_vector_that_is_used_otherwise_stays() -> None:
    for use in ("use(v);", "v.resize(3);", "for (;;) v.push_back(1);", "v = w;"):
        assert arrays("std::vector<int> v(n);", use) == [], use
    assert arrays("std::vector<int> v;", "use(v.size());", "v.push_back(1);") == []


COPY = "cudaMemcpy(p, v.data(), v.size() * 4, cudaMemcpyHostToDevice);"


def cleared(body: str) -> list[str]:
    program = program_of(f"__global__ void k() {{}}\nvoid run(int n, int* p) {{\n{body}}}\n", "x.cu")
    edits = [each for each in cuda_containers.find(program) if each.what.startswith("clearing")]
    return [" ".join(text_of(render(program, [each])).partition("k() {}")[2].split()) for each in edits]


def test_a_copy_of_zeros_is_a_clearing() -> None:
    for made in ("v(n + 1)", "v(n + 1, 0)", "v(n + 1, 0.0f)"):
        text = "void run(int n, int* p) { cudaMemset(p, 0, (n + 1) * 4); }"
        assert cleared(f"std::vector<float> {made};\n{COPY}\n") == [text], made


def test_one_that_holds_something_or_is_read_on_the_host_is_copied() -> None:
    assert cleared(f"std::vector<float> v(n, 1);\n{COPY}\n") == []
    assert cleared(f"std::vector<float> v(n);\nv[2] = 1;\n{COPY}\n") == []
    assert cleared(f"std::vector<float> v(n);\n{COPY}\nuse(v);\n") == []
    assert cleared("std::vector<float> v(n);\nint m = v.size();\n") == []
    assert cleared(f"std::vector<float> v(n);\n{COPY.replace('HostToDevice', 'DeviceToHost')}\n") == []
