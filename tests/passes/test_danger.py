"""The accident that must not happen: deleting `name = ...` before `rmtree(join(root, name))`."""

from __future__ import annotations

from shrinkray_gpu.passes import branches, expressions, statements
from shrinkray_gpu.passes.danger import harmless
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.render import render
from tests.passes.outcomes import lines

SCRIPT = lines("""
    name = "old"
    name = make_name()
    count = 1
    if count > 1:
        shutil.rmtree(os.path.join(root, name))
    print(count)
""")


def results(find) -> list[str]:  # type: ignore[no-untyped-def]
    program = Program.from_text(SCRIPT)
    return [render(program, [edit]).text for edit in harmless(program, find(program))]


def test_what_feeds_the_call_stays_as_long_as_the_call() -> None:
    for text in results(statements.find):
        assert "rmtree" not in text or ('name = "old"\nname = make_name()' in text)


def test_the_call_itself_may_go() -> None:
    assert any("rmtree" not in text for text in results(statements.find))
    assert any("print" not in text for text in results(statements.find))


def test_a_condition_before_it_stays() -> None:
    assert results(branches.find) == []


def test_no_argument_gets_simpler() -> None:
    assert all("os.path.join(root, name)" in text for text in results(expressions.find) if "rmtree" in text)
