"""The host's handling of errors: one report in the place of helper, macro, `throw` and `try`."""

from __future__ import annotations

import re

from shrinkray_gpu.cu.cu_program import program_of, text_of
from shrinkray_gpu.passes.cuda import cuda_reports
from shrinkray_gpu.reduction.rendering.render import render

THROWN = r"""
static void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}
__global__ void kernel(int* out) {}
int main() {
  try {
    int* out;
    check(cudaMalloc(&out, 4), "allocate");
    kernel<<<1, 1>>>(out);
    check(cudaGetLastError(), "launch");
    check(cudaDeviceSynchronize(), "run");
    cudaFree(out);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "failed: %s\n", error.what());
    return 3;
  }
}
"""
MACRO = r"""
#define CHECK(call)                                            \
  do {                                                         \
    if ((call) != cudaSuccess) {                               \
      printf("%d: %s\n", __LINE__, cudaGetErrorString(call));  \
      exit(2);                                                 \
    }                                                          \
  } while (0)
void run() {
  CHECK(cudaMalloc(&out, 4));
  CHECK(cudaDeviceSynchronize());
  more();
}
"""


def texts(source: str) -> list[str]:
    program = program_of(source, "x.cu")
    return [" ".join(text_of(render(program, [edit])).split()) for edit in cuda_reports.find(program)]


UNDER = "if (cudaError_t error = cudaDeviceSynchronize()) {"


def test_one_report_says_what_the_handler_said_and_leaves() -> None:
    opened, first, *_ = texts(THROWN)
    assert "try" not in opened and "check(cudaMalloc" in opened
    report = rf'{UNDER} fprintf(stderr, "failed: run: %s\n", cudaGetErrorString(error)); return 3; }} }} }}'
    assert first.endswith(f"{{ {{ int* out; cudaMalloc(&out, 4); kernel<<<1, 1>>>(out); {report}")
    assert "check" not in first and "throw" not in first


def test_the_last_error_is_asked_for_only_where_nothing_that_waits_holds() -> None:
    reports = [text for text in texts(THROWN) if "fprintf" in text and "try" not in text]
    asked = [re.findall(r"\((cuda\w+)\(\)\)|error = (cuda\w+)", text)[0] for text in reports]
    names = ["DeviceSynchronize", "GetLastError", "GetLastError", "DeviceSynchronize", "Malloc"]
    assert ["".join(each) for each in asked] == [f"cuda{name}" for name in names]
    without = texts(THROWN)[-1]
    assert "fprintf" not in without and "cudaDeviceSynchronize();" in without


def test_a_macro_that_exits_with_and_without_what_is_behind_it() -> None:
    less, *rest = texts(MACRO)
    report = rf'{UNDER} fprintf(stderr, "0: %s\n", cudaGetErrorString(error)); exit(2); }}'
    assert less == f"#include <cstdio> void run() {{ cudaMalloc(&out, 4); {report} }}"
    assert f"#include <cstdio> void run() {{ cudaMalloc(&out, 4); {report} more(); }}" in rest


def test_where_nothing_fails_the_program_ends_well() -> None:
    """It did not: a repro said "failed: no error", and ended with 1, with the fix as well."""
    for source in (THROWN, MACRO):
        reports = [text for text in texts(source) if "fprintf" in text and "try" not in text]
        assert reports and all("if (cudaError_t error = cuda" in text for text in reports)


def test_a_helper_that_something_else_names_stays() -> None:
    first = texts(THROWN.replace("cudaFree(out);", "").replace("int* out;", "int* out; auto f = check;"))[1]
    assert "static void check" in first and "cudaMalloc(&out, 4);" in first


def test_what_tells_of_no_status_is_no_helper() -> None:
    assert texts('void log(int n) { printf("%d", n); }\nint main() { log(cudaDeviceSynchronize()); }\n') == []


HANDED = r"""
#include <cstdlib>
#define gpuErrchk(ans) { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char* file, int line, bool abort = true) {
  if (code != cudaSuccess) {
    fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
    if (abort) exit(code);
  }
}
int main() {
  gpuErrchk(cudaMalloc(&out, 4));
  gpuErrchk(cudaDeviceSynchronize());
}
"""


def test_a_macro_that_hands_the_status_to_a_function_goes_with_it() -> None:
    first, *_ = texts(HANDED)
    report = rf'{UNDER} fprintf(stderr, "GPUassert: %s \n", cudaGetErrorString(error)); return error; }} }}'
    assert first == f"#include <cstdio> #include <cstdlib> int main() {{ cudaMalloc(&out, 4); {report}"
    still = texts(HANDED.replace("int main() {", "int main() {\n  gpuAssert(status, __FILE__, 3, false);"))
    assert any("gpuErrchk" not in text and "void gpuAssert" in text for text in still)


def test_what_a_function_returns_behind_the_report_stays() -> None:
    """Without a value to return it is no program."""
    waits = "CHECK(cudaDeviceSynchronize());"
    behind = f"{waits}\n  int sum = 0;\n  note(n);\n  return sum + n;"
    source = MACRO.replace("void run() {", "int run(int n) {").replace(waits, behind)
    made = texts(source.replace("  more();\n", ""))
    assert any(text.endswith("exit(2); } int sum = 0; return sum + n; }") for text in made)
    assert not any(text.endswith("exit(2); } }") for text in made)


def test_the_words_of_the_driver_stand_alone() -> None:
    """`0an illegal memory access` begins with a number, and is not what was said before."""
    said = 'throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status))'
    assert said in THROWN
    made = texts(THROWN.replace(said, "throw Failure(__LINE__, cudaGetErrorString(status))"))
    assert any('"failed: 0 %s\\n"' in text for text in made), made
