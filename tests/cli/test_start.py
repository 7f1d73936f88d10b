"""What the tool does not import at each start, though some of its questions need it."""

from __future__ import annotations

import subprocess
import sys


def test_no_start_waits_for_what_few_questions_need() -> None:
    slow = ("libcst.matchers", "jinja2", "torch", "triton")
    code = f"import sys, shrinkray_gpu.cli.main; print([name for name in {slow} if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"
