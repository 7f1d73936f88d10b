"""The preamble: imports that a worker may do in advance, and the environment that is set before them."""

from __future__ import annotations

from shrinkray_gpu.runner.preamble import read


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
