"""Patches: a change of the original, by the user's hand, that makes the fault vanish; carried over to candidates."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.reduction.program import normalise
from shrinkray_gpu.same_fault.patch import diffs
from shrinkray_gpu.same_fault.patch.merge import Merge, MergedText, words


@dataclass(frozen=True)
class Patch:
    """What turns the original into a program without the fault."""

    name: str
    original: str
    patched: str

    def carry(self, candidate: str) -> MergedText:
        """The candidate with the change, as far as it fits there."""
        if candidate == self.original:
            return MergedText(self.patched)
        return self._merge.carry(candidate)

    @cached_property
    def _merge(self) -> Merge:
        return Merge(self.original, self.patched, self.name)


def read(file: Path, original: str, script: str) -> Patch:
    """The patch in a file: a unified diff against the script, or the whole changed script. Raises UsageError."""
    try:
        text = normalise(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        what = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"--control-patch {file}: cannot be read ({what})") from error
    if diffs.is_diff(text):
        patched = diffs.apply_hunks(original, diffs.hunks(text, file.name), file.name, script)
    elif file.suffix == ".py":
        patched = text
    else:
        raise UsageError(
            f"--control-patch {file}: neither a unified diff (no @@ line) nor a .py file: make it with "
            f"git diff or diff -u, or give the whole changed {script}"
        )
    try:
        ast.parse(patched)
    except (SyntaxError, ValueError) as error:
        why = f"{error.msg}, line {error.lineno}" if isinstance(error, SyntaxError) else error
        raise UsageError(f"--control-patch {file}: with it {script} is not Python any more ({why})") from error
    if words(patched) == words(original):
        raise UsageError(
            f"--control-patch {file}: it changes only comments and spacing in {script}, and no fault vanishes by that"
        )
    return Patch(file.name, original, patched)
