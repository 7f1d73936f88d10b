"""The temporary folder that one run has for itself, so that no candidate finds what another one left there.

The tool makes the folder and removes it: whoever was killed cannot.
"""

from __future__ import annotations

import os
import sys
from typing import Any


def use(folder: str) -> None:
    """From here on `tempfile`, multiprocessing and child processes write there."""
    os.environ["TMPDIR"] = folder
    # Both remember the folder that they found first: the parent's, or that of the candidate before this one.
    tempfile: Any = sys.modules.get("tempfile")
    if tempfile is not None:
        tempfile.tempdir = None
    process: Any = sys.modules.get("multiprocessing.process")
    if process is not None:
        process.current_process()._config.pop("tempdir", None)
