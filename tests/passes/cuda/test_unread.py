"""Members, variables and parameters that nothing reads, and what is left unread by their going."""

from __future__ import annotations

from shrinkray_gpu.passes.cuda import cuda_unreachable, cuda_unread
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.rendering.render import render

SCRIPT = '''
binding = "torch::Tensor run(torch::Tensor x, double scale, int64_t n);"
source = r"""
template <typename T>
struct Shared { T tile[8]; float unread; static constexpr int N = 8; };
struct Params { float* p; int n; float scale; };
template <typename T>
__device__ float at(Shared<T>* smem, const Params& params, int lane, float scale) {
  return params.p[lane];
}
template <typename T>
__global__ void kernel(Params params) {
  __shared__ Shared<T> smem;
  const int lane = threadIdx.x, other = blockIdx.x;
  const int warp = lane / 32;
  const float x = 0.5f;  // run has one, too
  const float scale = params.scale;
  const int counted = count(lane);
  params.p[lane] += at<T>(&smem, params, lane, scale);
}
torch::Tensor run(torch::Tensor x, double scale, int64_t n) {
  Params params;
  params.p = x.data_ptr<float>();
  kernel<float><<<1, n>>>(params);
  return x;
}
"""
module = load_inline(binding, source)
module.run(x, 0.5, 32)
'''


def test_all_at_once_and_each_sort_alone() -> None:
    program = Program.from_text(SCRIPT)
    whole, *alone = cuda_unread.find(program)
    assert [edit.what.rpartition(":")[0] for edit in alone] == [
        "remove unread members",
        "remove unread variables",
        "remove unread parameters",
    ]
    text = render(program, [whole]).text
    assert "float at(const Params& params, int lane)" in text
    assert "at(params, lane);" in text, "its template parameter is gone with the last thing that had its type"
    assert "smem" not in text and "struct Shared" in text, "definitions are for other passes"
    assert "struct Params { float* p; }" in " ".join(text.split())
    assert "warp" not in text and "float scale" not in text and "float x" not in text
    assert "count(lane)" in text, "a call may have an effect"
    assert "run(torch::Tensor x, int64_t n)" in text and text.count("double") == 0
    assert "module.run(x, 32)" in text
    assert "int64_t n);" in text, "the binding is another literal"
    assert Program.from_text(text).literals[0].tree.errors == 0
    assert [edit.what for edit in cuda_unread.find(Program.from_text(text))] == []


def test_what_python_names_is_read() -> None:
    program = Program.from_text(SCRIPT.replace("module.run(x", "unread.run(x"))
    (whole, *_) = cuda_unread.find(program)
    assert "float unread" in render(program, [whole]).text


def test_a_struct_goes_with_its_semicolon() -> None:
    program = Program.from_text("use(r'''\nstruct A { int n; };\n__global__ void k() {}\n''', 'k')\n")
    (edit, *_) = cuda_unreachable.find(program)
    assert render(program, [edit]).text == "use(r'''\n__global__ void k() {}\n''', 'k')\n"


def test_of_several_in_one_declaration_the_unread_go() -> None:
    source = "void run(int n) {\n  Buffer<int> a(n), b(n);\n  int x = 1, y = 2, *z;\n  z = 0;\n  use(b, y);\n}\n"
    program = Program.from_text(f"use(r'''\n__global__ void k() {{}}\n{source}''', 'run')\n")
    (whole, *_) = cuda_unread.find(program)
    text = " ".join(render(program, [whole]).text.split())
    assert "Buffer<int> b(n); int y = 2; use(b, y);" in text
