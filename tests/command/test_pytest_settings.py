"""Which words of a pytest command go to each of its tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.command.pytest_settings import PytestSettings, seen_from


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("-c a.ini -p plug -o x=1 --rootdir r tests", "--rootdir=r -c a.ini -p plug -o x=1"),
        ("-ca.ini -pno:x --override-ini=x=1 --rootdir=r", "--rootdir=r -c a.ini -p no:x -o x=1"),
        ("--config-file=a.ini -p a -p b", "-c a.ini -p a -p b"),
        ("-x -vv -k c tests/test_a.py::test_b[1-2] -rN --co -W error -n 4", ""),
        ("tests -c", ""),
    ],
)
def test_settings_and_plugins_are_found_however_they_are_written(line: str, words: str) -> None:
    assert " ".join(PytestSettings.of(line.split()).words) == words


def test_a_node_is_named_from_the_folder_where_it_is_run(tmp_path: Path) -> None:
    (tmp_path / "sub" / "tests").mkdir(parents=True)
    (tmp_path / "sub" / "tests" / "test_a.py").touch()
    here = tmp_path / "sub"
    assert seen_from(here, "sub/tests/test_a.py::t[a::b]") == "tests/test_a.py::t[a::b]"
    assert seen_from(here, "test_a.py::t", here / "tests") == "tests/test_a.py::t"
    assert seen_from(here, "gone.py::t") == "gone.py::t"
    assert PytestSettings(file="cfg/a.ini").root(here) == here / "cfg" and PytestSettings().root(here) is None
