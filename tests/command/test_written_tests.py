"""Tests that something sets up, as scripts: until one fails they print what they print under pytest and unittest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from shrinkray_gpu.command.written_tests import failed_methods, written_tests

FIXTURES = """\
import pytest

TABLE = {"low": 1, "high": 2}

@pytest.fixture(autouse=True)
def fresh():
    print("fresh")
    yield
    print("torn down")

@pytest.fixture(params=[3, 5], ids=["three", "five"])
def size(request):
    print("size", request.param)
    yield request.param

@pytest.fixture(name="data")
def make_data(size, request):
    print("data")
    yield list(range(size))

@pytest.fixture
def scaled(data, size):
    def scale(by):
        return [each * by for each in data], size
    return scale

class TestScale:
    factor = 4

    def setup_method(self):
        print("set up")

    @pytest.mark.parametrize("kind", [*TABLE])
    @pytest.mark.parametrize("by, more", [(1, "a"), pytest.param(2, "b", id="two")])
    def test_scale(self, scaled, by, more, kind, data, extra=0):
        print(kind, by, more, scaled(by), self.factor)
        assert scaled(by)[0][1] < 2 or len(data) < 5, kind

    @pytest.mark.parametrize("by", [7, 8])
    def test_listed(self, scaled, by):
        print("listed", scaled(by))

def test_plain(data, tmp_path):
    pass

def test_other(size):
    print("other", size)

if __name__ == "__main__":
    pytest.main([__file__])
"""

CASES = """\
import unittest
from unittest import TestCase

class Base:
    pass

class TestHalf(TestCase):
    unit = 2

    @classmethod
    def setUpClass(cls):
        print("class", cls.unit)

    def setUp(self):
        print("set up")
        self.value = 8

    def tearDown(self):
        print("torn down")

    def half(self, value):
        return value // self.unit + 1

    def test_good(self):
        self.assertEqual(self.half(2), 2)

    def test_wrong(self):
        for each in (0, self.value):
            with self.subTest(each=each):
                print("each", each)
                self.assertEqual(self.half(each) - 1 + each // 8, each // 2, "wrong half")

class TestMore(TestHalf):
    def test_more(self):
        pass

if __name__ == "__main__":
    unittest.main()
"""


def said(*words: str, folder: Path) -> list[str]:
    done = subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True)
    return done.stdout.splitlines()


def by_pytest(node: str, folder: Path) -> list[str]:
    """What tests print under pytest until one fails."""
    off = ("-p", "no:cacheprovider", "-p", "no:terminalreporter")
    lines = said("-m", "pytest", "-x", "-s", "-q", *off, node, folder=folder)
    return [line for line in lines if line != "torn down"]


@pytest.mark.parametrize(
    "node",
    [
        "TestScale::test_scale",
        "TestScale::test_listed",
        "TestScale::test_listed[three-8]",
        "TestScale::test_listed[five-7]",
        "test_other[five]",
    ],
)
def test_fixtures_are_called_as_pytest_calls_them(tmp_path: Path, node: str) -> None:
    (tmp_path / "test_it.py").write_text(FIXTURES)
    text = written_tests(FIXTURES, [node])
    assert text is not None
    lines = said("-c", text, folder=tmp_path)
    assert lines == by_pytest(f"test_it.py::{node}", tmp_path) and len(lines) > 1


@pytest.mark.parametrize(
    "node", ["test_plain", "test_absent", "TestAbsent::test_scale", "TestScale::test_scale[three-1-a-low]"]
)
def test_what_pytest_alone_knows_is_not_written(node: str) -> None:
    assert written_tests(FIXTURES, [node]) is None


@pytest.mark.parametrize(
    "more, once",
    [
        ("", True),
        ("        assert type(self).unit", False),
        ("        assert TestHalf.unit", False),
        ("\n    @classmethod\n    def other(cls):\n        pass", False),
    ],
)
def test_what_a_class_sets_up_is_its_one_objects(tmp_path: Path, more: str, once: bool) -> None:
    """Then it is a variable in the end, as what `setUp` stores."""
    text = written_tests(CASES.split("class TestMore")[0].rstrip() + "\n" + more + "\n", ["TestHalf::test_wrong"])
    assert text is not None and ("case.setUpClass()" in text, "TestHalf.setUpClass()" in text) == (once, not once)
    assert ("@classmethod\n    def setUpClass" not in text) is once
    alone = subprocess.run([sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True)
    assert alone.stdout.splitlines() == ["class 2", "set up", "each 0", "each 8"]


@pytest.mark.parametrize("guard", ['if __name__ == "__main__":\n    ', ""])
def test_a_test_case_without_unittest(tmp_path: Path, guard: str) -> None:
    head, _, run = CASES.rpartition('if __name__ == "__main__":\n    ')
    cases = head + guard + run
    (tmp_path / "it.py").write_text(cases)
    done = subprocess.run([sys.executable, "it.py"], cwd=tmp_path, capture_output=True, text=True)
    assert failed_methods(done.stderr) == ["TestHalf::test_wrong", "TestMore::test_wrong"]
    text = written_tests(cases, ["TestHalf::test_wrong"])
    assert text is not None
    alone = subprocess.run([sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True)
    assert alone.stdout.splitlines() == ["class 2", "set up", "each 0", "each 8"]
    assert alone.stderr.splitlines()[-1] == "AssertionError: 5 != 4 : wrong half"
    assert written_tests(CASES, ["TestMore::test_more"]) is None
