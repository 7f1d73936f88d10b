"""Real `python FILE` processes and the real compiler, judged by their output alone."""

from __future__ import annotations

import os
import sys
import textwrap
from pathlib import Path

import pytest

from shrinkray_gpu.oracle import adopt, parse
from shrinkray_gpu.runner.plain import run_file
from shrinkray_gpu.runner.run import Run

KERNEL = """
import triton, triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

@triton.jit
def k(p, B: tl.constexpr):
    "a docstring about bananas"
    {body}

source = ASTSource(fn=k, signature={{"p": "*i32", "B": "constexpr"}}, constexprs={{"B": 4}})
triton.compile(source, target=GPUTarget("cuda", 90, 32))
"""
ASSEMBLY = (
    'x = tl.inline_asm_elementwise("bogus.instr $0, $1;", "=r,r", [tl.load(p + tl.arange(0, 8))], '
    "dtype=tl.int32, is_pure=True, pack=1); tl.store(p + tl.arange(0, 8), x)"
)


def run(folder: Path, source: str) -> Run:
    path = folder / "failing.py"
    path.write_text(textwrap.dedent(source))
    environment = {**os.environ, "TRITON_CACHE_DIR": str(folder / "cache")}
    return run_file(sys.executable, path, (), environment=environment, cwd=folder, seconds=120)


def found(folder: Path, run: Run, *specs: str) -> list[bool]:
    return [parse(spec, folder=folder).judge(run).faults for spec in specs]


def test_a_plain_exception(tmp_path: Path) -> None:
    """It dies of a typing error in a handler; what was being handled, and what was printed, do not count."""
    run_ = run(
        tmp_path,
        """
        import sys
        class Overripe(ValueError):
            "bananas"
        def peel():
            print("bananas", file=sys.stderr)
            raise KeyError("bananas")
        try:
            peel()
        except KeyError:
            undefined("bananas")
        """,
    )
    assert found(tmp_path, run_, "exception:NameError:'undefined' is not defined", "regex:^KeyError", "exit:1") == [
        True,
        False,
        True,
    ]
    assert adopt(run_) == "name undefined is not defined"


def test_an_exception_raised_from_another(tmp_path: Path) -> None:
    run_ = run(tmp_path, "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise RuntimeError('wrapped') from e\n")
    assert found(tmp_path, run_, "division by zero", "exception:RuntimeError:wrapped", "1 / 0") == [True, True, False]


def test_a_syntax_error(tmp_path: Path) -> None:
    run_ = run(tmp_path, "bananas = = 1\n")
    assert found(tmp_path, run_, "exception:SyntaxError", "invalid syntax", "bananas") == [True, True, False]


def test_an_abort(tmp_path: Path) -> None:
    run_ = run(tmp_path, "import os, sys\nsys.stderr.write('bananas\\n')\nsys.stderr.flush()\nos.abort()\n")
    assert found(tmp_path, run_, "signal:SIGABRT", "bananas", "exit:1") == [True, True, False]


def test_a_script_that_ends_well(tmp_path: Path) -> None:
    run_ = run(tmp_path, "import warnings\nprint('bananas')\nwarnings.warn('bananas')\n")
    assert found(tmp_path, run_, "bananas", "regex:bananas", "exit:0") == [False, False, True]
    assert adopt(run_) is None


@pytest.mark.parametrize(
    ("body", "adopted", "specs", "expected"),
    [
        (
            'tl.static_assert(B == 3, "block must be three")',
            "compile:block must be three",
            ("block must be three", "exception:CompilationError", "compile:must be", "bananas", "compile:bananas"),
            [True, True, True, False, False],
        ),
        (
            ASSEMBLY,
            "Unknown modifier .instr",
            ("Unknown modifier", "compile:Not a name of any known instruction", "exit:1", "compile:%r2, %r1"),
            [True, True, True, False],
        ),
    ],
)
def test_the_real_compiler(
    tmp_path: Path, body: str, adopted: str, specs: tuple[str, ...], expected: list[bool]
) -> None:
    run_ = run(tmp_path, KERNEL.format(body=body))
    assert found(tmp_path, run_, *specs) == expected
    assert adopt(run_) == adopted
