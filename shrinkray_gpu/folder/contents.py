"""A folder as it is found: the files that are reduced, those that are only carried along, and why."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from shrinkray_gpu.errors import UsageError

LARGEST = 1 << 20
"""Bytes of a file that is reduced."""
LEFT_OUT = frozenset({".git", ".hg", ".svn", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"})
"""Folders that no candidate gets."""
IGNORED, BINARY, LARGE, LINK, ENVIRONMENT = (
    "ignored by git",
    "binary",
    "over 1 MiB",
    "links",
    "environments",
)
"""Why a file is only carried along."""
MARK = "# Reduced by shrink. It shows: "
"""In the script of a result, which is written anew where that is reduced further."""
SCRIPTS = ("run.sh", "shrink_run.sh")


@dataclass(frozen=True)
class FolderContents:
    """What is in it, by paths relative to `root`."""

    root: Path
    texts: Mapping[str, str]
    """Files that are reduced."""
    carried: Mapping[str, str]
    """What is only carried along, and why. An ignored folder is one, and so is a virtual environment."""
    empty: frozenset[str]
    """Folders with nothing in them."""

    @property
    def lines(self) -> int:
        return sum(text.count("\n") for text in self.texts.values())

    @property
    def told(self) -> str:
        """Which files are reduced and which are carried, in a line."""
        counts = Counter(self.carried.values())
        rest = ", ".join(f"{count} {why}" for why, count in counts.most_common())
        carried = f"; {len(self.carried)} only carried along ({rest})" if rest else ""
        return f"{len(self.texts)} files with {self.lines} lines are reduced{carried}"


def read_folder(root: Path) -> FolderContents:
    """Raises UsageError where the folder cannot be reduced."""
    _check(root)
    root = root.resolve()
    ignored = _ignored(root)
    texts: dict[str, str] = {}
    carried: dict[str, str] = {}
    empty: set[str] = set()
    for path, entry in _entries(root, "", ignored):
        if entry is None:
            empty.add(path)
        elif entry.is_symlink():
            carried[path] = IGNORED if path in ignored else LINK
            _check_link(root, path, outside=path in ignored)
        elif path in ignored:
            carried[path] = IGNORED
        elif entry.is_dir():
            carried[path] = ENVIRONMENT
        elif entry.stat().st_size > LARGEST:
            carried[path] = LARGE
        elif (text := _text(root / path)) is None:
            carried[path] = BINARY
        elif path in SCRIPTS and MARK in text:
            continue
        else:
            texts[path] = text
    if not texts:
        what = "only files that are carried along" if carried else "nothing"
        raise UsageError(f"--sources {root} holds {what}: there is no text to reduce")
    return FolderContents(root, texts, carried, frozenset(empty))


def is_script_of_result(path: Path) -> bool:
    """Whether it is the script that a reduction wrote into its result."""
    return path.is_file() and MARK in path.read_text(errors="replace")


def size_on_disk(contents: FolderContents) -> int:
    """Bytes of what is carried along, but for environments, which are linked."""
    total = 0
    for path, why in contents.carried.items():
        if why != ENVIRONMENT:
            files = [contents.root / path, *(contents.root / path).rglob("*")]
            total += sum(file.lstat().st_size for file in files if not file.is_symlink())
    return total


def _check(root: Path) -> None:
    if not root.is_dir():
        what = "is a file" if root.exists() else "does not exist"
        raise UsageError(f"--sources {root} {what}: name the folder that the command runs in")
    real, home = root.resolve(), Path.home().resolve()
    if real == home or real in home.parents:
        raise UsageError(f"--sources {root} is your home folder or above it: name the folder of one project")
    if not os.access(real, os.R_OK | os.X_OK):
        raise UsageError(f"--sources {root} cannot be read")


def _entries(root: Path, folder: str, ignored: frozenset[str]) -> Iterator[tuple[str, os.DirEntry[str] | None]]:
    """Files, links and the folders that are carried as a whole, by name; empty folders with None."""
    try:
        found = sorted(os.scandir(root / folder), key=lambda each: each.name)
    except OSError as error:
        raise UsageError(f"{root / folder} cannot be read ({error.strerror})") from error
    for entry in found:
        path = os.path.join(folder, entry.name)
        if entry.is_symlink():
            yield path, entry
        elif entry.is_dir():
            if entry.name in LEFT_OUT or entry.name.endswith(".shrink"):
                continue
            if path in ignored or os.path.exists(os.path.join(entry.path, "pyvenv.cfg")):
                yield path, entry
            else:
                yield from _entries(root, path, ignored)
        elif stat.S_ISREG(entry.stat().st_mode):
            yield path, entry
    if not found and folder:
        yield folder, None


def _check_link(root: Path, path: str, *, outside: bool) -> None:
    target = Path(os.path.realpath(root / path))
    if root not in (target, *target.parents) and not outside:
        raise UsageError(
            f"{root / path} leads out of the folder, to {target}: candidates run in a copy. Put a copy of it in its "
            "place, or name a folder that holds both"
        )


def _text(path: Path) -> str | None:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror})") from error
    try:
        return None if b"\0" in data else data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _ignored(root: Path) -> frozenset[str]:
    """What the .gitignore files name, in a work tree or not; nothing where there is no git."""
    if shutil.which("git") is None:
        return frozenset()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_OPTIONAL_LOCKS": "0"}
    asked = ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"]

    def git(*words: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            ["git", *words], cwd=root, env=environment, capture_output=True, stdin=subprocess.DEVNULL, check=False
        )

    done = git(*asked)
    if done.returncode and any(root.rglob(".gitignore")):
        with tempfile.TemporaryDirectory(prefix="shrink-git-") as folder:
            git("init", "--quiet", "--bare", folder)
            done = git(f"--git-dir={folder}", f"--work-tree={root}", *asked)
    if done.returncode:
        return frozenset()
    return frozenset(os.fsdecode(name).rstrip("/") for name in done.stdout.split(b"\0") if name)
