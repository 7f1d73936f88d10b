"""The files with recorded values, or with IR, that a lifted script loads: where they lie meanwhile, and in the end.

A candidate runs as text, in the user's working directory and under the original's name, so that neither tells where its
files are. Until the end, then, a script names them by their absolute paths; what the user gets names them by its own.
"""

from __future__ import annotations

import ast
import json
import shutil
from pathlib import Path

from shrinkray_gpu.source.compilations import IR

_END = ".pt"
_IMPORT = "from pathlib import Path\n"


def files(text: str) -> tuple[Path, ...]:
    """The files with values that a script loads, in order; none of a text that does not parse."""
    return tuple(dict.fromkeys(path for _, path in _loads(text)))


def copy_files(text: str, folder: Path) -> str:
    """The same script with its files in `folder`, copied there: worker processes clean up after themselves, and a
    resumed reduction needs them. Files that are there already stay."""
    names = {path: json.dumps(str(folder.absolute() / path.name)) for path in files(text)}
    for path in names:
        folder.mkdir(parents=True, exist_ok=True)
        if path.is_file() and not (folder / path.name).exists():
            shutil.copyfile(path, folder / path.name)
    return _renamed(text, names)


def final_files(text: str, output: Path) -> tuple[str, tuple[Path, ...]]:
    """The script as it is to stand at `output`, with its files copied beside it and said on top; and those files."""
    found = files(text)
    if not found:
        return text, ()
    places = {
        path: output.with_name(f"{output.stem}{f'_{number}' if number > 1 else ''}{path.suffix}")
        for number, path in enumerate(found, 1)
    }
    for path, place in places.items():
        shutil.copyfile(path, place)
    beside = {path: f'Path(__file__).with_name("{place.name}")' for path, place in places.items()}
    body = _renamed(text, {path: f"str({found})" if path.suffix in IR else found for path, found in beside.items()})
    said = "".join(
        f"# Needs {place.name} beside it: {place.stat().st_size:,} bytes of {_holding(place)}.\n"
        for place in places.values()
    )
    tree = ast.parse(body)
    at = next((node.lineno for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))), 1) - 1
    for node in tree.body:  # nothing may stand before a `from __future__`
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            at = node.end_lineno or at
    lines = body.splitlines(True)
    imported = [] if _IMPORT in lines else [_IMPORT]
    return said + "".join([*lines[:at], *imported, *lines[at:]]), tuple(places.values())


def _holding(place: Path) -> str:
    if place.suffix in IR:
        return "IR that the failing program compiled, as it was"
    return "values recorded from the failing program"


def _renamed(text: str, names: dict[Path, str]) -> str:
    lines = text.splitlines(True)
    for node, path in sorted(_loads(text), key=lambda found: (found[0].lineno, found[0].col_offset), reverse=True):
        assert node.end_col_offset is not None
        line = lines[node.lineno - 1].encode()
        new = line[: node.col_offset] + names[path].encode() + line[node.end_col_offset :]
        lines[node.lineno - 1] = new.decode()
    return "".join(lines)


def _loads(text: str) -> list[tuple[ast.Constant, Path]]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return []
    found = []
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(attr="load" | "compile" as how), args=[ast.Constant(value=str(name)) as constant, *_]
            ) if (
                name.endswith(_END if how == "load" else IR)
                and Path(name).is_absolute()
                and constant.lineno == constant.end_lineno
            ):
                found.append((constant, Path(name)))
    return sorted(found, key=lambda pair: (pair[0].lineno, pair[0].col_offset))
