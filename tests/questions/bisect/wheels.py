"""A package index of small wheels of Triton or torch, each with a number in it. All else comes from the package of the
base."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

INIT = """\
import os, sys
_base = next(p for p in sys.path if os.path.isdir(p + "/{package}/{part}"))
__path__ = [_base + "/{package}"]
__file__ = _base + "/{package}/__init__.py"
exec(compile(open(__file__).read(), __file__, "exec"))
BUILD = {build}
"""


PARTS = {"triton": "runtime", "torch": "autograd"}
"""A folder that only the package of the base has."""


def wheel(folder: Path, version: str, build: int | str, package: str = "triton", needs: Sequence[str] = ()) -> Path:
    """A wheel whose `triton.BUILD` is this number, or what this expression is."""
    info = f"{package}-{version}.dist-info"
    requires = "".join(f"Requires-Dist: {each}\n" for each in needs)
    files = {
        f"{package}/__init__.py": INIT.format(package=package, part=PARTS[package], build=build),
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n{requires}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    if package == "triton":
        files[f"{info}/entry_points.txt"] = "[triton.backends]\nnvidia = triton.backends.nvidia\n"
    record = "".join(f"{name},{_digest(text)},{len(text.encode())}\n" for name, text in files.items())
    path = folder / f"{package}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in {**files, f"{info}/RECORD": f"{record}{info}/RECORD,,\n"}.items():
            archive.writestr(name, text)
    return path


def index(
    folder: Path,
    builds: Mapping[str, int | str],
    package: str = "triton",
    needs: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """The URL of an index (PEP 503) in this folder, with a wheel for each version. `needs`: by version, what it
    requires."""
    place = folder / package
    place.mkdir(parents=True)
    names = [wheel(place, each, build, package, (needs or {}).get(each, ())).name for each, build in builds.items()]
    links = "".join(f'<a href="{name}">{name}</a>\n' for name in names)
    (place / "index.html").write_text(f"<!DOCTYPE html><html><body>\n{links}</body></html>\n")
    return folder.absolute().as_uri()


def _digest(text: str) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
