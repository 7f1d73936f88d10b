"""The preamble: imports that a worker may do in advance, and the environment that is set before them."""

from __future__ import annotations

import pytest

from shrinkray_gpu.runner.preamble import first_imports, read


def test_imports_at_the_top_in_order() -> None:
    source = "import torch, os.path\nfrom triton.language import arange\n"
    source += "try:\n    import helion\nexcept ImportError: pass\n"
    assert read(source).imports == ("torch", "os.path", "triton.language", "helion")


def test_imports_of_functions_of_the_main_guard_and_relative_ones_are_left_alone() -> None:
    source = "def f():\n    import slow\nif __name__ == '__main__':\n    import cli\nfrom . import sibling\n"
    assert read(source).imports == ()


def test_environment_set_before_the_last_import_counts() -> None:
    source = (
        "import os\nos.environ['A'] = '1'\nos.environ.setdefault('B', '2')\nos.environ.update({'C': '3'}, D='4')\n"
        "import torch\nos.environ['LATE'] = '5'\n"
    )
    assert read(source).environment == (("A", "1"), ("B", "2"), ("C", "3"), ("D", "4"))


def test_values_that_are_not_literal_are_not_guessed() -> None:
    assert read("import os\nos.environ['A'] = str(1)\nimport torch\n").environment == ()


def test_a_text_that_does_not_parse_has_no_preamble() -> None:
    assert read("import (") == read("")


def test_a_text_that_is_too_deep_for_the_parser_has_none_either() -> None:
    assert read("import torch\nx = " + "-" * 100_000 + "1\n") == read("")


FIRST = "import torch\nimport triton\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "torch triton"),
        (
            '"""A program."""\nfrom __future__ import annotations\nimport os, numpy\n',
            "__future__ os numpy torch triton",
        ),
        ("import os\nos.environ['TRITON_DEBUG'] = '1'\n", "os"),
        ("import sys\nsys.meta_path.insert(0, sys.meta_path[0])\n", "sys"),
        ("import builtins\nbuiltins.__import__ = print\n", "builtins"),
        ("try:\n    import os\nexcept ImportError:\n    pass\n", ""),
        ("def f():\n    pass\n", ""),
        ("import helion\n", ""),
        ("from beside import f\n", ""),
        ("from . import f\n", ""),
        ("print(", ""),
    ],
)
def test_what_is_imported_before_anything_else_is_done(text: str, found: str) -> None:
    assert " ".join(first_imports(text + FIRST)) == found
