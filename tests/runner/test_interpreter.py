"""Which interpreter runs a program where nobody names one, and where ours has no torch."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from shrinkray_gpu.runner import interpreter


def environment(folder: Path, *, torch: bool) -> Path:
    """As much of one as is looked at; its interpreter is a real one."""
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to(sys.executable)
    packages = folder / "lib" / "python3.12" / "site-packages"
    (packages / "torch" if torch else packages).mkdir(parents=True)
    return folder


@pytest.fixture
def without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `uv tool` and pipx install shrink."""
    monkeypatch.setattr(interpreter, "find_spec", lambda name: None)


def test_a_folder_of_that_name_where_we_stand_is_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = environment(tmp_path / ".venv", torch=True)
    for name, file in (("rings", "__init__.py"), ("spaces", "notes.txt")):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    real = interpreter.find_spec
    monkeypatch.setattr(interpreter, "find_spec", lambda name: real({"torch": "rings", "triton": "spaces"}[name]))
    assert interpreter.interpreter_for(tmp_path / "failing.py", {})[0] == str(made / "bin" / "python")


def test_ours_if_it_has_torch(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    environment(tmp_path / ".venv", torch=True)
    assert interpreter.interpreter_for(tmp_path / "failing.py", {}) == (sys.executable, "")


@pytest.mark.usefixtures("without_torch")
def test_one_above_the_program(tmp_path: Path) -> None:
    made = environment(tmp_path / ".venv", torch=True)
    python, why = interpreter.interpreter_for(tmp_path / "a" / "b" / "failing.py", {})
    assert python == str(made / "bin" / "python") and why.startswith(
        f"python: {python}, found beside failing.py or above"
    )
    interpreter.check_python(python)


@pytest.mark.usefixtures("without_torch")
def test_the_active_one_comes_first_unless_only_another_has_torch(tmp_path: Path) -> None:
    beside, active = environment(tmp_path / ".venv", torch=True), environment(tmp_path / "active", torch=True)
    bare, program = environment(tmp_path / "conda", torch=False), tmp_path / "failing.py"
    found = [
        interpreter.interpreter_for(program, variables)[0]
        for variables in ({"VIRTUAL_ENV": str(active)}, {"CONDA_PREFIX": str(active)}, {"CONDA_PREFIX": str(bare)})
    ]
    assert found == [str(each / "bin" / "python") for each in (active, active, beside)]


@pytest.mark.usefixtures("without_torch")
def test_ours_where_there_is_no_other(tmp_path: Path) -> None:
    gone, ours = {"VIRTUAL_ENV": str(tmp_path / "gone")}, {"VIRTUAL_ENV": sys.prefix}
    above = [folder for folder in tmp_path.parents if os.path.exists(folder / ".venv")]
    assert not above, "this machine has an environment there, which would be found"
    assert interpreter.interpreter_for(tmp_path / "failing.py", gone) == (sys.executable, "")
    assert interpreter.interpreter_for(tmp_path / "failing.py", ours) == (sys.executable, "")
