from __future__ import annotations

import ast
from pathlib import Path

import pytest

from shrinkray_gpu.passes.layout import WIDTH, layout
from tests.passes.outcomes import lines

SAMPLES = sorted((Path(__file__).parent / "samples").glob("*.py"))


def test_as_a_person_would_have_written_it() -> None:
    text = """
        @triton.jit
        def kernel(
            x,
            BLOCK : tl.constexpr,   # a comment
        ):
            # another

            tl.store( x,1 )



        import torch; import triton
        import os
        def main ():
            x = ( torch.zeros(4,
                device = 'cuda',
            ) )
            kernel[ (1, ) ](x, BLOCK = 4)
        main()
    """
    assert layout(lines(text)) == lines("""
        import os

        import torch
        import triton


        @triton.jit
        def kernel(x, BLOCK: tl.constexpr):
            tl.store(x, 1)


        def main():
            x = torch.zeros(4, device="cuda")
            kernel[(1,)](x, BLOCK=4)


        main()
    """)


def test_imports_do_not_move_before_what_may_matter_to_them() -> None:
    text = lines("""
        import os

        os.environ["A"] = "1"

        import torch
    """)
    assert layout(text) == text


def test_long_lines_are_broken_and_filled() -> None:
    call = "result = function(" + ", ".join(f"argument_number_{n}" for n in range(12)) + ")\n"
    broken = layout(call)
    assert max(map(len, broken.splitlines())) <= WIDTH
    assert len(broken.splitlines()) == 5
    assert ast.dump(ast.parse(broken)) == ast.dump(ast.parse(call))


def test_comments_that_are_obeyed_stay() -> None:
    text = "# shrink: keep-begin\nx = 1  # shrink: keep\n# shrink: keep-end\ny = 2  # nothing\n"
    assert layout(text) == "# shrink: keep-begin\nx = 1  # shrink: keep\n# shrink: keep-end\ny = 2\n"


def test_one_inside_a_call_keeps_the_whole_text() -> None:
    text = "f(\n    1,  # shrink: keep\n    2,\n)\n"
    assert layout(text) == text


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_the_same_program_and_stable(path: Path) -> None:
    once = layout(path.read_text())
    assert layout(once) == once
    assert once != path.read_text()
    assert [ast.dump(s) for s in ast.parse(once).body if isinstance(s, ast.FunctionDef)] == [
        ast.dump(s) for s in ast.parse(path.read_text()).body if isinstance(s, ast.FunctionDef)
    ]
