"""An interpreter for each release of Triton, as `--triton V,V` makes them, about half a gigabyte each.

They are kept in `build/environments/` (or where SHRINK_ENVIRONMENTS says). Several processes of pytest may ask for one:
the first makes it, the others wait.
"""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from shrinkray_gpu.corpus import environments
from shrinkray_gpu.errors import UsageError

T = TypeVar("T")
FOLDER = Path(__file__).parents[2] / "build" / "environments"
LAST_PYTHON = {"3.0.0": (3, 12), "3.2.0": (3, 13)}
"""The newest Python that an old release has a wheel for."""


def python(version: str) -> str:
    """An interpreter that imports this release of Triton. Where it can be had by no network, the test is skipped; all
    else is a failure."""
    if sys.version_info[:2] > LAST_PYTHON.get(version, sys.version_info[:2]):
        pytest.skip(f"there is no Triton {version} for Python {sys.version_info[0]}.{sys.version_info[1]}")
    return _made(f"Triton {version}", lambda: environments.with_triton(version, python=sys.executable))


def ptxas(version: str) -> Path:
    """The ptxas of this release of CUDA, likewise."""
    return _made(f"ptxas {version}", lambda: environments.with_ptxas(version, python=sys.executable))


def _made(what: str, make: Callable[[], T]) -> T:
    os.environ.setdefault("SHRINK_ENVIRONMENTS", str(FOLDER))
    try:
        return make()
    except UsageError as error:
        if _network():
            raise
        pytest.skip(f"{what} is not in {environments.home()}, and there is no network: {error}")


def _network() -> bool:
    """Whether the index answers at all; any answer counts, also a refusal."""
    asked = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    told = subprocess.run(asked, capture_output=True, text=True).stdout.strip()
    try:
        urllib.request.urlopen(told or "https://pypi.org/simple/pip/", timeout=20).close()
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True
