from __future__ import annotations

from shrinkray_gpu.passes.python import statements
from shrinkray_gpu.reduction.program import Program
from tests.passes.outcomes import all_at_once, lines, offers

SCRIPT = """
    def f(x):
        if x:
            y = 1; z = 2
        return x
    f(1)
"""


def test_blocks_come_before_what_is_in_them() -> None:
    found = list(statements.find(Program.from_text(lines(SCRIPT))))
    assert sorted((edit.level, edit.what) for edit in found) == [
        (0, "empty the block of 2 statements at line 2"),
        (0, "remove expr at line 5"),
        (0, "remove functiondef f at line 1"),
        (1, "empty the block of 2 statements at line 3"),
        (1, "remove if at line 2"),
        (1, "remove return at line 4"),
        (2, "remove assign at line 3"),
        (2, "remove assign at line 3"),
    ]


def test_an_emptied_function_gets_pass() -> None:
    assert offers(statements, "def f():\n    a()\n    b()\n")["empty the block of 2 statements at line 2"] == (
        "def f():\n    pass\n"
    )


def test_everything_can_go() -> None:
    assert all_at_once(statements, SCRIPT).strip() == ""


def test_a_lone_pass_is_not_offered_again() -> None:
    assert list(offers(statements, "def f():\n    pass\n")) == ["remove functiondef f at line 1"]


def test_what_others_need_the_name_of_stays() -> None:
    assert list(offers(statements, "import os\nx = 1\nprint(x, os)\n")) == ["remove expr at line 3"]
    assert "remove assign at line 1" in offers(statements, "x = 1\nx = 2\nprint(x)\n")
    assert "remove import at line 1" in offers(statements, "import os\n")


def test_an_import_for_a_kernel_stays() -> None:
    script = "import triton.language as tl\n\n@jit\ndef kernel(x):\n    tl.store(x, 0)\n"
    assert not any("import" in what for what in offers(statements, script))
