"""What is for a .cu alone: the whole made flat in a step, and what a kernel is given."""

from __future__ import annotations

import pytest

from shrinkray_gpu.cu.cu_program import program_of, text_of
from shrinkray_gpu.passes.cuda import (
    cuda_command_line,
    cuda_containers,
    cuda_flattening,
    cuda_inlining,
    cuda_inputs,
    cuda_numbers,
    cuda_objects,
    cuda_owners,
    cuda_parameters,
    cuda_reports,
    cuda_sizes,
    cuda_struct_arguments,
    cuda_unreachable,
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


OWNERS = """
#include <memory>
struct Free { void operator()(void* p) const { cudaFree(p); } };
template <typename T>
using Owner = std::unique_ptr<T[], Free>;
template <typename T>
Owner<T> allocate(size_t n) { void* p; cudaMalloc(&p, n * sizeof(T)); return Owner<T>(static_cast<T*>(p)); }
int main() {
  std::unique_ptr<float, Free> one(make());
  auto more = allocate<float>(3);
  kernel<<<1, 1>>>(one.get(), more.get(), own->get());
}
"""


def test_owners_become_pointers() -> None:
    program = program_of(OWNERS, "x.cu")
    (edit,) = cuda_owners.find(program)
    made = flat(text_of(render(program, [edit])))
    assert "using Owner = T*;" in made and "float* one(make());" in made and "(one, more, own->get());" in made
    assert not [*cuda_owners.find(program_of(OWNERS.replace("kernel", "one.reset(); kernel"), "x.cu"))]
    (whole, *_) = cuda_flattening.find(program)
    assert "Free" not in text_of(render(program, [whole]))


def test_what_a_method_returns_within_a_statement_gets_a_name_first() -> None:
    source = """
    struct Solver {
      int steps;
      explicit Solver(int n) : steps(n) {}
      double solve() { double sum = 0; for (int i = 0; i < steps; ++i) sum += i; return sum; }
    };
    int main() { Solver solver(3); printf("%g", solver.solve() + 1); }
    """
    program = program_of(source, "x.cu")
    assert not [*cuda_objects.find(program)]
    (whole, *_) = cuda_flattening.find(program)
    made = flat(text_of(render(program, [whole])))
    summed = "double solve_value = 0; for (int i = 0; i < 3; ++i) solve_value += i;"
    assert made == f'int main() {{ {summed} printf("%g", solve_value + 1); }}'


def test_the_includes_that_nothing_needs_go_at_once() -> None:
    needed = ("cstdio", "cstring", "vector", "cub/cub.cuh", "own/thing.h", "algorithm")
    source = "".join(f"#include <{each}>\n" for each in ("cuda_runtime.h", "random", "string", "cstdlib", *needed))
    source += "int main() { std::vector<int> v; std::memcpy(&v, &v, std::max_element(v)); printf(0); }\n"
    program = program_of(source, "x.cu")
    (edit,) = cuda_unreachable.find_needless(program)
    left = text_of(render(program, [edit]))
    assert [line.split("<")[1][:-1] for line in left.splitlines() if "#" in line] == [*needed]
    assert not [*cuda_unreachable.find_needless(program_of(left, "x.cu"))]


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


def test_an_index_that_came_from_memory_becomes_its_place_only_where_it_leads_to_another_index() -> None:
    """As the last index it is another number: a product of a sparse matrix left its vector by the place in the table of
    columns, with the fix of the stride too."""
    nothing, place = without(KERNEL.replace("in[at[i]]", "in[other[at[i]]]"), "at")
    assert "in[other[0]]" in nothing and "in[other[i]]" in place
    for use, left in (("in[at[i]]", "in[0]"), ("in[0] + at[i]", "in[0] + 0")):
        (alone,) = without(KERNEL.replace("in[at[i]]", use), "at")
        assert left in alone


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


def test_a_part_stands_for_a_size_wherever_that_is_written_and_no_number_does() -> None:
    size = "std::max<size_t>(rows.size() * (wide + 31), 1) * sizeof(float)"
    source = f"int main() {{ cudaMalloc(&p, {size}); cudaMemset(p, 0, {size}); cudaMalloc(&q, 4 * sizeof(int)); }}\n"
    program = program_of(source, "x.cu")
    named, *others = cuda_sizes.find(program)
    assert named.what.startswith("a name for")
    made = [flat(text_of(render(program, [each]))) for each in others]
    rest = "cudaMalloc(&q, 4 * sizeof(int)); }"
    parts = ("rows.size()", "wide")
    assert made == [f"int main() {{ cudaMalloc(&p, {each}); cudaMemset(p, 0, {each}); {rest}" for each in parts]


def test_of_a_vector_that_nothing_reads_the_size_stays() -> None:
    source = """
    int main() {
      std::vector<int> order(n + 1);
      for (size_t i = 0; i < order.size(); ++i) order[i] = order.size() - i;
      run(order.size());
    }
    """
    program = program_of(source, "x.cu")
    size, *_ = cuda_containers.find(program)
    assert flat(text_of(render(program, [size]))) == "int main() { run(n + 1); }"
    read = program_of(source.replace("run(order.size())", "run(order[0])"), "x.cu")
    assert not [each for each in cuda_containers.find(read) if each.what.startswith("size")]


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


SHAPED = """
struct Shape {
  int width;
  int height;
  __host__ __device__ int pitch() const { return width + 2; }
  __host__ __device__ int at(int x, int y) const { return y * pitch() + x; }
};
__device__ float next(const float* in, const Shape& shape, int i) { return in[shape.at(i + 1, 0)]; }
__global__ void step(const float* in, float* out, Shape shape) {
  out[shape.at(0, shape.height)] = next(in, shape, threadIdx.x);
}
void run(const Shape& shape) { step<<<1, shape.width>>>(in, out, shape); }
int main() {
  Shape shape{4, 5};
  run(shape);
}
"""


def test_a_struct_that_is_taken_by_value_gives_way_to_its_fields() -> None:
    program = program_of(SHAPED, "x.cu")
    (edit,) = cuda_struct_arguments.find(program)
    text = flat(text_of(render(program, [edit])))
    assert edit.what == "fields of Shape as arguments"
    assert (
        "next(const float* in, int shape_width, int shape_height, int i) { return in[(0 * (shape_width + 2) +" in text
    )
    assert "step<<<1, shape_width>>>(in, out, shape_width, shape_height)" in text
    assert "next(in, shape_width, shape_height, threadIdx.x)" in text and "run(shape.width, shape.height);" in text


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("run(shape);", "run(made());"),
        ("shape.at(i + 1, 0)", "shape.at(i++, 0)"),
        ("shape.at(i + 1, 0)", "*shape.row(i)"),
        ("step<<<1, shape.width>>>", "Shape other = shape; step<<<1, 1>>>"),
        ("int height;\n", "int height;\n  Shape(int w, int h);\n  Shape(int w) { width = w; }\n"),
    ],
)
def test_a_struct_that_is_used_as_a_whole_stays(was: str, now: str) -> None:
    assert was in SHAPED
    assert not [*cuda_struct_arguments.find(program_of(SHAPED.replace(was, now), "x.cu"))]


TYPED = """
__global__ void k(int n) {}
bool parse(int argc, char** argv, int* n) { return argc < 2; }
int main(int argc, char** argv) {
  int rows = 4;
  const int columns = argc > 1 ? atoi(argv[1]) : 8;
  Options options = read(argc, argv);
  for (int i = 1; i < argc; ++i) rows = atoi(argv[i]);
  if (!parse(argc, argv, &rows)) { return 2; }
  if (argc > 3) { usage(argv[0]); } else { k<<<1, 1>>>(rows); }
}
"""


def test_options_keep_what_they_are_without_a_command_line() -> None:
    program = program_of(TYPED, "x.cu")
    (edit,) = cuda_command_line.find(program)
    main = flat(text_of(render(program, [edit]))).partition("int main")[2]
    assert main == "() { int rows = 4; const int columns = 8; Options options; { k<<<1, 1>>>(rows); } }"
    assert not [*cuda_command_line.find(program_of(TYPED.replace("int main", "int other"), "x.cu"))]


def test_large_numbers_of_the_host_become_a_part() -> None:
    kernel = "__global__ void k(int n) { if (n > 4096) return; }\n"
    program = program_of(
        f"{kernel}int main() {{ int rows = 20000, n = 0x4000, few = 8; k<<<rows, 1>>>(5000); }}", "x.cu"
    )
    offers = [*cuda_numbers.find_large(program)]
    assert [edit.what for edit in offers][:3] == ["2 large numbers by 16", "number 20000 by 16", "number 5000 by 16"]
    assert "rows = 1250, n = 0x4000, few = 8; k<<<rows, 1>>>(312)" in text_of(render(program, offers[:1]))


def test_the_way_to_a_flat_file_ends_where_it_is_smallest() -> None:
    """A long method that is called often is longer where it is called."""
    calls = "".join(f"a.add({n}, {n}); note(); " for n in range(9))
    source = f"""
    struct A {{ int at; void add(int n, int m) {{ note(n); at += n * m; note(m); at -= n + m; note(at); }} }};
    int unread(int n) {{ return n; }}
    int main() {{ A a{{3}}; {calls} {{ note(a.at); }} }}
    """
    program = program_of(source, "x.cu")
    sizes = [each.size.tokens for each in cuda_flattening._way(program)]
    assert sizes[-1] > program.size.tokens > min(sizes)
    (whole, *_) = cuda_flattening.find(program)
    assert render(program, [whole]).size.tokens == min(sizes)
