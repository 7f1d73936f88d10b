"""The lines above a repro are for a maintainer, who has neither our tool nor the reporter's folders."""

from __future__ import annotations

from shrinkray_gpu.attachment.header import Header
from shrinkray_gpu.device import architectures


def above(check: str, arch: int | None = 90) -> str:
    header = Header("misaligned address", check, "failing.py, 3 lines")
    return header.above("x = 1\n", "repro.py", versions={"triton": "3.7.1"}, arch=arch, argv=())


def test_how_it_is_run_is_told_without_our_tool_wherever_that_can_show_it() -> None:
    assert "# Run: python repro.py (on an sm_90 GPU)\n# From: " in above("") and "shrink repro" not in above("")
    assert "# Run: python repro.py\n# From: " in above("", arch=None)
    assert "(on a gfx942 GPU)" in above("", arch=architectures.number("gfx942"))


def test_what_only_our_tool_shows_is_told_with_its_command() -> None:
    assert "# Run: shrink repro.py --check --oracle hang\n" in above("shrink repro.py --check --oracle hang")


def test_how_two_compilers_are_compared_stands_below_how_it_is_run() -> None:
    header = Header("400 registers, 100 by Triton 3.6.0", "shrink repro.py --check", "failing.py", "run it with both")
    rows = header.above("x = 1\n", "repro.py", versions={}, arch=90, argv=()).splitlines()
    assert rows[rows.index("# Run: shrink repro.py --check") + 1] == "# Compare: run it with both"


def test_a_long_message_goes_on_in_the_next_line_and_a_command_does_not() -> None:
    command = f"shrink repro.py --check --oracle '{'a long message ' * 12}'"
    header = Header("a long message " * 12, command, "failing.py")
    rows = header.above("x = 1\n", "repro.py", versions={}, arch=90, argv=()).splitlines()
    assert [row for row in rows if len(row) > 120] == [f"# Run: {command}"]
    assert " ".join(row.removeprefix("# ") for row in rows).startswith(f"Shows: {header.shows}")
    assert all(row.startswith("#") for row in rows[: rows.index("")])
