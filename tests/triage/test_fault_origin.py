"""Whether what a host function passes may come from its caller: only what it makes itself is its own mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.runner.inside.static import cause as kinds
from shrinkray_gpu.runner.inside.static.cause import Cause
from shrinkray_gpu.runner.run import Launch, Run
from shrinkray_gpu.triage.fault_origin import _computes_all, _of_host, of_text
from shrinkray_gpu.triage.reported import ReportedFailure

FLOAT, WHOLE, NUMBER = "f32[8, 64] s(64, 1) +0 @0%128", "i64[8] s(1) +0 @0%128", "i32 64"


def cause(kind: str) -> Cause:
    return Cause("bounds", kind, "", "term", (), "load", False, True, 0, True, False, "", "o.py:1:1", "o.py:1:1", "")


@pytest.mark.parametrize(
    ("kind", "text", "own"),
    [
        (kinds.STRIDE, "def op(x):\n    k[(1,)](x, x, x.stride(1))\n", True),
        (kinds.STRIDE, "def op(x):\n    y = empty_like(x)\n    k[(1,)](x, y, x.stride(1))\n", True),
        (kinds.STRIDE, "def op(x, n):\n    k[(1,)](x, x, n)\n", False),
        (kinds.STRIDE, "def op(x, n):\n    m = n * 2\n    k[(1,)](x, x, m)\n", False),
        (kinds.STRIDE, "def op(self, x):\n    k[(1,)](x, x, self.n)\n", False),
        (kinds.STRIDE, "k[(1,)](x, x, x.stride(1))\n", False),
        (kinds.STRIDE, "def op(x, n):\n    def go():\n        k[(1,)](x, x, n)\n    go()\n", False),
        (kinds.STRIDE, "def op(x, n):\n    m = n * 2\n    return bench(lambda: k[(1,)](x, x, m))\n", False),
        (kinds.STRIDE, "def op(x):\n    go = lambda n: k[(1,)](x, x, n)\n    go(2)\n", False),
        (kinds.STRIDE, "def op(x):\n    async def go():\n        k[lambda meta: (1,)](x, x, x.stride(1))\n", True),
        (kinds.MEMORY, "def op(x, i):\n    def go():\n        k[(1,)](x, i, x.numel())\n    go()\n", False),
        (kinds.MEMORY, "def op(x):\n    i = arange(8)\n    k[(1,)](x, i, x.numel())\n", True),
        (kinds.MEMORY, "def op(x, i):\n    k[(1,)](x, i, x.numel())\n", False),
        (kinds.MEMORY, "def op(x):\n    k[(1,)](x, x.index, x.numel())\n", False),
    ],
)
def test_what_a_caller_hands_in_may_be_what_is_wrong(tmp_path: Path, kind: str, text: str, own: bool) -> None:
    (tmp_path / "ops.py").write_text(text)
    line = next(number for number, row in enumerate(text.splitlines(), 1) if "k[" in row)
    launch = Launch("k", "h", (1,), (FLOAT, WHOLE if kind == kinds.MEMORY else FLOAT, NUMBER), host=f"ops.py:{line}")
    assert _computes_all(launch, cause(kind), tmp_path) == own
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "ops.py").write_text(text)
    assert not _computes_all(launch, cause(kind), tmp_path)  # nobody knows which of the two it is


def origin(name: str, message: str, text: str) -> object:
    report = ReportedFailure(name, "log", message, text)
    return of_text(report.fault, report.kernel, report.frames, name)


COMPILES_NOT = "ValueError: no\nat 3:4:\ndef gelu(x):\n    ^"


def test_by_text_lines_of_the_package_with_a_kernel_are_one_cause_and_a_check_is_its_tests() -> None:
    below = "tests/test_a.py:{}: in test\npkg/ops.py:7: in op\npkg/ops.py:3: ValueError"
    one, other = (origin(f"tests/test_a.py::t{n}", COMPILES_NOT, below.format(n)) for n in (1, 2))
    assert one == other != origin("tests/test_a.py::t1", COMPILES_NOT, below.format(1).replace(":7:", ":9:"))
    one, other = (origin(f"tests/test_a.py::t{n}", "ValueError: no", below.format(n)) for n in (1, 2))
    assert one != other == origin("tests/test_a.py::t2[8]", "ValueError: no", below.format(2))  # no kernel is known


@pytest.mark.parametrize("said", ["AssertionError: far off", "Failed: results differ", "pkg.ToleranceError: far off"])
def test_a_check_of_a_kernels_results_is_its_tests(said: str) -> None:
    text = "tests/test_a.py:8: in test\npkg/check.py:3: E\nat 3:4:\ndef gelu(x):\n"
    one, other = (origin(f"tests/test_a.py::t{n}", said, text) for n in (1, 2))
    assert one != other


@pytest.mark.parametrize("file", ["tests/utils.py", "conftest.py", "test/helper.py", "pkg/testing/close.py"])
def test_a_helper_of_the_tests_is_not_the_package(file: str) -> None:
    text = f"tests/test_a.py:8: in test\npkg/ops.py:7: in op\n{file}:3: ValueError"
    one, other = (origin(f"tests/test_a.py::t{n}", COMPILES_NOT, text) for n in (1, 2))
    assert one != other
    run = Run(mode="plain", exit=1, launches=(Launch("k", "h", (1,), ()),))
    fault = Fault("python", "ValueError", text="no")
    frames = ("tests/test_a.py:8", f"{file}:3")
    seen, second = (_of_host(fault, "ValueError: no", run, frames, f"tests/test_a.py::t{n}") for n in (1, 2))
    assert seen != second
    frames = (*frames, "pkg/ops.py:3")
    seen, second = (_of_host(fault, "ValueError: no", run, frames, f"tests/test_a.py::t{n}") for n in (1, 2))
    assert seen == second and seen.host == ()
    assert len({_of_host(fault, "", Run(mode="plain", exit=1), frames, f"tests/test_a.py::t{n}") for n in (1, 2)}) == 2


def test_the_kernel_is_read_where_the_compiler_quotes_it() -> None:
    said = "triton.compiler.errors.CompilationError: at 3:4:\ndef gelu(x, BLOCK):\n    y = x +\n    ^\nno"
    assert ReportedFailure("a", "log", said).kernel == "gelu"
    assert ReportedFailure("a", "log", "RuntimeError: no").kernel == ""
