"""Runs the tests on all cores, and those that failed once more, one at a time on a machine that is quiet by then.

    python .ci/tests.py [pytest-args...]

Many tests start processes, kill them and wait for others, beside as many tests as there are cores. One that passes
alone is named as unsteady at the end, and the run passes: it is to be mended, but says nothing of the change. More than
five failures, or a failure in the second run, fail the run.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

_PYTEST = [sys.executable, "-m", "pytest", "-m", "not gpu", "--timeout", "300"]
_SPREAD = ["--dist", "loadgroup", "--no-loadscope-reorder"]  # in the order of tests/conftest.py: the longest first
_FAILED = Path(".pytest_cache/v/cache/lastfailed")
_FEW = 5


def main(args: list[str]) -> int:
    _FAILED.unlink(missing_ok=True)
    code = subprocess.run([*_PYTEST, "-n", "auto", *_SPREAD, *args]).returncode
    if code != 1 or not _FAILED.exists():
        return code
    failed = [re.sub(r"@[^\]]*$", "", node) for node in json.loads(_FAILED.read_text())]  # without the group of xdist
    if len(failed) > _FEW:
        return code
    print(f"\nOnce more, alone: {', '.join(failed)}", flush=True)
    code = subprocess.run([*_PYTEST, *failed]).returncode
    if code == 0:
        print(f"UNSTEADY, to be mended: failed beside other tests, and passed alone: {', '.join(failed)}")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
