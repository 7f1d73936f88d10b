"""One interpreter for each release of Triton: the running one's packages, but for Triton itself.

An environment is made once and kept in `build/triton-versions/` (or where SHRINK_TRITON_VERSIONS says), about half a
gigabyte each. Of a wheel, only what compiling needs is unpacked: the rest is as much again, and unpacking is what takes
the time. Several processes of pytest may ask for one: the first makes it, the others wait.
"""

from __future__ import annotations

import fcntl
import importlib.metadata
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import urllib.error
import urllib.request
import venv
import zipfile
from pathlib import Path

import pytest

FOLDER = Path(os.environ.get("SHRINK_TRITON_VERSIONS") or Path(__file__).parents[2] / "build" / "triton-versions")
UNUSED = ("/cupti", "/instrumentation/", "/include/", "libproton.so")
"""Parts of a wheel that neither compile nor disassemble for sm_90, in words of their paths."""
LAST_PYTHON = {"3.0.0": (3, 12), "3.2.0": (3, 13)}
"""The newest Python that an old release has a wheel for."""


def python(version: str) -> str:
    """An interpreter that imports this release of Triton."""
    if sys.version_info[:2] > LAST_PYTHON.get(version, sys.version_info[:2]):
        pytest.skip(f"there is no Triton {version} for Python {sys.version_info[0]}.{sys.version_info[1]}")
    if _installed() == version:
        return sys.executable
    FOLDER.mkdir(parents=True, exist_ok=True)
    tag = f"{version}-{sysconfig.get_python_version()}"
    with open(FOLDER / f"{tag}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made, ready = FOLDER / tag, FOLDER / tag / "ready"
        recipe = f"without {UNUSED}, beside {sys.executable}\n"
        if not ready.exists() or ready.read_text() != recipe:
            shutil.rmtree(made, ignore_errors=True)
            _make(made, version)
            ready.write_text(recipe)
    return str(made / "bin" / "python")


def _installed() -> str:
    try:
        return importlib.metadata.version("triton")
    except importlib.metadata.PackageNotFoundError:
        return ""


def _make(place: Path, version: str) -> None:
    venv.create(place, symlinks=True)
    packages = place / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder, zipfile.ZipFile(_wheel(version, Path(folder))) as wheel:
        for name in wheel.namelist():
            if not any(part in name for part in UNUSED):
                wheel.extract(name, packages)
    for tool in packages.glob("triton/backends/nvidia/bin/*"):
        tool.chmod(0o755)
    # What a .pth names comes after the environment's own packages, so its Triton is found first.
    theirs = dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))
    (packages / "others.pth").write_text("".join(f"{path}\n" for path in theirs))
    # Leaves compiled bytecode too, of just what is imported: the worker writes none.
    asked = [str(place / "bin" / "python"), "-c", "import torch, triton; print(triton.__version__)"]
    told = subprocess.run(asked, capture_output=True, text=True)
    assert told.stdout.strip() == version, f"{asked[0]} imports another Triton: {told.stdout}{told.stderr}"


def _wheel(version: str, folder: Path) -> Path:
    """The wheel, from pip's index or its cache. Without any network the test is skipped; all else is a failure."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    done = subprocess.run(
        [*command, "--retries=2", "--dest", str(folder), f"triton=={version}"], capture_output=True, text=True
    )
    wheels = list(folder.glob("triton-*.whl"))
    if done.returncode == 0 and wheels:
        return wheels[0]
    if not _network():
        pytest.skip(f"Triton {version} is not installed in {FOLDER}, and there is no network to fetch it from")
    pytest.fail(f"pip cannot get Triton {version}: {done.stderr.strip()}")


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
