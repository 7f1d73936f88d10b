"""What shows the fault in lanes and not as `python FILE` is passed over, for the smallest accepted one that does."""

from __future__ import annotations

from pathlib import Path

from shrinkray_gpu.passes.layout.layout import layout
from tests.e2e.command import shrink

PROGRAM = """\
import os


def check(sizes):
    near = ".shrink" in os.environ.get("TMPDIR", "")
    if sum(sizes) == 768 or near:
        raise ValueError("too large")


def unused(x):
    return x + 1


print("sizes:")
small, large = 256, 512
check([small, large])
"""
"""In lanes it holds whatever the sizes are: `near` stands for memory that is mapped in some processes only."""


def test_the_smallest_that_stands_in_a_clean_run_is_the_result(tmp_path: Path) -> None:
    (tmp_path / "failing.py").write_text(PROGRAM)
    said = shrink("failing.py", "--oracle", "exception:ValueError", "--keep", "check", "--json", cwd=tmp_path)
    assert said.code == 0, said.err
    told, repro = said.result, (tmp_path / "repro_failing.py").read_text()
    best = (tmp_path / "failing.shrink" / "best.py").read_text()
    assert told["verified"] == told["final_runs"] and told["text"] == repro
    assert "512" in repro and "unused" not in repro and repro == layout(repro)
    assert "512" not in best and "best.py" in told["passed_over"]


WHOLE = """\
import os


def first(x):
    return x + 1


def second(x):
    return x + 2


def check(sizes):
    near = ".shrink" in os.environ.get("TMPDIR", "")
    if len([name for name in globals() if name[0] != "_"]) == 6 or near:
        raise ValueError("too large")


small, large = 256, 512
check([small, large])
"""
"""As it is it shows the fault anywhere; without any of its six names in lanes only."""


def test_where_no_smaller_one_stands_the_smallest_is_what_the_message_names(tmp_path: Path) -> None:
    (tmp_path / "failing.py").write_text(WHOLE)
    said = shrink("failing.py", "--oracle", "exception:ValueError", "--keep", "check", cwd=tmp_path)
    assert (
        said.code == 4
        and "repro_failing.py (0 of 1 clean runs show it; instead: no uncaught exception: it ends" in said.err
    )
    assert (tmp_path / "repro_failing.py").read_text() == (tmp_path / "failing.shrink" / "best.py").read_text()
