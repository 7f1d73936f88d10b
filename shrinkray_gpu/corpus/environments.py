"""Interpreters with another Triton: made once, kept, and shared by all that compares versions.

Such an environment is a folder with a Triton of its own that otherwise looks into the packages of the interpreter it
was made from, so that torch (gigabytes) is there once. It is a virtual environment without pip, made whole or not at
all: one that was interrupted is made anew.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from packaging.version import InvalidVersion, Version

from shrinkray_gpu.device.own_commands import run_command
from shrinkray_gpu.errors import UsageError

Say = Callable[[str], None]
About = tuple[tuple[int, int], list[str], dict[str, str]]
"""Version and package folders of an interpreter, and its torch and Triton."""
_ABOUT = """
import importlib.metadata, json, os, sys
packages = [p for p in sys.path if os.path.basename(p) in ('site-packages', 'dist-packages')]
present = dict.fromkeys(('torch', 'triton'), '')
for name in present:
    try:
        present[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
print(json.dumps([sys.version_info[:2], packages, present]))
"""

_PEOPLE = {"triton": "Triton"}
_OF_RELEASE = re.compile(
    r"Could not find a version that satisfies|No matching distribution found|is invalid|is not a supported wheel"
    r"|requires a different Python|inconsistent (?:version|name)|subprocess-exited-with-error|HTTP error 4(?:04|10)"
)
"""What pip says of a release that cannot be had, whenever one asks."""
_OF_NETWORK = re.compile(r"\(from versions: none\)|Retrying \(|connection broken|Could not fetch URL", re.IGNORECASE)
"""What it says, beside the same words, where an index does not answer."""


class NoSuchRelease(UsageError):
    """No index has this release for this interpreter, or its package is broken. Nothing else was in the way."""


def home() -> Path:
    """Where environments are kept: `SHRINK_ENVIRONMENTS`, or a folder of the user's cache."""
    given = os.environ.get("SHRINK_ENVIRONMENTS")
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(given) if given else Path(cache) / "shrinkray_gpu" / "environments"


def with_triton(version: str, *, python: str, index: str = "", say: Say = lambda text: None) -> str:
    """The path of an interpreter like `python`, with this Triton: `python` itself if it has that one, else one beside
    it, into which it is installed where that was not done before. `index`: from this one alone, and then never
    `python` itself.

    Raises NoSuchRelease where there is no such Triton for this Python, and UsageError where nothing can be installed.
    """
    (version,) = in_order([version])
    return _with("triton", version, python, index, say, alone=True)


def with_torch(version: str, *, python: str, index: str = "", say: Say = lambda text: None) -> str:
    """The same with this torch, and with what it depends on: a build that pins a Triton brings that one, any other
    leaves the Triton of `python` as it is. Raises as `with_triton` does."""
    return _with("torch", version, python, index, say, alone=False)


def triton_of(python: str) -> str:
    """The Triton of an interpreter; empty where it has none. Raises UsageError."""
    return _about(python)[2]["triton"]


def tritons_at_hand(python: str) -> list[str]:
    """The releases that were installed aside for this interpreter before, the newest first, without its own: nothing
    is installed for this. Raises UsageError where the interpreter does not run."""
    about = _about(python)
    made = [path.parent.name.split("-")[1] for path in home().glob(f"{_name('triton', '*', about)}/whole")]
    return [version for version in reversed(in_order(made)) if version != about[2]["triton"]]


def _name(package: str, version: str, about: About, index: str = "") -> str:
    """Another interpreter has another torch, though the Triton be the same."""
    (major, minor), packages, _ = about
    like = hashlib.sha256("\n".join([*packages, *filter(None, [index])]).encode()).hexdigest()[:8]
    return f"{package}-{version}-python{major}.{minor}-{like}"


def _with(package: str, version: str, python: str, index: str, say: Say, *, alone: bool) -> str:
    about = (major, minor), packages, present = _about(python)
    if present[package] == version and not index:
        return python
    folder = home() / _name(package, version, about, index)
    own = folder / "lib" / f"python{major}.{minor}" / "site-packages"
    if (folder / "whole").exists():
        return str(folder / "bin" / "python")
    with _locked(folder):
        if not (folder / "whole").exists():
            say(f"installing {package} {version} into {folder} ...")
            try:
                wanted = [*(["--no-deps"] if alone else []), f"{package}=={version}"]
                _make(folder, own, wanted, python, packages, index)
            except UsageError:
                shutil.rmtree(folder, ignore_errors=True)
                raise
    return str(folder / "bin" / "python")


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Alone in making this folder of ours: of two commands at once one does. Raises UsageError where nothing can be
    written."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with open(folder.parent / f"{folder.name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
    except OSError as error:
        raise UsageError(
            f"cannot write {folder}: {error.strerror}. Name another place for environments by SHRINK_ENVIRONMENTS"
        ) from error


def triton_releases(python: str, index: str = "", package: str = "triton") -> list[str]:
    """The releases of Triton (or torch) that this interpreter could install, oldest first; of an `index` that is given
    (its URL, PEP 503 or 691) pre-releases, too, and that index alone. Raises UsageError without an index."""
    names = in_order(_offered(package, python, index))
    return [name for name in names if index or not Version(name).is_prerelease]


def ptxas_releases(python: str) -> list[str]:
    """The releases of ptxas that could be installed, oldest first. Raises UsageError without an index."""
    found = [*_offered("nvidia-cuda-nvcc-cu12", python), *_offered("nvidia-cuda-nvcc", python)]
    return sorted((each for each in set(found) if Version(each) >= Version("12")), key=Version)


def _offered(package: str, python: str, index: str = "") -> list[str]:
    command = [python, "-m", "pip", "index", "versions", package, *(["--pre"] if index else [])]
    done = _run(command, f"cannot ask for the releases of {_PEOPLE.get(package, package)}", index)
    found = re.search(r"Available versions: (.+)", done)
    if found is None:
        what = _PEOPLE.get(package, package)
        raise UsageError(f"pip does not say which releases of {what} there are: {done.strip()[:120]!r}")
    return [text.strip() for text in found[1].split(",")]


def with_ptxas(version: str, *, python: str, say: Say = lambda text: None) -> Path:
    """The ptxas of this release of CUDA (12.4 is the last 12.4.x), installed aside where that was not done before.

    Raises NoSuchRelease where there is none, and UsageError where nothing can be installed.
    """
    tool = home() / f"ptxas-{version}" / "ptxas"
    with _locked(tool.parent):
        if not tool.exists():
            say(f"installing ptxas {version} into {tool.parent} ...")
            _install_ptxas(tool, version, python)
    return tool


def ptxas_at_hand() -> dict[str, Path]:
    """The releases that were installed aside before, oldest first: nothing is installed for this."""
    found = {tool.parent.name.partition("-")[2]: tool for tool in home().glob("ptxas-*/ptxas")}
    return dict(sorted(found.items(), key=lambda each: Version(each[0])))


def _install_ptxas(tool: Path, version: str, python: str) -> None:
    """The package has nvcc and its libraries, too: only ptxas is kept."""
    major = Version(version).major
    package = "nvidia-cuda-nvcc" if major > 12 else f"nvidia-cuda-nvcc-cu{major}"
    wanted = f"{package}=={version}{'.*' if version.count('.') < 2 else ''}"
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    with tempfile.TemporaryDirectory(dir=home()) as folder:
        _install([*install, "--target", folder, wanted], f"cannot install ptxas {version}")
        found = next(Path(folder).rglob("bin/ptxas"), None)
        if found is None:
            raise NoSuchRelease(f"{wanted} has no ptxas: name another release by --ptxas")
        tool.parent.mkdir(exist_ok=True)
        found.replace(tool)


def ptxas_in_order(versions: Iterable[str]) -> list[str]:
    """Releases of ptxas oldest first, each once, as they are typed. Raises UsageError for what is none."""
    found = list(dict.fromkeys(versions))
    for version in found:
        if not re.fullmatch(r"(?:1[1-9]|[2-9]\d)\.\d+(?:\.\d+)?", version):
            raise UsageError(f"--ptxas {version}: that is no release of CUDA; write 12.4, or several as 12.4,12.9,13.0")
    return sorted(found, key=Version)


def in_order(versions: Iterable[str]) -> list[str]:
    """Versions oldest first, each once, as Triton spells them (3.4 is 3.4.0). Raises UsageError for what is none."""
    found = set()
    for version in versions:
        try:
            found.add(Version(version))
        except InvalidVersion as error:
            raise UsageError(
                f"--triton {version}: that is no version; write 3.6.0, or several as 3.4.0,3.6.0"
            ) from error
    return [f"{version}.0" if re.fullmatch(r"\d+\.\d+", str(version)) else str(version) for version in sorted(found)]


def _make(folder: Path, own: Path, wanted: list[str], python: str, packages: list[str], index: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    _run([python, "-m", "venv", "--without-pip", str(folder)], f"cannot make {folder}")
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", str(own)]
    _install([*install, *wanted], f"cannot install {wanted[-1].replace('==', ' ')}", index)
    # Looked into after its own packages.
    (own / "shrink_base.pth").write_text("".join(f"{path}\n" for path in packages))
    (folder / "whole").touch()


def _about(python: str) -> About:
    """Version and package folders of an interpreter, and its torch and Triton; empty where it has none."""
    said = _run([python, "-c", _ABOUT], f"cannot run the interpreter {python}")
    try:
        version, packages, present = json.loads(said)
        return (version[0], version[1]), list(dict.fromkeys(packages)), present
    except (ValueError, TypeError, IndexError) as error:
        raise UsageError(f"{python} is not a Python interpreter: it answered {said.strip()[:80]!r}") from error


def _install(command: list[str], failed: str, index: str = "") -> None:
    """Raises NoSuchRelease where it is the release that is at fault, and UsageError for all else."""
    done = _ended(command, failed, index)
    if done.returncode:
        if _OF_NETWORK.search(done.stderr):
            failed += ": no index answers, or it has no release at all; is the network there?"
        elif _OF_RELEASE.search(done.stderr):
            raise NoSuchRelease(_complaint(done, failed))
        raise UsageError(_complaint(done, failed))


def _run(command: list[str], failed: str, index: str = "") -> str:
    """What a command prints."""
    done = _ended(command, failed, index)
    if done.returncode:
        raise UsageError(_complaint(done, failed))
    return done.stdout


def _ended(command: list[str], failed: str, index: str) -> subprocess.CompletedProcess[str]:
    """pip, where an `index` is given, looks nowhere else, whatever its settings say."""
    only = {"PIP_INDEX_URL": index, "PIP_EXTRA_INDEX_URL": index, "PIP_FIND_LINKS": index} if index else {}
    try:
        return run_command(command, capture_output=True, text=True, env={**os.environ, **only})
    except OSError as error:
        raise UsageError(f"{failed}: {error.strerror}") from error


def _complaint(done: subprocess.CompletedProcess[str], failed: str) -> str:
    said = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    errors = [line for line in said if line.startswith("ERROR")]
    return f"{failed}: {(errors or said or ['it says nothing'])[-1]}"
