"""What the tool does not import at each start, though some of its questions need it."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "words",
    [["--help"], ["help", "explain"], ["--version"], ["--orcale", "x"], ["explian"], ["missing.py", "--arch", "x"]],
)
def test_help_and_complaints_wait_for_no_parser(words: list[str]) -> None:
    code = (
        "import atexit, sys; atexit.register(lambda: print('libcst' in sys.modules, file=sys.stderr)); "
        f"from shrinkray_gpu.cli.main import main; main({words})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == "False", done.stderr


def test_no_start_waits_for_what_few_questions_need() -> None:
    slow = ("libcst.matchers", "jinja2", "torch", "triton")
    code = f"import sys, shrinkray_gpu.cli.main; print([name for name in {slow} if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"
