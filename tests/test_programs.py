"""The sample programs fail as their first lines say. Those that need no GPU run here; end-to-end tests reduce all."""

from __future__ import annotations

import ast
import os
import shlex
import sys
from pathlib import Path

import pytest

from shrinkray_gpu.oracle import Answer, parse
from shrinkray_gpu.runner.plain import run_file

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))


def options(program: Path) -> dict[str, str]:
    """`# shrink --oracle SPEC ... -- smallest: ...` as option to value."""
    command = program.read_text().splitlines()[0].removeprefix("# ").partition(" -- ")[0]
    name, *words = shlex.split(command)
    assert name == "shrink"
    return dict(zip(words[::2], words[1::2], strict=True))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_first_line_is_a_command_for_it(program: Path) -> None:
    ast.parse(program.read_text())
    assert parse(options(program)["--oracle"], folder=program.parent).hint == ""


@pytest.mark.parametrize(
    "program", [one for one in PROGRAMS if "--arch" not in options(one)], ids=lambda program: program.stem
)
def test_without_a_gpu_it_fails_as_it_says(program: Path, tmp_path: Path) -> None:
    said = options(program)
    run = run_file(
        sys.executable,
        program,
        [],
        environment={**os.environ, "TRITON_CACHE_DIR": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=tmp_path,
        seconds=2 if said["--oracle"] == "timeout" else 120,
    )
    assert parse(said["--oracle"], folder=program.parent).judge(run).answer is Answer.FAULTS
