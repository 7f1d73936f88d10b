"""What the runtime without a GPU wrote of its launches is read as the program left it, which may be anything."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shrinkray_gpu.cu.nvcc_trial import HostedLaunch, _launches


def test_a_line_that_is_none_of_the_runtime_s_is_left_out(tmp_path: Path) -> None:
    told = tmp_path / "launches"
    told.write_text("0 fill\nsmuggled\n1 \n-3 fill\n" + "9" * 5000 + " fill\n98 other\n")
    assert _launches(told) == (HostedLaunch("fill", 0), HostedLaunch("", 1), HostedLaunch("other", 98))


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", ["nothing", "pipe", "link", "folder"])
def test_what_is_no_plain_file_tells_nothing(tmp_path: Path, kind: str) -> None:
    told, theirs = tmp_path / "launches", tmp_path / "theirs"
    theirs.write_text("0 fill\n")
    if kind == "pipe":
        os.mkfifo(told)
    elif kind == "link":
        told.symlink_to(theirs)
    elif kind == "folder":
        told.mkdir()
    assert _launches(told) == ()
