from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shrinkray_gpu.passes.layout.layout import layout
from shrinkray_gpu.passes.layout.wrapping import LIMIT, WIDTH, wrap_lines
from shrinkray_gpu.reduction.program import read_program
from shrinkray_gpu.reduction.size import tokens
from tests.passes.outcomes import lines
from tests.reduction.any_edits import NASTY

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


SPACED = {
    "f(lambda size, align, stream:torch.empty(size,dtype=torch.int8))": (
        "f(lambda size, align, stream: torch.empty(size, dtype=torch.int8))"
    ),
    "f(lambda:0, lambda x=1,*a,**k:x)": "f(lambda: 0, lambda x=1, *a, **k: x)",
    "x=a+b*-c**d//(e<f)": "x = a + b * -c ** d // (e < f)",
    "x = a if(b)else(c) or not(d)and e is  not f": "x = a if b else c or not d and e is not f",
    "x = [y for y in(1,2)if(z)]": "x = [y for y in (1, 2) if z]",
    "x:int=3": "x: int = 3",
    "x = {1:2,** k}, * a, b [1 :2,:]": "x = {1: 2, **k}, *a, b[1:2, :]",
    "print(f'{x = }', (y:=3) , (z))": 'print(f"{x = }", (y := 3), z)',
    "assert(x),'why'": 'assert x, "why"',
    "def f(a,/,b:int=1,*,c = 2)->int: return(x)": "def f(a, /, b: int = 1, *, c=2) -> int:\n    return x",
    "if(x):y\nelif(z): pass": "if x:\n    y\nelif z:\n    pass",
    "try: f()\nexcept: raise\nfinally:pass": "try:\n    f()\nexcept:\n    raise\nfinally:\n    pass",
    "for i in(a):\n  while(1):yield(i)": "for i in a:\n    while 1:\n        yield i",
    "x = ('a'\n  'b')": 'x = "a" "b"',
}


@pytest.mark.parametrize("text", SPACED)
def test_blanks_are_where_a_person_would_put_them(text: str) -> None:
    assert layout(text + "\n") == SPACED[text] + "\n"


def test_a_call_that_fits_is_one_line() -> None:
    text = "kernel[(1,)](\n    torch.zeros(1), torch.zeros(0),\n)\n"
    assert layout(text) == "kernel[(1,)](torch.zeros(1), torch.zeros(0))\n"
    arguments = ", ".join(f"x{n}" for n in range(10, 29))
    just = f"{'f' * (WIDTH - 2 - len(arguments))}({arguments})\n"
    assert len(just) == WIDTH + 1
    assert layout(just.replace(", ", ",\n    ").replace(")", ",\n)")) == just
    assert layout("f" + just) == f"f{just.partition('(')[0]}(\n    {arguments}\n)\n"


def test_what_an_f_string_prints_stays_and_the_rest_is_laid_out_all_the_same() -> None:
    assert layout("f( 1,\n)\nprint(f'{x = !r:>{ w }}', f'{b [0]}')\n") == (
        'f(1)\nprint(f"{x = !r:>{ w }}", f"{b [0]}")\n'
    )


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
    assert len(broken.splitlines()) == 3
    assert ast.dump(ast.parse(broken)) == ast.dump(ast.parse(call))


def test_a_broken_line_has_no_token_more() -> None:
    names = ", ".join(f"argument_number_{n}" for n in range(12))
    for text in (f"f({names})", f"x = [{names}]", f"f(g({names}), h({names}))", f"x = ({names.replace(', ', ' + ')},)"):
        broken = layout(text + "\n")
        assert tokens(broken) == tokens(text) and broken.count("\n") > 1
        assert ast.dump(ast.parse(broken)) == ast.dump(ast.parse(text))


WIDE = {
    # Two conditions get parentheses: no bracket of theirs is broken where both fit on a row each.
    "if tl.load(first_pointer + row * stride + tl.arange(0, BLOCK)).sum() > limit_of_the_first and "
    "tl.load(second_pointer + row * stride + tl.arange(0, BLOCK)).sum() > limit_of_the_second:\n    pass\n": """
        if (
            tl.load(first_pointer + row * stride + tl.arange(0, BLOCK)).sum() > limit_of_the_first
            and tl.load(second_pointer + row * stride + tl.arange(0, BLOCK)).sum() > limit_of_the_second
        ):
            pass
    """,
    # Of the brackets that it has, the one that helps is broken, and need not be the last.
    "scores = tl.dot(query, tl.trans(tl.load(pointer + rows[:, None] * 64 + dims[None, :], mask=inside))) * scale + "
    "tl.where(causal, 0.0, low)\n": """
        scores = tl.dot(
            query, tl.trans(tl.load(pointer + rows[:, None] * 64 + dims[None, :], mask=inside))
        ) * scale + tl.where(causal, 0.0, low)
    """,
    # At the operator that binds least, inside a bracket.
    "tl.store(out + rows, (tl.load(first + rows[:, None] * 64 + columns[None, :]) > 0) & "
    "(tl.load(second + rows[:, None] * 64 + columns[None, :]) > 0))\n": """
        tl.store(out + rows,
                 (tl.load(first + rows[:, None] * 64 + columns[None, :]) > 0)
                 & (tl.load(second + rows[:, None] * 64 + columns[None, :]) > 0))
    """,
    "assert the_first_long_name_of_a_thing == the_second_long_name_of_a_thing and "
    "the_third_long_name_of_it not in another_name, 'why'\n": """
        assert (
            the_first_long_name_of_a_thing == the_second_long_name_of_a_thing
            and the_third_long_name_of_it not in another_name
        ), "why"
    """,
    "x = [some_function(value, another_value) for value, another_value in zip(the_first_list, the_second_list) "
    "if value_is_good(value)]\n": """
        x = [some_function(value, another_value)
             for value, another_value in zip(the_first_list, the_second_list) if value_is_good(value)]
    """,
    "first, second = some_module.some_function_name().another_method_name().a_third_method_name()"
    ".a_fourth_method_name().result_of_it\n": """
        first, second = (
            some_module.some_function_name().another_method_name().a_third_method_name()
            .a_fourth_method_name().result_of_it
        )
    """,
    "from some_package_with_a_long_name.and_a_module import first_long_function_name, "
    "second_long_function_name, a_third_function_name\n": """
        from some_package_with_a_long_name.and_a_module import (
            first_long_function_name, second_long_function_name, a_third_function_name
        )
    """,
    "return_value: str = 'a long text that is about as long as a line is, and some words' "
    "f'{more} and more of them, {x:>{w}}'\n": """
        return_value: str = (
            "a long text that is about as long as a line is, and some words"
            f"{more} and more of them, {x:>{w}}"
        )
    """,
}  # fmt: skip


@pytest.mark.parametrize("text", WIDE, ids=range(len(WIDE)))
def test_no_line_is_wider_than_the_limit(text: str) -> None:
    assert len(text.splitlines()[0]) > WIDTH
    assert layout(text) == lines(WIDE[text])
    assert layout(layout(text)) == layout(text)


WORDS = "some words " * 12
KERNEL = "extern __global__ void f(float* x) { " + "x[0] = 1; " * 10 + "}"


@pytest.mark.parametrize("form", ['raise ValueError("{0}", at="{0}")\n', 'x = b"{0}"\n', 'x = "{0}"\n'])
def test_a_long_string_is_cut_behind_a_blank(form: str) -> None:
    text = form.format(WORDS)
    broken = layout(text)
    rows = [row.rstrip(",)") for row in broken.splitlines() if "some" in row]
    assert ast.dump(ast.parse(broken)) == ast.dump(ast.parse(text)) and layout(broken) == broken
    assert max(map(len, broken.splitlines())) <= WIDTH and len(rows) >= 2 and all(row.endswith(' "') for row in rows)


@pytest.mark.parametrize(
    "text",
    [
        f'x = "{WORDS}\\n"\n',  # it might be cut in the escape
        f'x = "{KERNEL}"\n',  # it is looked for in one string
        f'x = f"{WORDS}"\n',
        f'"{WORDS}"\n',  # a docstring
        f'x = "{WORDS[:110]}"\n',  # not wider than the limit
    ],
)
def test_a_string_that_is_not_to_be_cut_stays_whole(text: str) -> None:
    assert layout(text) == text


@settings(max_examples=50, deadline=None)
@given(text=st.text(st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters='"\\{}'), min_size=100))
def test_a_string_in_pieces_is_the_same(text: str) -> None:
    for form in ('x = "{}"\n', 'f(1, name="{}", more=2)\n', 'return_value["{}"] = "{}" % (1, "{}")\n'):
        whole = form.replace("{}", text)
        assert ast.dump(ast.parse(layout(whole))) == ast.dump(ast.parse(whole))


@pytest.mark.parametrize("path", [*SAMPLES, *NASTY], ids=lambda path: path.stem)
@pytest.mark.parametrize("width", [1, 30, 60])
def test_a_program_with_broken_lines_is_the_same(path: Path, width: int) -> None:
    text = read_program(path).text
    broken = wrap_lines(text, width)
    assert ast.dump(ast.parse(broken)) == ast.dump(ast.parse(text))


def test_a_line_of_many_brackets_is_broken_soon_enough() -> None:
    text = "x = " + " + ".join(f"f(g({n}), [h({n} - {m}) for m in y({n})])" for m, n in enumerate(range(10, 60)))
    assert max(map(len, layout(f"{text}\n").splitlines())) <= LIMIT
    text = "x = " + "f(a, g" * 60 + "(1)" + ")" * 60 + "\n"
    assert ast.dump(ast.parse(layout(text))) == ast.dump(ast.parse(text))


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
    assert (once != path.read_text()) == (path.stem != "cuda_file")  # which is one string
    assert [ast.dump(s) for s in ast.parse(once).body if isinstance(s, ast.FunctionDef)] == [
        ast.dump(s) for s in ast.parse(path.read_text()).body if isinstance(s, ast.FunctionDef)
    ]


def test_where_lines_are_few_they_are_long() -> None:
    """What was inlined makes long lines, and a result is to look no longer than what it came from."""
    text = f"a = f({', '.join(f'argument_{i}' for i in range(9))})\nb = 1\n"
    assert layout(text).count("\n") == 3 and layout(text, most=3) == layout(text)
    assert layout(text, most=2) == text
    longer = text.replace("argument", "a_long_argument")
    assert layout(longer).count("\n") > 2 and layout(longer, most=2) == longer
    assert layout("import sys, os\n", most=1) == "import sys, os\n"
