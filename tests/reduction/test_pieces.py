"""A source in pieces: cut wherever a statement begins at the margin, and never where one goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.language.statement_starts import LONGEST, cached
from shrinkray_gpu.reduction.pieces import pieces_of
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.size import measure

TREE = Path(__file__).parents[2]


def pieces(text: str) -> list[str] | None:
    found = pieces_of(text)
    return None if found is None else [piece.text for piece in found]


def test_one_for_each_statement_with_what_follows_it() -> None:
    assert pieces("import a\n\n# of f\n@d(\n    1\n)\n@e\ndef f():\n    x\n\n\ny = [\n  1,\n]\n") == [
        "import a\n\n# of f\n",
        "@d(\n    1\n)\n@e\ndef f():\n    x\n\n\n",
        "y = [\n  1,\n]\n",
    ]


@pytest.mark.parametrize(
    "statement",
    [
        '"""Words.\n\nMore\nof them."""\n',
        "if a:\n    b\nelif c:\n    d\nelse:\n    e\n",
        "try:\n    a\nexcept B:\n    c\nfinally:\n    d\n",
    ],
)
def test_what_goes_on_at_the_margin_is_one(statement: str) -> None:
    assert pieces(f"{statement}x\n{statement}") == [statement, "x\n", statement]


@pytest.mark.parametrize("text", ["a = (b +\nc)\nd\n", "# '''\na\n'''\nb\n'''\n", "a = \\\nb\n"])
def test_where_a_guess_was_wrong_the_whole_is_one(text: str) -> None:
    assert pieces(text) == [text]


def test_what_is_no_python_has_none() -> None:
    assert pieces("a = 1\nb = (\n") is None
    assert pieces("") == [""]


def test_comments_and_layout_mean_nothing_wherever_the_cuts_are() -> None:
    plain, other = Program.from_text("a = b + c\nd()\n"), Program.from_text("a = (b +\nc) # e\n\n\nd()\n")
    assert len(pieces(plain.text) or ()) == 2 and len(pieces(other.text) or ()) == 1
    assert plain.key == other.key != Program.from_text("a = b - c\nd()\n").key


def test_what_is_known_of_a_piece_is_not_worked_out_again_but_of_a_whole_program_nothing_is_kept() -> None:
    asked: list[int] = []
    ask = cached(lambda part: asked.append(len(part)))
    for part in ("a = 1\n", "a = 1\n", "a" * (LONGEST + 1), "a" * (LONGEST + 1)):
        ask(part)
    assert asked == [6, LONGEST + 1, LONGEST + 1]


@pytest.mark.parametrize("path", sorted([*TREE.glob("corpus/*/failing.py"), *TREE.glob("tests/passes/samples/*.py")]))
def test_the_size_is_that_of_the_whole(path: Path) -> None:
    program = Program.from_text(path.read_text())
    assert len(pieces_of(program.text) or ()) > (path.stem != "cuda_file")  # which is one string
    assert program.size == measure(program.text)


def test_a_guard_may_hang_on_what_another_piece_says() -> None:
    text = "import triton.language as lang\n@jit\ndef f(p):\n    lang.load(q)\nq = 1\n"
    assert len(pieces_of(text) or ()) == 3
    assert Program.from_text(text).size.guards == measure(text).guards == 2
    assert Program.from_text(text.replace("q = 1", "r = 1")).size.guards == 0
