"""The fence: it stands around candidates, not around the user's own program, and what it refuses is told by name."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

import pytest

from shrinkray_gpu.runner.fence import advice, refused
from shrinkray_gpu.runner.inside.process import landlock
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.private_setup import private_setup
from tests.oracle.runs import failing

fenced = pytest.mark.skipif(
    ctypes.CDLL(None).syscall(landlock.CREATE, None, 0, 1) < 1, reason="this kernel has no Landlock"
)
ORIGINAL = "open('results.html', 'w').write('1')\n"
CANDIDATE = "open('results.html', 'w').write('2')\n"


def pool(folder: Path, *, writable: tuple[Path, ...] = ()) -> Pool:
    setup = private_setup(
        folder / "work", dict(os.environ), python=sys.executable, imports=(), own=(), writable=writable
    )
    script = Script(folder / "failing.py", cwd=folder, original=ORIGINAL)
    return Pool(script, setup, mode="cold", jobs=1, seconds=60)


@fenced
def test_the_users_own_program_writes_where_it_likes_and_a_candidate_does_not(tmp_path: Path) -> None:
    runs = pool(tmp_path)
    own = runs.cold(ORIGINAL)
    assert own.failure is None and own.writes == (str(tmp_path.resolve() / "results.html"),)
    run = runs.cold(CANDIDATE)
    assert (tmp_path / "results.html").read_text() == "1"
    assert refused(run, tmp_path) == (tmp_path / "results.html",) and run.writes == ()
    assert f"--writable {tmp_path} allows it" in advice(refused(run, tmp_path))


@fenced
def test_a_candidate_writes_where_the_user_allows_it(tmp_path: Path) -> None:
    run = pool(tmp_path, writable=(tmp_path,)).cold(CANDIDATE)
    assert run.failure is None and (tmp_path / "results.html").read_text() == "2"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_what_nobody_may_write_was_not_refused_by_the_fence(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir(mode=0o500)
    there = failing("PermissionError", f"[Errno 13] Permission denied: '{tmp_path}/theirs/x'")
    assert refused(there, tmp_path) == () and advice(()) == ""


def test_a_refusal_that_the_program_turns_into_another_error_is_told_too(tmp_path: Path) -> None:
    said = f"PermissionError: [Errno 13] Permission denied: '{tmp_path}/a/b'\n"
    assert refused(failing("RuntimeError", "no cache", stderr=said), tmp_path) == (tmp_path / "a" / "b",)


def test_the_first_of_the_folders_stays_that_of_the_caches(tmp_path: Path) -> None:
    setup: Setup = pool(tmp_path, writable=(tmp_path,)).setup
    assert setup.writable == (str(tmp_path / "work" / "cache"), str(tmp_path))
