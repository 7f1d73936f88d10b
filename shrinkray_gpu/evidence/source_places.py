"""The source line of a fault: from where an instrument saw it, or from the script's own traceback."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from shrinkray_gpu import runner
from shrinkray_gpu.evidence import source_text
from shrinkray_gpu.evidence.instruments.instrument import Subject
from shrinkray_gpu.evidence.sights import Sight
from shrinkray_gpu.evidence.source_text import SourceLine, name_below
from shrinkray_gpu.oracle import speech
from shrinkray_gpu.runner.pool import Script
from shrinkray_gpu.runner.run import Compilation, Run

_TRITON = re.compile(r"/triton/(?:runtime|compiler|language|backends|experimental|testing)\b")
_INSIDE = str(Path(runner.__file__).parent / "inside")


def folders_of(script: Script) -> tuple[Path, Path]:
    """Where the user looks for the files of a program: its own folder, and that in which it runs."""
    return script.path.parent, script.cwd


def is_of_triton(file: str) -> bool:
    """Whether a file of a traceback is Triton's own, or one of ours that stands between it and the script. A user's
    folder may be called `triton`, too."""
    return _TRITON.search(file) is not None or file.startswith(_INSIDE)


def place_of(subject: Subject, sight: Sight, name: str) -> SourceLine | None:
    """The source line. A candidate's text is run as a copy elsewhere, so the script is known by its name; not so where
    a module of the program's has the same name."""
    if not sight.line:
        return None
    own = Path(sight.file).name == name and not _is_module(subject, Path(sight.file))
    file = str(subject.script.path) if own else sight.file
    place = SourceLine(file, sight.line, column=sight.column, shown=name_below(file, folders_of(subject.script)))
    return replace(place, text=source_text.line_of(text_at(subject, place), sight.line))


def _is_module(subject: Subject, file: Path) -> bool:
    """Whether it lies where the program's files do, and is neither the script nor a copy of it that we made."""
    ours = (subject.folder, Path(subject.setup.scratch))
    below = any(file.is_relative_to(folder) for folder in folders_of(subject.script))
    return below and file != subject.script.path and not any(file.is_relative_to(folder) for folder in ours)


def whole_path(file: str, compile: Compilation | None) -> str:
    """The path of a file of which only the name is told, as the kernel's IR has it."""
    if not file or "/" in file or compile is None:
        return file
    found = re.search(rf'"(/[^"]*/{re.escape(file)})"', compile.ir.get("ttgir", ""))
    return found.group(1) if found else file


def text_at(subject: Subject, place: SourceLine | None) -> str:
    """The text of the file that the place is in: the program's own, or that of a module of its. Empty if that cannot be
    read."""
    if place is None or place.file == str(subject.script.path):
        return subject.text
    try:
        return Path(place.file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def host_line(subject: Subject, run: Run) -> SourceLine | None:
    """The script's own last line in the traceback; of a command, whose script is a driver of ours, that of the last
    file in its folder."""
    if run.failure is None:
        return None
    file, line = str(subject.script.path), run.failure.line
    if subject.script.name:
        own = [frame for frame in speech.frames(run.failure.traceback) if _is_own(subject, frame.file)]
        file, line = (own[-1].file, own[-1].line) if own else (file, None)
    if not line:
        return None
    place = SourceLine(file, line, shown=name_below(file, folders_of(subject.script)))
    return replace(place, text=source_text.line_of(text_at(subject, place), line))


def _is_own(subject: Subject, file: str) -> bool:
    """Whether a file lies in the command's folder, and is not software installed there."""
    path, script = Path(file), subject.script
    return path != script.path and path.is_relative_to(script.cwd) and "site-packages" not in path.parts
