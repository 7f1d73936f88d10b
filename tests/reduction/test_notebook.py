"""A notebook as a script: which cells, which lines, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.reduction.notebook import Notebook, read_notebook
from shrinkray_gpu.reduction.program import read_program

ERROR = {"output_type": "error", "ename": "KeyError", "evalue": "7", "traceback": []}


def cell(source: str, **more: Any) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "source": source.splitlines(keepends=True),
        "outputs": [],
        "execution_count": None,
        **more,
    }


def write(folder: Path, *cells: Mapping[str, Any], **whole: Any) -> Path:
    path = folder / "it.ipynb"
    titled = [{"cell_type": "markdown", "source": ["# Title"], "metadata": {}}, *cells]
    path.write_text(json.dumps({"nbformat": 4, "cells": titled, "metadata": {}, **whole}))
    return path


def read(folder: Path, *sources: str) -> Notebook:
    return read_notebook(write(folder, *map(cell, sources)))


def test_code_cells_in_their_order_and_where_each_begins(tmp_path: Path) -> None:
    found = read(tmp_path, "import os\nx = 1\n", "display(x)")
    assert found.text == "display = print\n# code cell 1\nimport os\nx = 1\n\n# code cell 2\ndisplay(x)\n"
    assert found.told == "it.ipynb: 2 of 2 code cells as a script (1 at line 3, 2 at line 7)"
    assert found.text.splitlines()[6] == "display(x)"
    assert read_program(tmp_path / "it.ipynb").text == found.text


@pytest.mark.parametrize(
    "runs, taken",
    [
        ([(1, False), (2, True), (None, False)], 2),
        ([(1, False), (2, True), (3, False)], 3),
        ([(1, True), (2, False), (3, True), (None, False)], 3),
        ([(4, False), (5, True), (2, False)], 2),
        ([(None, False), (None, True), (None, False)], 2),
        ([(1, False), (2, False), (None, False)], 3),
    ],
)
def test_up_to_the_cell_that_failed(tmp_path: Path, runs: list[tuple[int | None, bool]], taken: int) -> None:
    cells = [
        cell(f"x{at} = 1", execution_count=count, outputs=[ERROR] if failed else [])
        for at, (count, failed) in enumerate(runs)
    ]
    found = read_notebook(write(tmp_path, *cells))
    assert found.text.count(" = 1") == taken
    assert ("which ended in an error" in found.told) == (taken < len(runs))


@pytest.mark.parametrize(
    "source, text",
    [
        ("%time f(1)", "f(1)"),
        ("%timeit -n 10 -r3 f(1)", "f(1)"),
        ("if x:\n    %time f(1)", "if x:\n    f(1)"),
        ("%%time\nf(1)", "\nf(1)"),
        ("%%timeit -n 3 a = 1\nf(a)", "a = 1\nf(a)"),
        ("%%capture out\nf(1)", "\nf(1)"),
        ("%matplotlib inline\nx = 1", "pass  # %matplotlib inline\nx = 1"),
        ("if x:\n    !ls", "if x:\n    pass  # !ls"),
        ("%env A=b c", "import os; os.environ['A'] = 'b c'"),
        ("%set_env A b", "import os; os.environ['A'] = 'b'"),
        ("%cd data", "import os; os.chdir('data')"),
        ("f?", "pass  # f?"),
        ("?f", "pass  # ?f"),
        ("x = (7\n  % 4)\ny = '''\n%time no\n!ls\n'''", None),
        ("%%html\n<b>bold</b>", "# %%html\n# <b>bold</b>"),
    ],
)
def test_a_magic_command_as_python(tmp_path: Path, source: str, text: str | None) -> None:
    found = read(tmp_path, source).text
    assert found == f"# code cell 1\n{source if text is None else text}\n"
    compile(found, "it.py", "exec")


def test_what_worked_on_the_disk_is_left_out_and_told(tmp_path: Path) -> None:
    found = read(tmp_path, "!pip install \\\n  triton\nx = 1", "%%bash\nmake it\n")
    assert found.text.splitlines()[:4] == ["# code cell 1", "pass  # !pip install \\", "#   triton", "x = 1"]
    assert "make it" not in found.text.replace("# make it", "")
    assert found.told.endswith("left out, so what it made must be there: !pip install (cell 1), %%bash (cell 2)")


@pytest.mark.parametrize(
    "source, message",
    [
        ("%run other.py", "it.ipynb, code cell 1, line 1: only IPython can do %run. Take it out of a copy"),
        ("x = 1\n%%time", "line 2: only IPython can do %%time"),
        ("%%cuda\nint main() {}", "line 1: only IPython can do %%cuda"),
        ("a = 1\nfiles = !ls", "line 2: only IPython can do files = !ls"),
        ("x = 1\ny = = 2", "it.ipynb, code cell 1, line 2: not Python (invalid syntax)"),
        ("get_ipython().system('ls')", "it calls get_ipython(), which only Jupyter has"),
        ("await f()", "its cells are no script ('await' outside function, line 2 of them)"),
    ],
)
def test_what_only_ipython_can_do_is_refused_in_a_line(tmp_path: Path, source: str, message: str) -> None:
    path = write(tmp_path, cell(source))
    with pytest.raises(UsageError) as refused:
        read_program(path)
    assert message in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "text, message",
    [
        ("x = 1", "no notebook: it is no JSON"),
        ("[]", "no notebook: it has no cells"),
        ('{"worksheets": []}', "a notebook of an old format"),
        ('{"cells": []}', "has no code cell"),
        ('{"cells": [], "metadata": {"language_info": {"name": "julia"}}}', "a notebook of julia"),
    ],
)
def test_what_is_no_notebook_of_python(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "it.ipynb").write_text(text)
    with pytest.raises(UsageError, match=message):
        read_notebook(tmp_path / "it.ipynb")
