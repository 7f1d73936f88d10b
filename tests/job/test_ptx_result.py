"""The second result as PTX: whose file lies there, and how long releases of ptxas are asked."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from shrinkray_gpu.job.ptx_result import is_our_ptx, lines_in_time
from shrinkray_gpu.ptx.ptxas_fault import PtxasFault

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
