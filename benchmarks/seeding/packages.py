"""Released packages with Triton kernels: their wheels, the folder they are unpacked into, and copies with one change.

Nothing of theirs is in the repository. A wheel is unpacked without its dependencies; what an import needs besides is in
the list as well.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "seeded"
WHEELS, SITE = BUILD / "wheels", BUILD / "site"
PYTHON = "3.12"
"""Of a device machine. What is unpacked of a wheel is Python, so that 3.11 takes it, too."""
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_24_x86_64", "manylinux_2_17_x86_64")


@dataclass(frozen=True)
class Package:
    """One released package."""

    name: str
    """As it is imported, and as its file in calls/ is called."""
    distribution: str
    version: str
    environment: tuple[tuple[str, str], ...] = ()
    """What it wants to be told where there is no GPU to ask, and where it may write: a candidate may in its folder."""


PACKAGES = (
    Package("liger_kernel", "liger-kernel", "0.8.5"),
    Package("fla", "fla-core", "0.6.0"),
    Package("flag_gems", "flag-gems", "5.0.2", (("GEMS_VENDOR", "nvidia"), ("FLAGGEMS_CACHE_DIR", ".flaggems"))),
    Package("torchao", "torchao", "0.18.0"),
    Package("conch", "conch-triton-kernels", "1.3"),
    Package("cut_cross_entropy", "cut-cross-entropy", "25.1.1"),
)
NEEDED = ("einops==0.8.2", "sqlalchemy==2.0.48", "PyYAML==6.0.3")
"""Imported by fla, and by flag_gems."""


def by_name(name: str) -> Package:
    return next(one for one in PACKAGES if one.name == name)


def environment() -> dict[str, str]:
    """What all packages together want in the environment."""
    return {name: value for one in PACKAGES for name, value in one.environment}


def download(folder: Path = WHEELS) -> list[Path]:
    """All wheels, in a folder; those that are there are not fetched again. Raises SystemExit where one is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = _wanted()
    missing = [one for one in wanted if _wheel(folder, one) is None]
    if missing:
        platforms = [word for one in PLATFORMS for word in ("--platform", one)]
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        command += ["--python-version", PYTHON, "--implementation", "cp", *platforms, "--dest", str(folder), *missing]
        subprocess.run(command, check=True)
    found = [_wheel(folder, one) for one in wanted]
    if None in found:
        raise SystemExit(f"not in {folder}: {', '.join(one for one, at in zip(wanted, found) if at is None)}")
    return [one for one in found if one is not None]


def _wanted() -> list[str]:
    return [f"{one.distribution}=={one.version}" for one in PACKAGES] + list(NEEDED)


def _start(wanted: str) -> str:
    """Of the name of its wheel."""
    name, _, version = wanted.partition("==")
    return f"{name.replace('-', '_')}-{version}-".lower()


def _wheel(folder: Path, wanted: str) -> Path | None:
    found = sorted(folder.glob("*.whl"))
    return next((one for one in found if one.name.lower().startswith(_start(wanted))), None)


def ready(site: Path = SITE) -> None:
    """Fetch and unpack what is not there yet. A machine without network is given `site` as it is here."""
    stamps = [stamp.name.removeprefix(".").lower() for stamp in site.glob(".*-*")]
    if not all(any(stamp.startswith(_start(one)) for stamp in stamps) for one in _wanted()):
        install(download(), site)


def install(wheels: Iterable[Path], site: Path = SITE) -> None:
    """Unpack the wheels, each once, without their extensions: PyYAML and SQLAlchemy do without."""
    for wheel in wheels:
        done = site / f".{wheel.stem}"
        if done.exists():
            continue
        with zipfile.ZipFile(wheel) as archive:
            names = [one for one in archive.namelist() if not _is_left_out(one)]
            archive.extractall(site, names)
        done.touch()


def _is_left_out(name: str) -> bool:
    parts = name.split("/")
    return name.endswith(".so") or parts[0] in ("test", "tests")


def overlay(folder: Path, package: str, changes: dict[str, str], site: Path | None = None) -> Path:
    """A copy of a package in `folder`, with the texts of some files (paths below `site`) replaced; to come first in
    PYTHONPATH. The files that stay are hard links."""
    shutil.rmtree(folder, ignore_errors=True)
    left_out = shutil.ignore_patterns("*.pyc")
    shutil.copytree((site or SITE) / package, folder / package, copy_function=os.link, ignore=left_out)
    for name, text in changes.items():
        path = folder / name
        path.unlink()
        path.write_text(text, encoding="utf-8")
    return folder


def commit() -> str:
    """The tree's, short: it names a row of results."""
    asked = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
