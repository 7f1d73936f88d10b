"""`shrink bisect --index` over thirty nightlies named by their commits: real wheels, real installations, real runs.

The fault shows in some runs only, and some nightlies are of no use: two cannot be imported, one has another fault, and
the wheel of one is torn.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.questions.bisect.wheels import index

pytest.importorskip("triton")
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("bisect")]

NIGHTLIES, FIRST_BAD = 30, 19
UNIMPORTABLE, OTHER, TORN = (7, 18), 15, 24
COMMITS = [hashlib.sha1(f"commit {number}".encode()).hexdigest()[:8] for number in range(NIGHTLIES)]
RELEASES = [f"9.1.0.dev{number}+git{commit}" for number, commit in enumerate(COMMITS)]
PROGRAM = f"""\
import os
import triton

if triton.BUILD == {OTHER}:
    raise OSError("another fault")
if triton.BUILD >= {FIRST_BAD} and os.urandom(1)[0] < 220:
    {{}}["gone"]
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nightlies")
    builds = {release: f"no_such_name_{at}" if at in UNIMPORTABLE else at for at, release in enumerate(RELEASES)}
    index(folder / "index", builds)
    (torn,) = (folder / "index" / "triton").glob(f"*{COMMITS[TORN]}*")
    torn.write_bytes(torn.read_bytes()[:200])
    (folder / "failing.py").write_text(PROGRAM)
    return folder


def test_the_commit_of_thirty_nightlies_at_which_a_flaky_fault_began(place: Path) -> None:
    """The nightly before the first bad one cannot be imported, so that nothing can tell these two apart."""
    command = [
        *(sys.executable, "-m", "shrinkray_gpu", "bisect", "failing.py", "--index", (place / "index").as_uri()),
        *("--good", f"git{COMMITS[0]}", "--bad", f"git{COMMITS[-1]}", "--oracle", "exception:KeyError"),
        *("--arch", "sm_90", "--confidence", "0.999", "--json"),
    ]
    environment = {**os.environ, "SHRINK_ENVIRONMENTS": str(place / "environments")}
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, timeout=570)
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert told["change"] == RELEASES[FIRST_BAD - 1 : FIRST_BAD + 1] and told["probability"] >= 0.999
    rows = {row["release"]: row for row in told["releases"]}
    assert len(rows) == NIGHTLIES
    assert "no_such_name_18" in rows[RELEASES[18]]["no answer"]
    assert all(not row["faults"] for at, row in enumerate(told["releases"]) if at < FIRST_BAD)
    run = [release for release, row in rows.items() if row["faults"] or row["passes"] or row["other"]]
    assert len(run) < NIGHTLIES / 2, "most nightlies are never installed"
