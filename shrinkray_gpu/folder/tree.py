"""The files of one candidate, and the changes that led to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shrinkray_gpu.folder.contents import FolderContents


@dataclass(frozen=True, eq=False)
class Reading:
    """Some files as one kind of change sees them: `rendered` tells those that differ with some of the changes made."""

    texts: Mapping[str, str]
    rendered: Callable[[Sequence[Any]], Mapping[str, str]]


@dataclass(frozen=True, eq=False)
class FileTree:
    """The files of a candidate, by path, and what is carried along with them."""

    texts: Mapping[str, str]
    carried: frozenset[str] = frozenset()
    made: Mapping[Reading, tuple[Any, ...]] = field(default_factory=dict)
    """The changes by which files became what they are since they were read so."""

    @staticmethod
    def of(contents: FolderContents) -> FileTree:
        return FileTree(contents.texts, frozenset(contents.carried))

    def with_texts(self, changed: Mapping[str, str | None]) -> FileTree:
        """With these texts in place of the former ones; None: gone."""
        texts = {path: changed.get(path, text) for path, text in self.texts.items()}
        made = {reading: made for reading, made in self.made.items() if not reading.texts.keys() & changed.keys()}
        return FileTree({path: text for path, text in texts.items() if text is not None}, self.carried, made)

    def without(self, carried: frozenset[str]) -> FileTree:
        """Without these that are only carried along."""
        return FileTree(self.texts, self.carried - carried, self.made)

    def changed(self, reading: Reading, changes: Sequence[Any]) -> FileTree:
        """With these changes made too; as it is, where its files are no more those that were read."""
        before = self.made.get(reading)
        if before is None and any(self.texts.get(path) != text for path, text in reading.texts.items()):
            return self
        made = (*(before or ()), *changes)
        tree = self.with_texts({**reading.texts, **reading.rendered(made)})
        return FileTree(tree.texts, tree.carried, {**tree.made, reading: made})

    @property
    def bytes(self) -> int:
        """Of all files that are reduced."""
        return sum(len(text.encode("utf-8", "surrogatepass")) for text in self.texts.values())

    @property
    def lines(self) -> int:
        return sum(text.count("\n") for text in self.texts.values())


def written(tree: FileTree) -> str:
    """All of it as one text, by which two candidates are told apart."""
    texts = "\0".join(f"{path!a}\0{text}" for path, text in sorted(tree.texts.items()))
    return "\0".join([texts, *map(ascii, sorted(tree.carried))])


def size(tree: FileTree, _: str) -> tuple[int, ...]:
    """What the search makes smaller: bytes of all files together, then the number of files."""
    return tree.bytes, len(tree.texts) + len(tree.carried)
