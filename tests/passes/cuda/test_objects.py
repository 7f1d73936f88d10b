"""Objects that give way to their fields, and to what their methods do."""

from __future__ import annotations

from shrinkray_gpu.cu.cu_program import program_of, text_of
from shrinkray_gpu.passes.cuda import cuda_objects
from shrinkray_gpu.reduction.rendering.render import render

BUFFER = r"""
template <typename T>
class Buffer {
 public:
  explicit Buffer(size_t count) : count_(count) { cudaMalloc(&data_, bytes()); }
  explicit Buffer(const std::vector<T>& host) : Buffer(host.size()) { cudaMemcpy(data_, host.data(), bytes()); }
  Buffer(const Buffer&) = delete;
  ~Buffer() { cudaFree(data_); }
  T* get() const { return data_; }
  void clear(int with) { cudaMemset(data_, with, this->bytes()); }
  std::vector<T> host() const {
    std::vector<T> out(count_);
    cudaMemcpy(out.data(), data_, bytes());
    return out;
  }

 private:
  size_t bytes() const { return count_ * sizeof(T); }
  size_t count_;
  T* data_ = nullptr;
};
"""


def opened(source: str) -> list[str]:
    program = program_of(source, "x.cu")
    return [" ".join(text_of(render(program, [edit])).split()) for edit in cuda_objects.find(program)]


def test_a_buffer_is_its_pointer_and_what_was_done_with_it() -> None:
    main = "void run(int n) {\n Buffer<float> x(n + 1), y(n);\n x.clear(0);\n use(x.get(), y.get());\n}\n"
    (text,) = opened(BUFFER + main)
    assert text == (
        "void run(int n) { size_t x_count = n + 1; float * x_data = nullptr; cudaMalloc(&x_data, x_count * "
        "sizeof(float)); float * y_data = nullptr; cudaMalloc(&y_data, n * sizeof(float)); "
        "cudaMemset(x_data, 0, x_count * sizeof(float)); use(x_data, y_data); }"
    )


def test_the_constructor_is_the_one_for_what_is_given_and_its_delegate() -> None:
    main = "void run(int n) {\n std::vector<int> v(n);\n Buffer<int> x(v);\n use(x.get());\n}\n"
    (text,) = opened(BUFFER + main)
    size = "v.size() * sizeof(int)"
    assert f"cudaMalloc(&x_data, {size}); cudaMemcpy(x_data, v.data(), {size});" in text


def test_a_result_made_by_several_statements_is_made_under_its_new_name() -> None:
    main = "void run(int n) {\n Buffer<int> x(n);\n const std::vector<int> got = x.host();\n}\n"
    (text,) = opened(BUFFER + main)
    assert "std::vector<int> got(n); cudaMemcpy(got.data(), x_data, n * sizeof(int)); }" in text


def test_defaults_lists_and_a_field_that_changes() -> None:
    source = (
        "struct Options { int rows = 4, columns = 5; bool verbose; int cells() const { return rows * columns; } };\n"
        "void run() {\n Options a;\n a.rows = 3;\n Options b{1, 2};\n use(2 * a.cells(), b.cells(), b.verbose);\n}\n"
    )
    (text,) = opened(source)
    assert "int a_rows = 4;" in text and "a_rows = 3;" in text and "int b_columns = 2;" in text
    assert "use(2 * (a_rows * a_columns), b_rows * b_columns, b_verbose)" in text and "bool b_verbose{};" in text
    assert "struct" not in text


def test_an_object_that_is_used_as_a_whole_stays() -> None:
    for use in ("use(x);", "Buffer<int>* p = &x;", "auto y = x;", "use(x.host().size());", "Buffer<int> y(x);"):
        assert opened(f"{BUFFER}void run(int n) {{\n Buffer<int> x(n);\n {use}\n}}\n") == [], use


def test_a_class_of_which_something_is_left_stays() -> None:
    main = "void f(Buffer<int>& it);\nvoid run(int n) {\n Buffer<int> x(n);\n use(x.get());\n}\n"
    (text,) = opened(BUFFER + main)
    assert "class Buffer" in text and "use(x_data)" in text


def test_a_parameter_that_the_method_writes_is_a_variable() -> None:
    source = (
        "struct A { int n; void down(int by) { while (by > 0) { n -= by; by -= 1; } } };\n"
        "void run(int k) {\n A a{9};\n a.down(k);\n use(a.n);\n}\n"
    )
    (text,) = opened(source)
    assert "{ int by = k; while (by > 0) { a_n -= by; by -= 1; } }" in text


def test_a_field_of_a_class_whose_constructor_is_explicit_is_made_by_it() -> None:
    """`Held x = 3` calls none of these. A simulation of particles could not be opened."""
    held = "class Held {\n public:\n explicit Held(int n) : n_(n + 1) {}\n int n_;\n};\n"
    app = "class App {\n public:\n App(int n) : held_(n), own_(n) { use(held_); }\n Held held_;\n int own_;\n};\n"
    found = opened(held + app + "int main() {\n App app(3);\n use(app.own_);\n}\n")
    text = next(each for each in found if "App" not in each)
    assert "Held app_held(3);" in text and "Held app_held =" not in text and "app_own = 3" in text


GROWING = """
struct Data {
  int* at;
  int size;
  void reserve(int n) { int* larger = nullptr; cudaMalloc(&larger, n); at = larger; }
  void twice(int n) { reserve(n); note(n); }
  int grow(int more) { const int first = size; size += more; return first; }
  void add(int more) { const int first = grow(more); fill(first, more); }
};
"""


def test_what_an_if_does_by_a_method_is_done_only_then() -> None:
    (text,) = opened(GROWING + "void run(int n) {\n Data a{nullptr, 0};\n if (n) a.twice(n);\n use(a.at);\n}\n")
    assert "if (n) { { int* larger = nullptr; cudaMalloc(&larger, n); a_at = larger; } note(n); } use(a_at);" in text


def test_a_variable_of_a_method_is_called_as_nothing_else_is() -> None:
    """What is given to it may have that name: `first` of `run` is the `more` of `grow`."""
    main = "void run(int first) {\n Data a{nullptr, 0};\n a.add(first);\n a.add(first);\n use(a.at);\n}\n"
    (text,) = opened(GROWING + main)
    assert "const int first2 = a_size; a_size += first; fill(first2, first);" in text
    assert "const int first4 = a_size; a_size += first; fill(first4, first);" in text


def test_a_field_is_called_as_nothing_else_is() -> None:
    (text,) = opened("struct A { int n; };\nvoid run(int a_n) {\n A a{3};\n use(a.n, a_n);\n}\n")
    assert text == "void run(int a_n) { int a_n2 = 3; use(a_n2, a_n); }"


def test_a_list_that_is_given_is_a_variable() -> None:
    source = (
        "struct Box { int w, h; };\nstruct A { int n; A(Box box) : n(box.w * box.h) {} };\n"
        "void run() {\n A a({2, 3});\n use(a.n);\n}\n"
    )
    (text,) = opened(source)
    assert "Box box = {2, 3}; int a_n = box.w * box.h; use(a_n);" in text


def test_a_type_with_its_namespace_needs_no_parentheses() -> None:
    source = (
        "template <class T> struct A { T* at; void grow() { T* larger = at; at = larger; } };\n"
        "void run() {\n A<std::byte> a{};\n a.grow();\n use(a.at);\n}\n"
    )
    (text,) = opened(source)
    assert "std::byte* larger = a_at;" in text


def test_what_is_declared_beside_a_result_stays() -> None:
    main = "void run(int n) {\n Buffer<int> x(n);\n const std::vector<int> got = x.host(), want = f(n);\n}\n"
    (text,) = opened(BUFFER + main)
    assert "std::vector<int> got(n);" in text and "const std::vector<int> want = f(n);" in text
