"""The steps of the search in a folder: whole files, then what stands in them, by their language.

Each step begins with all that it could take away at once, the biggest file among it.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from shrinkray_gpu.folder import text_spans
from shrinkray_gpu.folder.native_file import NativeFile
from shrinkray_gpu.folder.tree import FileDraft, FileTree, ReadFile
from shrinkray_gpu.intermediate.search import Family
from shrinkray_gpu.passes import PASSES
from shrinkray_gpu.passes.schedule import Pass
from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.native.native_tree import can_parse
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.rendering.render import render

NATIVE = frozenset({".cu", ".cuh", ".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".inl"})
DEEPEST = 2
"""Levels of a pass that are tried one after another; what lies deeper goes with the last of them."""
Read = Callable[[str, str, FileTree], "ReadFile | None"]
"""From a path, its text and the whole tree."""


@dataclass(frozen=True)
class FoundChange:
    """A change of one file."""

    path: str
    read: ReadFile
    change: Any


def families() -> list[Family[FileTree]]:
    """All steps, in order."""
    structure = [each for each in PASSES if not (each.needs_values or each.grows or each.plain)]
    spans = (text_spans.paragraphs, text_spans.brackets, text_spans.lines, text_spans.words)
    return [
        Family("files and their mentions", _names, functools.partial(_gone, mentions=True)),
        *(_of_text(each) for each in spans[:1]),
        *(_of_pass(each, level) for each in dict.fromkeys(structure) for level in range(DEEPEST + 1)),
        Family("files", _names, functools.partial(_gone, mentions=False)),
        Family("contents", _full, _emptied),
        *(_of_text(each) for each in spans[1:]),
    ]


def _by_size(tree: FileTree) -> list[tuple[str, FileDraft]]:
    """The biggest last: the search begins at the end."""
    return sorted(tree.files.items(), key=lambda each: (len(each[1].text), each[0]))


def _names(tree: FileTree) -> list[str]:
    return [*(path for path, _ in _by_size(tree)), *sorted(tree.carried)]


def _full(tree: FileTree) -> list[str]:
    return [path for path, draft in _by_size(tree) if draft.text]


def _emptied(tree: FileTree, paths: Sequence[str]) -> FileTree:
    return tree.with_files({path: FileDraft("") for path in paths if path in tree.files})


def _gone(tree: FileTree, paths: Sequence[str], *, mentions: bool) -> FileTree:
    gone = {path for path in paths if path in tree.files or path in tree.carried}
    if not gone:
        return tree
    left: dict[str, FileDraft | None] = {path: None for path in gone}
    if mentions:
        for path, draft in tree.files.items():
            if path not in gone and (text := without_mentions(path, draft.text, gone)) != draft.text:
                left[path] = FileDraft(text)
    return replace(tree.with_files(left), carried=tree.carried - gone)


def without_mentions(path: str, text: str, gone: Iterable[str]) -> str:
    """The text without the includes and imports of these files, and in build files without their names."""
    for other in gone:
        name = os.path.basename(other)
        stem, suffix = os.path.splitext(name)
        if name not in text and stem not in text:
            continue
        if os.path.splitext(path)[1] in NATIVE:
            included = rf'^[ \t]*#[ \t]*include[ \t]*[<"](?:[^>"\n]*/)?{re.escape(name)}[>"].*\n?'
            text = re.sub(included, "", text, flags=re.MULTILINE)
        elif path.endswith(".py"):
            if suffix == ".py":
                module = re.escape(os.path.basename(os.path.dirname(other)) if stem == "__init__" else stem)
                imported = rf"from[ \t]+[\w.]*\b{module}[ \t]+import[ \t]+[^(\n]*|import[ \t]+(?:\w+\.)*{module}"
                text = re.sub(rf"^(?:{imported})\n", "", text, flags=re.MULTILINE)
        else:
            named = rf"[^\s;|&]*\b{re.escape(stem)}(?:{re.escape(suffix)}|\.o)(?![\w:])[ \t]*"
            text = re.sub(rf"(?:(?<=\s)|^){named}", "", text, flags=re.MULTILINE)
    return text


def _of_pass(one: Pass, level: int) -> Family[FileTree]:
    """A pass of the reducer of programs, on the files of its language."""
    native = one.name.startswith("cuda_")

    def find(tree: FileTree) -> Iterator[Hashable]:
        for path, draft in _by_size(tree):
            program = _native(path, tree) if native else _python(path, draft.text)
            if program is not None:
                read, edits = _edits(one, program)
                levels = sorted({each.level for each in edits})
                found = (each for each in edits if min(levels.index(each.level), DEEPEST) == level)
                yield from (FoundChange(path, read, edit) for edit in found)

    return Family(f"{one.name} {level}", find, _changed)


def _of_text(spans: Callable[[str], Iterator[text_spans.Span]]) -> Family[FileTree]:
    """Parts of the files that no grammar is for; of C++ paragraphs and lines, too: macros have no grammar."""
    for_native = spans in (text_spans.paragraphs, text_spans.lines)

    def find(tree: FileTree) -> Iterator[Hashable]:
        for path, draft in _by_size(tree):
            if _is_native(path) and not for_native or _python(path, draft.text) is not None:
                continue
            read = ReadFile(draft.text, functools.partial(text_spans.without, draft.text))
            yield from (FoundChange(path, read, span) for span in spans(draft.text))

    return Family(spans.__name__, find, _changed)


def _changed(tree: FileTree, found: Sequence[FoundChange]) -> FileTree:
    by_read: dict[tuple[str, ReadFile], list[Any]] = {}
    for each in found:
        by_read.setdefault((each.path, each.read), []).append(each.change)
    drafts = {
        path: tree.files[path].changed(read, changes) for (path, read), changes in by_read.items() if path in tree.files
    }
    return tree.with_files({path: draft for path, draft in drafts.items() if draft.text != tree.files[path].text})


def _is_native(path: str) -> bool:
    return os.path.splitext(path)[1] in NATIVE and can_parse()


def _native(path: str, tree: FileTree) -> NativeFile | None:
    if not _is_native(path) or not tree.files[path].text.strip():
        return None
    elsewhere = frozenset().union(*(_words(draft.text) for other, draft in tree.files.items() if other != path))
    return _native_file(tree.files[path].text, elsewhere & _words(tree.files[path].text))


@lru_cache(1024)
def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text))


@lru_cache(64)
def _native_file(text: str, elsewhere: frozenset[str]) -> NativeFile:
    return NativeFile.reading(text, elsewhere)


@lru_cache(64)
def _python(path: str, text: str) -> Program | None:
    """None of what is no Python, or nothing."""
    if not path.endswith((".py", ".pyi")) or not text.strip():
        return None
    try:
        program = Program.from_text(text, path)
        return program if program.parses and program.layout else None
    except Exception:  # what libcst cannot read is text
        return None


@lru_cache(256)
def _edits(one: Pass, program: Program) -> tuple[ReadFile, tuple[Edit, ...]]:
    """Found once for all levels."""
    if isinstance(program, NativeFile):
        read = ReadFile(program.source, program.rendered)
    else:
        read = ReadFile(program.text, lambda edits: render(program, edits).text)
    try:
        return read, tuple(one.find(program))
    except Exception:  # a shape that a pass does not expect costs its changes, and no more
        return read, ()
