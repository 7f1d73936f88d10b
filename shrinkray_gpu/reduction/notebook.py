"""A Jupyter notebook as a script: its code cells in their order, up to the fault.

A notebook keeps what each cell gave when it last ran. So it is known where a fault showed, and what was never run after
it. Lines that only IPython understands become Python where that is plain, are left out where they change nothing that
is in the notebook, and are refused otherwise.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shrinkray_gpu.errors import UsageError

SUFFIX = ".ipynb"

_RUN = frozenset({"time", "timeit", "prun"})
"""Magics that run the code behind them, and measure it."""
_LEFT_OUT = frozenset(
    "matplotlib load_ext reload_ext autoreload config precision xmode colors who whos pwd ls lsmagic history pdb tb "
    "pip conda mamba uv html javascript js latex markdown svg".split()
)
"""Magics that change nothing that a program computes: what they install must be there."""
_SHELL = frozenset({"bash", "sh", "script", "system", "sx", "writefile", "file"})
"""Cells whose work is on the disk: what they make must be there."""
_MAGIC = re.compile(r"^(\s*)(%|!|\?)(.*)$")
_HELP = re.compile(r"^\s*[\w.]+\?{1,2}\s*$")
_GIVES = re.compile(r"^\s*[\w., ]+=\s*[%!]")
_OPTIONS = re.compile(r"^(?:-\w+(?:\s+\d+)?\s+)+")


@dataclass(frozen=True)
class Notebook:
    """What a notebook comes to."""

    text: str
    """The script."""
    told: str
    """Which cells it has, where each begins, and what was left out, in a line."""


@dataclass(frozen=True)
class _Cell:
    number: int
    """Among the code cells, from 1."""
    source: str
    count: int
    """The place in the order of execution, as far as the notebook knows; 0 for a cell that was not run."""
    failed: bool
    """Whether it ended in an exception when it last ran."""


def is_notebook(path: Path) -> bool:
    return path.suffix == SUFFIX


def read_notebook(path: Path) -> Notebook:
    """The script that the notebook at `path` comes to. Raises UsageError where that cannot be."""
    cells = _cells(path)
    taken = _up_to_the_fault(cells)
    found = [list(_as_python(path, cell)) for cell in taken]
    lines, begins = list(_prelude(path, [line for rows in found for line, _ in rows])), list[str]()
    for cell, rows in zip(taken, found):
        lines += [f"# code cell {cell.number}", *(line for line, _ in rows)]
        begins.append(f"{cell.number} at line {len(lines) - len(rows) + 1}")
    left_out = [f"{out} (cell {cell.number})" for cell, rows in zip(taken, found) for _, out in rows if out]
    text, last = "\n".join([*lines, ""]), taken[-1].number
    try:
        compile(text, str(path), "exec", dont_inherit=True)
    except SyntaxError as error:  # `await` outside of a function, which Jupyter takes
        raise UsageError(f"{path}: its cells are no script ({error.msg}, line {error.lineno} of them)") from error
    told = f"{path.name}: {len(taken)} of {len(cells)} code cells as a script ({', '.join(begins)})"
    if last < cells[-1].number:
        told += f"; what comes behind cell {last}, which ended in an error, was not run after it"
    if left_out:
        told += f"; left out, so what it made must be there: {', '.join(left_out)}"
    return Notebook(text, told)


def _cells(path: Path) -> list[_Cell]:
    """The code cells. Raises UsageError where this is no notebook of Python, or has none."""
    try:
        whole = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror or error})") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: no notebook: it is no JSON ({error})") from error
    if not isinstance(whole, dict) or not isinstance(whole.get("cells"), list):
        older = isinstance(whole, dict) and "worksheets" in whole
        what = "a notebook of an old format: `jupyter nbconvert --to notebook` makes it a new one" if older else ""
        raise UsageError(f"{path}: {what or 'no notebook: it has no cells'}")
    language = _language(whole.get("metadata"))
    if language.lower() not in ("python", "ipython"):
        raise UsageError(f"{path}: a notebook of {language}, and only one of Python can be reduced")
    code = [each for each in whole["cells"] if isinstance(each, dict) and each.get("cell_type") == "code"]
    if not code:
        raise UsageError(f"{path}: this notebook has no code cell")
    return [_cell(number, each) for number, each in enumerate(code, 1)]


def _language(metadata: Any) -> str:
    for name, key in (("language_info", "name"), ("kernelspec", "language")):
        found = metadata.get(name) if isinstance(metadata, dict) else None
        if isinstance(found, dict) and isinstance(found.get(key), str):
            return str(found[key])
    return "python"


def _cell(number: int, cell: Mapping[str, Any]) -> _Cell:
    source, count, outputs = cell.get("source", ""), cell.get("execution_count"), cell.get("outputs")
    lines = source if isinstance(source, list) else [source]
    failed = any(isinstance(each, dict) and each.get("output_type") == "error" for each in outputs or ())
    return _Cell(number, "".join(map(str, lines)), count if isinstance(count, int) else 0, failed)


def _up_to_the_fault(cells: Sequence[_Cell]) -> list[_Cell]:
    """Without what was not run after the last cell that failed; all where none did, as far as the notebook knows."""
    failed = [cell for cell in cells if cell.failed]
    if not failed:
        return list(cells)
    end = max(cell.number for cell in cells if cell.failed or cell.count > failed[-1].count > 0)
    return list(cells[:end])


def _prelude(path: Path, lines: Sequence[str]) -> Iterator[str]:
    """What IPython has and Python has not, where the cells ask for it."""
    names = {node.id for node in ast.walk(ast.parse("\n".join(lines))) if isinstance(node, ast.Name)}
    if "get_ipython" in names:
        raise UsageError(f"{path}: it calls get_ipython(), which only Jupyter has: take that out")
    if "display" in names and not any("import display" in line for line in lines):
        yield "display = print"


def _as_python(path: Path, cell: _Cell) -> Iterator[tuple[str, str]]:
    """The lines of a cell as Python; with a line that is left out for good, what it was."""
    lines = cell.source.replace("\r\n", "\n").split("\n")
    first = next((at for at, line in enumerate(lines) if line.strip()), None)
    whole = lines[first].strip() if first is not None else ""
    if first is not None and whole.startswith("%%"):
        name, _, rest = whole[2:].partition(" ")
        if name in _LEFT_OUT | _SHELL:
            yield from ((f"# {line}", whole if line.strip() == whole and name in _SHELL else "") for line in lines)
            return
        if name not in _RUN | {"capture"}:
            raise _refused(path, cell, first, f"%%{name}")
        lines[first] = _OPTIONS.sub("", f"{rest} ").strip() if name in _RUN else ""
    told = dict[int, str]()
    while (wrong := _wrong_line(path, cell, lines)) is not None:
        lines[wrong], told[wrong] = _plain(path, cell, wrong, lines[wrong])
        while told[wrong] and told[wrong].endswith("\\") and wrong + 1 < len(lines):  # it goes on
            told[wrong] = told[wrong][:-1].strip()
            wrong += 1
            told[wrong], lines[wrong] = "", f"# {lines[wrong]}"
    yield from ((line, told.get(at, "")) for at, line in enumerate(lines))


def _wrong_line(path: Path, cell: _Cell, lines: Sequence[str]) -> int | None:
    """The line of a cell that is IPython's and not Python's; None where all is Python. Raises UsageError where the cell
    is neither."""
    try:
        ast.parse("\n".join(lines))
        return None
    except SyntaxError as error:
        at, said = (error.lineno or 1) - 1, error.msg
    except (ValueError, RecursionError, MemoryError) as error:
        at, said = 0, str(error) or type(error).__name__
    odd = [number for number, line in enumerate(lines) if _MAGIC.match(line) or _HELP.match(line)]
    if at in odd or odd:
        return at if at in odd else odd[0]
    if at < len(lines) and _GIVES.match(lines[at]):
        raise _refused(path, cell, at, lines[at].strip())
    raise UsageError(f"{path}, code cell {cell.number}, line {at + 1}: not Python ({said})")


def _plain(path: Path, cell: _Cell, at: int, line: str) -> tuple[str, str]:
    """A line of IPython's as one of Python's, and what was left out, if what it did may be missed."""
    found = _MAGIC.match(line)
    if found is None or found[2] == "?":
        return f"{line[: len(line) - len(line.lstrip())]}pass  # {line.strip()}", ""
    indent, mark, rest = found.groups()
    name, _, argument = rest.strip().partition(" ")
    argument = argument.strip()
    left_out = f"{indent}pass  # {line.strip()}"
    if mark == "!":
        return left_out, line.strip()
    if name in _RUN:
        return f"{indent}{_OPTIONS.sub('', argument) or 'pass'}", ""
    if name in ("env", "set_env"):
        variable, value = re.split(r"\s*[= ]\s*", f"{argument}=", maxsplit=1)
        value = value.removesuffix("=")
        return (f"{indent}import os; os.environ[{variable!r}] = {value!r}" if value else left_out), ""
    if name == "cd" and argument:
        return f"{indent}import os; os.chdir({argument!r})", ""
    if name in _LEFT_OUT:
        return left_out, ""
    raise _refused(path, cell, at, f"%{name}")


def _refused(path: Path, cell: _Cell, at: int, what: str) -> UsageError:
    return UsageError(
        f"{path}, code cell {cell.number}, line {at + 1}: only IPython can do {what}. Take it out of a copy of the "
        "notebook, or write it as Python"
    )
