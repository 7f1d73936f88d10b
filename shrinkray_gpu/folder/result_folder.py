"""The folder that comes of a reduction: the files, and a script that runs the command in it."""

from __future__ import annotations

import os
import shlex
import shutil
import time
from pathlib import Path

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.folder.contents import MARK, SCRIPTS, FolderContents, is_script_of_result
from shrinkray_gpu.folder.copies import FolderCopy
from shrinkray_gpu.folder.tree import FileTree


def check_output(output: Path, root: Path) -> None:
    """Raises UsageError where a result must not go."""
    if output == root or root in output.parents:
        raise UsageError(f"--output {output} is in the folder of sources: choose a place beside it")
    if output in root.parents:
        raise UsageError(f"--output {output} holds the folder of sources: choose a place beside it")
    if output.exists() and not output.is_dir():
        raise UsageError(f"--output {output} is a file: the result is a folder")
    if output.is_dir() and any(output.iterdir()) and not any(is_script_of_result(output / name) for name in SCRIPTS):
        raise UsageError(f"--output {output} is a folder with other files in it: choose another, or empty it")
    if not os.access(output.parent, os.W_OK):
        raise UsageError(f"cannot write {output}: {output.parent} is no folder that can be written. Choose another")


class ResultFolder:
    """The best so far, whole at every moment."""

    def __init__(self, contents: FolderContents, output: Path, command: tuple[str, ...], shows: str) -> None:
        self.output, self.command, self.shows = output, command, shows
        self.making = output.with_name(f".{output.name}.new")
        shutil.rmtree(self.making, ignore_errors=True)
        self.copy = FolderCopy(contents, self.making)
        self.name = SCRIPTS[0]
        self.best: FileTree | None = None
        """What was not written yet."""
        self.next = 0.0
        """When it is, on the monotonic clock: a big folder is not written at each step."""

    def note(self, tree: FileTree) -> None:
        """Write the best so far, if the last writing is long ago for what it took."""
        self.best = tree
        started = time.monotonic()
        if started >= self.next:
            self.write(tree)
            self.next = time.monotonic() + 10 * (time.monotonic() - started)

    def write(self, tree: FileTree) -> None:
        """Put the candidate in the place of what is there."""
        self.copy.prepare(tree)
        former = self.output.with_name(f".{self.output.name}.old")
        shutil.rmtree(former, ignore_errors=True)
        made = self.making / "made"
        shutil.rmtree(made, ignore_errors=True)
        shutil.copytree(self.copy.place, made, symlinks=True)
        self.name = SCRIPTS[os.path.lexists(made / SCRIPTS[0])]
        script = made / self.name
        words = shlex.join(self.command)
        shown = " ".join(self.shows.split())
        script.write_text(f'#!/bin/sh\n{MARK}{shown}\ncd "$(dirname "$0")" && exec {words}\n', encoding="utf-8")
        script.chmod(0o755)
        if self.output.exists():
            self.output.rename(former)
        made.rename(self.output)
        shutil.rmtree(former, ignore_errors=True)
        self.best = None

    def close(self) -> None:
        """Write what was not, and remove what was needed for that."""
        if self.best is not None:
            self.write(self.best)
        shutil.rmtree(self.making, ignore_errors=True)
