"""What is for a .cu alone: the whole made flat in a step, and what a kernel is given."""

from __future__ import annotations

import pytest

from shrinkray_gpu.cu.cu_program import program_of, text_of
from shrinkray_gpu.passes.cuda import (
    cuda_flattening,
    cuda_inlining,
    cuda_inputs,
    cuda_parameters,
    cuda_reports,
    cuda_unread,
)
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.rendering.render import render

OWNED = """
#include <vector>
#define WIDTH 4
template <typename T>
class Buffer {
 public:
  explicit Buffer(size_t count) : count_(count) { cudaMalloc(&data_, count_ * sizeof(T)); }
  explicit Buffer(const std::vector<T>& host) : Buffer(host.size()) {
    cudaMemcpy(data_, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice);
  }
  Buffer(const Buffer&) = delete;
  ~Buffer() { cudaFree(data_); }
  T* get() const { return data_; }
 private:
  size_t count_;
  T* data_ = nullptr;
};
struct Shape { int rows = 2; std::vector<int> sizes; };
static int twice(int n) { return n * 2; }
static void unused() {}
__global__ void gather(const float* in, const int* at, float* out, int count) {
  const int first = at[threadIdx.x];
  if (first < count) out[threadIdx.x] = in[at[first]];
}
int main() {
  Shape shape;
  for (int i = 0; i < 8; ++i) shape.sizes.push_back(i);
  Buffer<int> at(shape.sizes);
  Buffer<float> in(twice(shape.rows)), out(twice(3));
  gather<<<1, WIDTH>>>(in.get(), at.get(), out.get(), shape.rows);
  if (cudaError_t error = cudaDeviceSynchronize()) {
    return 1;
  }
  shape.sizes.clear();
}
"""


def flat(text: str) -> str:
    return " ".join(text.split())


def test_classes_functions_macros_and_what_is_behind_the_report_go_in_one_step() -> None:
    program = program_of(OWNED, "x.cu")
    whole, *shorter = cuda_flattening.find(program)
    made = flat(text_of(render(program, [whole])))
    for gone in ("Buffer", "Shape", "twice", "WIDTH", "unused", "clear"):
        assert gone not in made, made
    assert "cudaMemcpy(at_data, shape_sizes.data()," in made and "<<<1, 4>>>(in_data, at_data, out_data," in made
    sizes = [render(program, [edit]).size.tokens for edit in (whole, *shorter)]
    assert sizes[0] < min(sizes[1:]) and max(sizes) < program.size.tokens


def test_a_script_keeps_what_it_may_call() -> None:
    script = Program.from_text(f"source = r'''{OWNED}'''\nrun(source)\n")
    assert script.literals and not [*cuda_flattening.find(script)] and not [*cuda_inputs.find(script)]


def without(source: str, name: str) -> list[str]:
    program = program_of(source, "x.cu")
    edits = [each for each in cuda_inputs.find(program) if each.what.endswith(f" {name}")]
    return [flat(text_of(render(program, [each]))) for each in edits]


KERNEL = """
struct Pair { int a, b; };
__global__ void gather(const float* in, const int* at, const Pair* pairs, float* out, int count) {
  const Pair pair = pairs[threadIdx.x];
  for (int i = 0; i < count; ++i) out[i] = in[at[i]] + __ldg(in + pair.a);
}
int main() { gather<<<1, 1>>>(in, at, pairs, out, count); }
"""


def test_what_is_read_is_nothing_and_what_is_written_is_not() -> None:
    (made, _) = without(KERNEL, "out")
    assert "for (int i = 0; i < count; ++i) {}" in made or "i < count; ++i) ;" in made, made
    assert "gather<<<1, 1>>>(in, at, pairs, count)" in made
    (made,) = without(KERNEL, "in")
    assert "out[i] = 0 + 0;" in made and "gather(const int* at," in made
    (made,) = without(KERNEL, "pairs")
    assert "const Pair pair = {};" in made
    (made,) = without(KERNEL, "count")
    assert "i < 1;" in made


def test_an_index_that_came_from_memory_becomes_its_place_only_within_another_index() -> None:
    nothing, place = without(KERNEL, "at")
    assert "in[0]" in nothing and "in[i]" in place
    (alone,) = without(KERNEL.replace("in[at[i]]", "in[0] + at[i]"), "at")
    assert "in[0] + 0" in alone


@pytest.mark.parametrize("use", ["f(in);", "const float* p = in + 1; out[0] = *p;", "float x = (&in[1])[0];"])
def test_a_pointer_that_is_passed_on_stays(use: str) -> None:
    assert not without(KERNEL.replace("const Pair pair", f"{use} const Pair pair"), "in")


def test_a_constructor_that_is_deleted_takes_no_arguments_from_the_others() -> None:
    program = program_of(OWNED.replace("Shape shape;", "int nobody = 0; Shape shape;"), "x.cu")
    for module in (cuda_unread, cuda_parameters):
        made = [flat(text_of(render(program, [each]))) for each in module.find(program)]
        assert made and all("Buffer(size_t count)" in each or "class Buffer" not in each for each in made)


def test_memory_that_nothing_reads_goes_with_what_fills_it() -> None:
    source = """
    int main() {
      std::vector<int> host;
      for (int i = 0; i < 9; ++i) host.push_back(i);
      int* data; float* out;
      cudaMalloc(&data, host.size() * 4);
      cudaMemcpy(data, host.data(), host.size() * 4, cudaMemcpyHostToDevice);
      cudaMalloc((void**)&out, 4);
      kernel<<<1, 1>>>(out);
      cudaFree(data);
    }
    """
    assert unread(source) == "int main() { float* out; cudaMalloc((void**)&out, 4); kernel<<<1, 1>>>(out); }"
    outside = source.replace("for (int i = 0; i < 9", "int i = 0; for (; i < 9").replace("(out);", "(out, i);")
    assert "i < 9" in unread(outside)
    assert "next()" in unread(source.replace("host.push_back(i)", "host.push_back(next())"))


def unread(source: str) -> str:
    program = program_of(source, "x.cu")
    return flat(text_of(render(program, [next(iter(cuda_unread.find(program)))])))


def test_a_short_function_goes_wherever_it_is_called() -> None:
    source = "int pitch(int n) { return n + 1; }\nint main() { int a = pitch(2 * b); return pitch(a) * 4; }\n"
    program = program_of(source, "x.cu")
    (edit,) = cuda_inlining.find(program)
    assert flat(text_of(render(program, [edit]))) == "int main() { int a = (2 * b) + 1; return (a + 1) * 4; }"


def test_what_is_behind_a_report_that_leaves_is_never_run() -> None:
    source = """
    int main() {
      for (int i = 0; i < 2; ++i) {
        kernel<<<1, 1>>>();
        if (cudaError_t error = cudaDeviceSynchronize()) { exit(2); }
        more();
      }
      rest();
    }
    """
    program = program_of(source, "x.cu")
    (edit,) = cuda_reports.find_behind(program)
    made = text_of(render(program, [edit]))
    assert "more" not in made and "rest" not in made and "exit(2)" in made
    left = source.replace("exit(2);", "count++;")
    assert not [*cuda_reports.find_behind(program_of(left, "x.cu"))]
    returns = [each for each in cuda_reports.find(program) if each.what.startswith("return for exit")]
    assert [flat(text_of(render(program, [each]))).count("{ return 2; }") for each in returns] == [1]
