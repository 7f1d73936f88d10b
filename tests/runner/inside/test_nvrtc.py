"""NVRTC through torch: a text is compiled once, and a kernel is given what it takes."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu.runner.inside.cuda_cpp.nvcc import parameters_of
from shrinkray_gpu.runner.inside.cuda_cpp.nvrtc import CheckedKernel, Nvrtc, parameters, strip_comments

torch = pytest.importorskip("torch")

SOURCE = "__global__ void fill(float* p, int n) { p[n] = 1; }"


def test_a_text_is_compiled_once_for_each_thing_asked_of_it(tmp_path: Path) -> None:
    asked: list[tuple[Any, ...]] = []

    def plain(*given: Any, **options: Any) -> tuple[bytes, str]:
        asked.append(given)
        if "error" in given[0]:
            raise RuntimeError("Kernel compilation failed:\nno such thing")
        return b"\x7fELF\0", "_Z4fillPfi"

    seen: list[dict[str, Any]] = []
    compiled = Nvrtc(str(tmp_path), 90, seen).compiler(plain)
    assert compiled(SOURCE, "fill", None, None, ["-DA"]) == (b"\x7fELF\0", "_Z4fillPfi")
    assert Nvrtc(str(tmp_path), 90, seen).compiler(plain)(SOURCE, "fill", "90", None, ["-DA"])[1] == "_Z4fillPfi"
    assert len(asked) == 1, "what a dry run compiled is there for the GPU"
    compiled(SOURCE, "fill", None, None, ["-DB"])
    for _ in range(2):
        with pytest.raises(RuntimeError, match="no such thing"):
            compiled("error", "fill")
    assert len(asked) == 3
    assert [build["failed"] for build in seen] == [False, False, False, True, True]


def test_one_that_remembers_already_is_not_waited_for(tmp_path: Path) -> None:
    """A dry run's process has it from our site: asked inside of another, it waited for that one's lock, for ever."""

    def plain(*given: Any, **options: Any) -> tuple[bytes, str]:
        return b"\x7fELF\0", "_Z4fillPfi"

    outer: Any = Nvrtc(str(tmp_path), 90, []).compiler(plain)
    outer._plain = plain
    made: list[Any] = []
    inner = Nvrtc(str(tmp_path), 90, []).compiler(outer)
    thread = threading.Thread(target=lambda: made.append(inner(SOURCE, "fill")), daemon=True)
    thread.start()
    thread.join(20)
    assert made == [(b"\x7fELF\0", "_Z4fillPfi")]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("int f() {\n  return 1;\n}\n", "// one\n\nint f() { /* at\n last */\n\treturn 1;\n\n} //\n"),
        ("int  a; // one\n", "int a;"),
        ('const char* s = "a  b"; int a;', 'const char* s = "a  b";  int a;  // "c"'),
        ("#define N 4\nint a[N];", "#define N /* four\nof them */ 4\n\nint a[N];"),
        ("int a = __LINE__;", "  int   a = /* this line */ __LINE__;"),
    ],
)
def test_blanks_and_comments_make_no_other_program(one: str, other: str) -> None:
    assert strip_comments(one) == strip_comments(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('const char* s = "a  b";', 'const char* s = "a b";'),
        ('const char* s = "// a";', 'const char* s = "// b";'),
        ("char c = '\\''; // a", "char c = '\\'' ;"),
        ("#define S(x) #x\nconst char* s = S(a+b);", "#define S(x) #x\nconst char* s = S(a + b);"),
        ("#define f(x) x\n", "#define f (x) x\n"),
        ("#define N 4\nint a;", "#define N 4 int a;"),
        ("int b = __LINE__;", "\nint b = __LINE__;"),
        ("assert(p);", "// p\nassert(p);"),
        ('#include "a.h"\nint a;', '#include "a.h"\n\nint a;'),
        ("#define N /*\n*/ __LINE__", "#define N \n __LINE__"),
        ("int a = 1'0; // '  '", "int a = 1'0; // ' '"),
        ('const char* s = R"(a  b)";', 'const char* s = R"(a b)";'),
        ("// on \\\nint a;", "// \nint a;"),
        ("int a; / / b", "int a; // b"),
    ],
)
def test_what_may_be_another_program_is_compiled_anew(one: str, other: str) -> None:
    assert strip_comments(one) != strip_comments(other)


def test_with_debug_information_and_where_it_fails_the_very_text_counts(tmp_path: Path) -> None:
    asked: list[str] = []

    def plain(source: str, *given: Any, **options: Any) -> tuple[bytes, str]:
        asked.append(source)
        if "error" in source:
            raise RuntimeError(f"no such thing in {source}")
        return b"", "fill"

    compiled = Nvrtc(str(tmp_path), 90, []).compiler(plain)
    for source in (SOURCE, f"{SOURCE} // again"):
        compiled(source, "fill")
    assert asked == [SOURCE]
    for options in (["-lineinfo"], ["-G"]):
        for source in (SOURCE, f"{SOURCE} // again"):
            compiled(source, "fill", None, None, options)
    assert len(asked) == 5
    for source in ("error", "error // again"):
        with pytest.raises(RuntimeError, match=f"no such thing in {source}$"):
            compiled(source, "fill")


def test_a_kernel_takes_as_many_arguments_as_its_name_says() -> None:
    called: list[Any] = []
    kernel = CheckedKernel(lambda *args, **options: called.append((args, options)), parameters("_Z4fillPfi"))
    kernel((1, 1, 1), (32, 1, 1), [torch.empty(4), 3], shared_mem=64)
    kernel(args=[torch.empty(4), 3])
    assert len(called) == 2
    for wrong in ([torch.empty(4)], [torch.empty(4), 3, 4], [3, torch.empty(4)], None):
        with pytest.raises(TypeError, match="the kernel takes"):
            kernel((1, 1, 1), (32, 1, 1), wrong)
    assert len(called) == 2


def test_a_name_of_c_tells_no_parameters() -> None:
    assert parameters("fill") is None
    assert parameters("_Z4fillPfi") == ["float*", "int"]


def test_bytes_of_parameters_as_ptx_has_them() -> None:
    ptx = """
.visible .entry _Z4fillP6Params(
\t.param .u64 .ptr .align 1 _Z4fill_param_0,
\t.param .align 8 .b8 _Z4fill_param_1[24],
\t.param .f32 _Z4fill_param_2
)
.maxntid 256, 1, 1
{
}
.visible .entry nothing()
{
"""
    assert parameters_of(ptx) == {"_Z4fillP6Params": [8, 24, 4], "nothing": []}
