"""The second result as PTX: whose file lies there, how long releases of ptxas are asked, and what is run at a word of
the candidate."""

from __future__ import annotations

import re
import time
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from shrinkray_gpu.errors import NotReproduced
from shrinkray_gpu.job.ptx_result import is_our_ptx, lines_in_time, write_ptx
from shrinkray_gpu.options import Options
from shrinkray_gpu.ptx.ptxas_fault import PtxasFault
from tests.ptx.samples import CRASH
from tests.runner.test_lanes import make

TEXT = ".version 8.0\n.target sm_90\n.address_size 64\n"
FAULT = PtxasFault("exit status 3", None)


@pytest.mark.parametrize("text", ["notes on .version of mine", "", TEXT])
def test_a_file_of_the_user(text: str) -> None:
    assert not is_our_ptx(text, Path("a.py.ptx"))
    assert is_our_ptx(f"// ptxas -arch=sm_90 FILE\n// Fault: exit status 3\n{TEXT}", Path("a.py.ptx"))


def ptxas(folder: Path, release: str, does: str) -> Path:
    path = folder / f"ptxas-{release}"
    path.write_text(f'#!/bin/sh\n[ "$1" = --version ] && {{ echo V{release}; exit; }}\n{does}\n')
    path.chmod(0o755)
    return path


def test_releases_are_asked_while_there_is_time(tmp_path: Path) -> None:
    releases = {"12.1": "exit 3", "12.2": "exec sleep 60", "12.3": "exit 3"}
    tools = [ptxas(tmp_path, release, does) for release, does in releases.items()]
    started = time.monotonic()
    lines = lines_in_time(tools, TEXT, (), FAULT, until=started + 6, stop=lambda: False)
    assert lines == ["ptxas 12.1: fails"] and time.monotonic() - started < 40
    assert lines_in_time(tools, TEXT, (), FAULT, until=started + 60, stop=lambda: True) == []


LEAVES = """
import os, sys
folder = os.environ["TRITON_DUMP_DIR"] + "/k"
os.mkdir(folder)
{left}
print("Repro command: {command} {flags} /tmp/k.ptx -o /tmp/k.cubin", file=sys.stderr)
"""
PTX = f"open(folder + '/k.ptx', 'w').write({CRASH!r})"


@pytest.mark.parametrize(
    ("left", "flags", "why"),
    [
        (PTX, "", "ptxas fails otherwise"),
        (PTX, '"-o" {own}', "ptxas was called with {own}"),
        (PTX, "--output-file {own} --options-file={own}", "ptxas was called with --options-file={own}"),
        ("os.mkfifo(folder + '/k.ptx')", "", "the compiler leaves no PTX"),
        ("os.symlink('{own}', folder + '/k.ptx')", "", "the compiler leaves no PTX"),
        ("os.symlink('nowhere', folder + '/k.ptx')", "", "the compiler leaves no PTX"),
    ],
)
def test_a_candidate_names_no_program_and_no_file(tmp_path: Path, left: str, flags: str, why: str) -> None:
    (own := tmp_path / "own").write_text(CRASH)
    named = ptxas(tmp_path, "12.1", f"touch {tmp_path}/ran")
    left, flags, why = (each.replace("{own}", str(own)) for each in (left, flags, why))
    text = LEAVES.format(left=left, command=named, flags=flags.replace('"', '\\"'))
    with closing(make(tmp_path)) as pool, pytest.raises(NotReproduced, match=re.escape(why)):
        plan: Any = SimpleNamespace(pool=pool)
        write_ptx(
            text, plan, tmp_path / "a.ptx", Options(arch=90), seconds=20.0, say=lambda told: None, stop=lambda: False
        )
    assert own.read_text() == CRASH and not (tmp_path / "ran").exists() and not (tmp_path / "a.ptx").exists()
