"""The files of one candidate: each with the changes that were made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shrinkray_gpu.folder.contents import FolderContents

Rendered = Callable[[Sequence[Any]], str]


@dataclass(frozen=True, eq=False)
class ReadFile:
    """A file's text as one kind of change sees it: `rendered` is the text with some of the changes made."""

    text: str
    rendered: Rendered


@dataclass(frozen=True)
class FileDraft:
    """A file of a candidate: the text that changes were found in, and those that are made."""

    text: str
    read: ReadFile | None = None
    made: tuple[Any, ...] = ()

    def changed(self, read: ReadFile, changes: Iterable[Any]) -> FileDraft:
        """With these made too; as it is, where they were found in another text."""
        made = self.made if self.read is read else ()
        if self.read is not read and self.text != read.text:
            return self
        made = (*made, *changes)
        return FileDraft(read.rendered(made), read, made)


@dataclass(frozen=True, eq=False)
class FileTree:
    """The files of a candidate, by path, and what is carried along with them."""

    files: Mapping[str, FileDraft]
    carried: frozenset[str]

    @staticmethod
    def of(contents: FolderContents) -> FileTree:
        return FileTree({path: FileDraft(text) for path, text in contents.texts.items()}, frozenset(contents.carried))

    def with_files(self, changed: Mapping[str, FileDraft | None]) -> FileTree:
        """With these files in place of their former ones; None: gone."""
        if all(self.files.get(path) is draft for path, draft in changed.items()):
            return self
        files = {path: changed.get(path, draft) for path, draft in self.files.items()}
        return replace(self, files={path: draft for path, draft in files.items() if draft is not None})

    @property
    def texts(self) -> dict[str, str]:
        return {path: draft.text for path, draft in self.files.items()}

    @property
    def bytes(self) -> int:
        """Of all files that are reduced."""
        return sum(len(draft.text.encode("utf-8", "surrogatepass")) for draft in self.files.values())

    @property
    def lines(self) -> int:
        return sum(draft.text.count("\n") for draft in self.files.values())


def written(tree: FileTree) -> str:
    """All of it as one text, by which two candidates are told apart."""
    texts = "\0".join(f"{path}\0{draft.text}" for path, draft in sorted(tree.files.items()))
    return "\0".join([texts, *sorted(tree.carried)])


def size(tree: FileTree, _: str) -> tuple[int, ...]:
    """What the search makes smaller: bytes of all files together, then the number of files."""
    return tree.bytes, len(tree.files) + len(tree.carried)
