"""`python COMMAND.PY NAME WORDS...` is `python -m shrinkray_gpu WORDS...`, with keepers of the server of that name."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

ROOT = str(Path(__file__).parents[2])


def main() -> None:
    del sys.path[0]  # this folder
    sys.path.insert(0, ROOT)
    from shrinkray_gpu.runner import guarded
    from tests.forked.keepers import ForkedKeeper

    guarded.KEEPER = ForkedKeeper(sys.argv[1])
    sys.path[0] = os.getcwd()  # as `-m` has it
    sys.argv[1:] = sys.argv[2:]
    runpy.run_module("shrinkray_gpu", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
