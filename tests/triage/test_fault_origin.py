"""Whether what a host function passes may come from its caller: only what it makes itself is its own mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.runner.inside.static import cause as kinds
from shrinkray_gpu.runner.inside.static.cause import Cause
from shrinkray_gpu.runner.run import Launch
from shrinkray_gpu.triage.fault_origin import _computes_all, of_text
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


def test_by_text_one_line_of_the_package_is_one_cause_and_a_check_is_its_tests() -> None:
    below = "tests/test_a.py:{}: in test\npkg/ops.py:7: in op\npkg/ops.py:3: ValueError"
    one, other = (origin(f"tests/test_a.py::t{n}", "ValueError: no", below.format(n)) for n in (1, 2))
    assert one == other != origin("tests/test_a.py::t1", "ValueError: no", below.format(1).replace(":7:", ":9:"))
    check = "tests/test_a.py:8: in test\ntests/helper.py:3: AssertionError"
    assert origin("tests/test_a.py::t1", "AssertionError: far off", check) != origin(
        "tests/test_a.py::t2", "AssertionError: far off", check
    )


def test_the_kernel_is_read_where_the_compiler_quotes_it() -> None:
    said = "triton.compiler.errors.CompilationError: at 3:4:\ndef gelu(x, BLOCK):\n    y = x +\n    ^\nno"
    assert ReportedFailure("a", "log", said).kernel == "gelu"
    assert ReportedFailure("a", "log", "RuntimeError: no").kernel == ""
