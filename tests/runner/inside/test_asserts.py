"""Where values are not real, an assert in a module of the program's own is computed and cannot fail."""

from __future__ import annotations

import importlib
import inspect
import py_compile
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from shrinkray_gpu.runner.inside.process.asserts import compile_without_asserts, ignore_asserts, is_installed

MODULE = """\
calls = []

def check(value):
    assert note(value) == 1, "not 1"
    return "passed"

def note(value):
    calls.append(value)
    return value

def jit(function):
    return function

@jit
def kernel(value):
    assert value == 1
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / "checks_itself.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    yield "checks_itself"
    sys.modules.pop("checks_itself", None)


@pytest.mark.parametrize("cached", [False, True])
def test_the_call_is_made_and_the_answer_ignored(module: str, tmp_path: Path, cached: bool) -> None:
    if cached:
        py_compile.compile(str(tmp_path / "checks_itself.py"))
    with ignore_asserts():
        checked = importlib.import_module(module)
    assert checked.check(2) == "passed" and checked.calls == [2]
    assert "assert note(value)" in inspect.getsource(checked.check)


def test_a_kernel_keeps_its_own(module: str) -> None:
    with ignore_asserts():
        checked = importlib.import_module(module)
    with pytest.raises(AssertionError):
        checked.kernel(2)


def test_afterwards_asserts_are_asserts(module: str) -> None:
    with ignore_asserts():
        pass
    with pytest.raises(AssertionError, match="not 1"):
        importlib.import_module(module).check(2)


def test_installed_software_keeps_its_asserts(tmp_path: Path) -> None:
    assert is_installed(pytest.__file__) and is_installed(inspect.__file__)
    assert not is_installed(str(tmp_path / "checks_itself.py"))


def test_the_script_s_own_are_computed_as_well() -> None:
    seen: list[int] = []
    exec(compile_without_asserts("assert seen.append(1), 'never said'", "script.py"), {"seen": seen})
    assert seen == [1]
