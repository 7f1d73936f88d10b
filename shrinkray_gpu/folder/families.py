"""The steps of the search in a folder: whole files, then what stands in them, by their language.

Each step begins with all that it could take away at once, the biggest file among it.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from shrinkray_gpu.folder import text_spans
from shrinkray_gpu.folder.mentions import NATIVE, without_mentions
from shrinkray_gpu.folder.native_files import NativeFiles
from shrinkray_gpu.folder.tree import FileTree, Reading
from shrinkray_gpu.intermediate.search import Family
from shrinkray_gpu.passes import PASSES
from shrinkray_gpu.passes.schedule import Pass
from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.native.native_tree import can_parse
from shrinkray_gpu.reduction.program import Program, Region
from shrinkray_gpu.reduction.rendering.render import render

DEEPEST = 2
"""Levels of a pass that are tried one after another; what lies deeper goes with the last of them."""
_FIRST = (
    *("cuda_unreachable", "cuda_unread", "definitions", "cuda_definitions", "statements"),
    *("cuda_statements", "branches", "cuda_branches", "contexts", "arguments", "cuda_parameters"),
)
"""Passes that find what is not needed at all, but for `unreachable`: it takes what others import for dead. What
makes a kernel smaller comes later: each try builds all."""
_NAMED = re.compile(r" (\w+) and its uses$")


@dataclass(frozen=True)
class FoundChange:
    """A change of some files, in as many parts as there are readings that it is made of."""

    parts: tuple[tuple[Reading, Any], ...]


def families() -> list[Family[FileTree]]:
    """All steps, in order."""
    fit = dict.fromkeys(each for each in PASSES if not (each.needs_values or each.grows or each.plain))
    structure = sorted(fit, key=lambda each: _FIRST.index(each.name) if each.name in _FIRST else len(_FIRST))
    spans = (text_spans.paragraphs, text_spans.blanks, text_spans.brackets, text_spans.lines, text_spans.words)
    return [
        Family("files and their mentions", _names, functools.partial(_gone, mentions=True)),
        *(_of_text(each) for each in spans[:1]),
        Family("names of several files", _shared_names, _changed),
        *(_of_pass(each, level) for each in structure for level in range(DEEPEST + 1)),
        Family("files", _names, functools.partial(_gone, mentions=False)),
        Family("contents", _full, _emptied),
        *(_of_text(each) for each in spans[1:]),
    ]


def _by_size(tree: FileTree) -> list[str]:
    """The biggest last: the search begins at the end."""
    return sorted(tree.texts, key=lambda path: (len(tree.texts[path]), path))


def _names(tree: FileTree) -> list[str]:
    return [*_by_size(tree), *sorted(tree.carried)]


def _full(tree: FileTree) -> list[str]:
    return [path for path in _by_size(tree) if tree.texts[path]]


def _emptied(tree: FileTree, paths: Sequence[str]) -> FileTree:
    return tree.with_texts({path: "" for path in paths if path in tree.texts})


def _gone(tree: FileTree, paths: Sequence[str], *, mentions: bool) -> FileTree:
    gone = {path for path in paths if path in tree.texts or path in tree.carried}
    left: dict[str, str | None] = {path: None for path in gone}
    for path, text in tree.texts.items() if mentions else ():
        if path not in gone and (bare := without_mentions(path, text, gone)) != text:
            left[path] = bare
    return tree.with_texts(left).without(frozenset(gone))


def _of_pass(one: Pass, level: int) -> Family[FileTree]:
    """A pass of the reducer of programs, on the files of its language."""
    programs = _native if one.name.startswith("cuda_") else _python

    def find(tree: FileTree) -> Iterator[Hashable]:
        for program in programs(tree):
            reading, edits = _edits(one, program)
            levels = sorted({each.level for each in edits})
            found = (each for each in edits if min(levels.index(each.level), DEEPEST) == level)
            yield from (FoundChange(((reading, edit),)) for edit in found)

    return Family(f"{one.name} {level}", find, _changed)


def _shared_names(tree: FileTree) -> Iterator[Hashable]:
    """What one file of Python defines and others import, with all its uses in all of them."""
    parts: dict[str, list[tuple[Reading, Any]]] = {}
    (finder,) = (each for each in PASSES if each.name == "definitions")
    for program in _python(tree):
        reading, edits = _edits(finder, program)
        for edit in edits:
            if named := _NAMED.search(edit.what):
                parts.setdefault(named[1], []).append((reading, edit))
    for each in parts.values():
        if len({reading for reading, _ in each}) > 1:
            yield FoundChange(tuple(each))


def _of_text(spans: Callable[[str], Iterator[text_spans.Span]]) -> Family[FileTree]:
    """Parts of the files that no grammar is for; of C++ paragraphs and lines, too: macros have no grammar."""
    for_native = spans in (text_spans.paragraphs, text_spans.lines, text_spans.blanks)

    def find(tree: FileTree) -> Iterator[Hashable]:
        python = {program.regions[0].path for program in _python(tree) if spans is not text_spans.blanks}
        for path in _by_size(tree):
            if path not in python and (for_native or not _is_native(path)):
                reading = _as_text(path, tree.texts[path])
                yield from (FoundChange(((reading, span),)) for span in spans(tree.texts[path]))

    return Family(spans.__name__, find, _changed)


def _as_text(path: str, text: str) -> Reading:
    return Reading({path: text}, lambda spans: {path: text_spans.without(text, spans)})


def _changed(tree: FileTree, found: Sequence[FoundChange]) -> FileTree:
    by_reading: dict[Reading, list[Any]] = {}
    for reading, change in (part for each in found for part in each.parts):
        by_reading.setdefault(reading, []).append(change)
    for reading, changes in by_reading.items():
        tree = tree.changed(reading, changes)
    return tree


def _is_native(path: str) -> bool:
    return os.path.splitext(path)[1] in NATIVE and can_parse()


def _is_python(path: str) -> bool:
    return path.endswith((".py", ".pyi"))


def _native(tree: FileTree) -> list[Program]:
    """All files of C++, as one program."""
    native = tuple((path, tree.texts[path]) for path in _by_size(tree) if _is_native(path))
    return [_native_files(native, tuple(text for path, text in tree.texts.items() if _is_python(path)))]


def _python(tree: FileTree) -> list[Program]:
    """The files that are Python, each by itself."""
    each = (_python_file(path, tree.texts[path]) for path in _by_size(tree) if _is_python(path))
    return [program for program in each if program is not None]


@lru_cache(4)
def _native_files(texts: tuple[tuple[str, str], ...], elsewhere: tuple[str, ...]) -> NativeFiles:
    return NativeFiles.reading(dict(texts), elsewhere)


@lru_cache(1024)
def _python_file(path: str, text: str) -> Program | None:
    """None of what is no Python, or nothing."""
    try:
        program = Program((*Program.from_text(text, path).regions, Region(path, text, "as it is")))
        return program if text.strip() and program.parses and program.layout else None
    except Exception:  # what libcst cannot read is text
        return None


@lru_cache(256)
def _edits(one: Pass, program: Program) -> tuple[Reading, tuple[Edit, ...]]:
    """Found once for all levels. The files as they are stand in a program's regions behind the first."""
    texts = {each.path: each.text for each in program.regions[1:]}

    def rendered(edits: Sequence[Edit]) -> dict[str, str]:
        if isinstance(program, NativeFiles):
            return program.rendered(edits)
        return dict.fromkeys(texts, render(program, edits).text)

    reading = Reading(texts, rendered)
    try:
        return reading, tuple(one.find(program))
    except Exception:  # a shape that a pass does not expect costs its changes, and no more
        return reading, ()
