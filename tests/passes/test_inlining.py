"""Given this script, inlining makes it into that one; and hostile scripts print the same after any of its Edits."""

from __future__ import annotations

import ast
from pathlib import Path
from textwrap import dedent

import pytest

from shrinkray_gpu.passes import inlining
from shrinkray_gpu.passes.inlining.main_guard import main_guards
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.rendering.render import render
from shrinkray_gpu.source.names_read import Names
from tests.passes.test_inlining_keeps_meaning import check, output

CORPUS = Path(__file__).parents[2] / "corpus"


def melted(text: str, rounds: int = 12) -> str:
    """All Edits made, until there are none."""
    program = Program.from_text(dedent(text))
    for _ in range(rounds):
        edits = list(inlining.find(program))
        if not edits:
            break
        program = render(program, edits)
        assert program.parses, program.text
    return "\n".join(line for line in program.text.splitlines() if line.strip()) + "\n"


EXAMPLES = {
    "what a loop leaves that runs once": (
        """
        print(next(iter((f(x), x.grad))), next(iter([a, g()])), next(iter(table)), next(iter((a, b)), 0))
        """,
        """
        print(f(x), next(iter([a, g()])), next(iter(table)), next(iter((a, b)), 0))
        """,
    ),
    "a grad mode": (
        """
        @torch.no_grad()
        def step(params, lr):
            for p in params:
                p.sub_(lr * p.grad)
        @torch.inference_mode
        def twice(x):
            y = x + x
            return y
        @torch.no_grad()
        def size(x):
            return len(x)
        step(params, 0.1)
        print(twice(x), size(x))
        """,
        """
        with torch.no_grad():
            for p in params:
                p.sub_(0.1 * p.grad)
        with torch.inference_mode():
            y = x + x
        print(y, len(x))
        """,
    ),
    "layers of a module": (
        """
        class Layer(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.weight = torch.ones(size)
            def forward(self, x):
                return x * self.weight
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.first = Layer(2)
                self.second = Layer(3)
            def forward(self, x):
                return self.second(self.first(x))
        model = Model().to("cuda")
        print(model(x))
        """,
        """
        class Layer(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.weight = torch.ones(size)
            def forward(self, x):
                return x * self.weight
        first = Layer(2)
        second = Layer(3)
        first.to("cuda")
        second.to("cuda")
        print(x * first.weight * second.weight)
        """,
    ),
    "a layer that one of two classes keeps under that name": (
        """
        class One:
            def __init__(self, part):
                self.part = part
        class Part:
            def forward(self):
                return 1
        class Two:
            def __init__(self):
                self.part = Part()
        one, two = One(print), Two()
        print(two.part(), one.part)
        """,
        """
        one_part = print
        print(1, one_part)
        """,
    ),
    "a test case": (
        """
        import unittest
        class SizeTest(unittest.TestCase):
            size = 3
            def setUp(self):
                self.x = [1] * self.size
            def test_x(self):
                print(self.x)
        case = SizeTest()
        case.setUp()
        case.test_x()
        """,
        """
        import unittest
        x = [1] * 3
        print(x)
        """,
    ),
    "a test case that still asserts": (
        """
        import unittest
        class SizeTest(unittest.TestCase):
            def test_x(self):
                self.x = 1
                self.assertEqual(self.x, 1)
        case = SizeTest()
        case.test_x()
        """,
        """
        import unittest
        class SizeTest(unittest.TestCase):
            pass
        case = SizeTest()
        case.x = 1
        case.assertEqual(case.x, 1)
        """,
    ),
    "what is put into displays and taken out again": (
        """
        import torch
        def inputs(n):
            return [0] * n, n
        def run(given, tolerance):
            x, n = given
            rtol, atol = tolerance
            print(x, n, rtol, atol, getattr(torch, "int8"), **dict(sep="-", end=""))
        made = inputs(*[5])
        run(made, {"a": (1, 2), torch.int8: (3, made[1])}[torch.int8])
        """,
        """
        import torch
        made_2 = [0] * 5
        made_3 = 5
        tolerance_2 = 3
        tolerance_3 = made_3
        x = made_2
        n = made_3
        rtol = tolerance_2
        atol = tolerance_3
        print(x, n, rtol, atol, torch.int8, sep="-", end="")
        """,
    ),
    "main behind its guard": (
        """
        def main():
            x = 1
            print(x)
        if __name__ == "__main__":
            main()
        """,
        """
        x = 1
        print(x)
        """,
    ),
    "the result's own name is used": (
        """
        def make(n, fill=0):
            out = [fill] * n
            return out
        y = make(3)
        """,
        """
        y = [0] * 3
        """,
    ),
    "single expressions anywhere": (
        """
        def cdiv(a, b):
            return (a + b - 1) // b
        grid = lambda meta: (cdiv(n * 2, meta["B"]),)
        """,
        """
        grid = lambda meta: ((n * 2 + meta["B"] - 1) // meta["B"],)
        """,
    ),
    "kernel helpers go into kernels": (
        """
        import triton
        @triton.jit
        def double(x, S: tl.constexpr):
            y = x * S
            return y + y
        @triton.jit
        def kernel(p, N: tl.constexpr):
            v = tl.load(p)
            tl.store(p, double(v, 2 * N))
            tl.store(p, double(v, 3 * N))
            tl.store(p, double(v, N))
        kernel[(1,)](p, N=2)
        """,
        """
        import triton
        @triton.jit
        def kernel(p, N: tl.constexpr):
            v = tl.load(p)
            S: tl.constexpr = 2 * N
            y = v * S
            tl.store(p, y + y)
            S_2: tl.constexpr = 3 * N
            y = v * S_2
            tl.store(p, y + y)
            y = v * N
            tl.store(p, y + y)
        kernel[(1,)](p, N=2)
        """,
    ),
    "a module and its forward": (
        """
        import torch.nn as nn
        class Model(nn.Module):
            SCALE = 3
            def __init__(self, beta=0.5):
                super().__init__()
                self.beta = beta
                self.sizes = [1, 2]
            def forward(self, x):
                y = x * self.beta
                return y + self.sizes[0] * self.SCALE
        model = Model()
        loss = model(z)
        """,
        """
        import torch.nn as nn
        sizes_2 = 1
        sizes_3 = 2
        y = z * 0.5
        loss = y + sizes_2 * 3
        """,
    ),
    "an autograd function's forward": (
        """
        import torch
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, scale):
                ctx.save_for_backward(x)
                ctx.scale = scale
                out = torch.empty_like(x)
                kernel[(1,)](x, out, scale)
                return out
            @staticmethod
            def backward(ctx, grad):
                return grad * ctx.scale, None
        y = Double.apply(x, 2)
        """,
        """
        import torch
        y = torch.empty_like(x)
        kernel[(1,)](x, y, 2)
        """,
    ),
    "a dataclass is its values": (
        """
        from dataclasses import dataclass
        @dataclass(frozen=True)
        class Config:
            block: int
            stages: int = 4
        cfg = Config(block=16)
        kernel[(1,)](x, BLOCK=cfg.block, num_stages=cfg.stages)
        """,
        """
        from dataclasses import dataclass
        kernel[(1,)](x, BLOCK=16, num_stages=4)
        """,
    ),
    "early returns stay returns": (
        """
        def sign(x):
            if x < 0:
                return -1
            return 1
        def outer(x):
            return sign(x)
        print(outer, outer)
        """,
        """
        def outer(x):
            if x < 0:
                return -1
            return 1
        print(outer, outer)
        """,
    ),
    "partial": (
        """
        from functools import partial
        step = partial(run, x, lr=0.1)
        step(y)
        step(y, lr=0.2)
        """,
        """
        from functools import partial
        run(x, y, lr=0.1)
        run(x, y, lr=0.2)
        """,
    ),
    "a list behind a star": (
        """
        def show(a, b, c):
            print(c)
            print(b, a)
        pair = [note(1), note(2)]
        show(3, *pair)
        """,
        """
        pair_2 = note(1)
        pair_3 = note(2)
        b = pair_2
        c = pair_3
        print(c)
        print(b, 3)
        """,
    ),
    "what is called before it": (
        """
        def twice(x):
            y = x + x
            return y
        print(made(1), twice(2))
        """,
        """
        made_2 = made(1)
        y = 2 + 2
        print(made_2, y)
        """,
    ),
    "a default that is a record": (
        """
        from dataclasses import dataclass
        @dataclass
        class Tiles:
            block: int = 16
            def meta(self):
                return dict(BLOCK=self.block)
        def launch(x, tiles=Tiles()):
            y = x + tiles.block
            kernel[(1,)](x, y, **tiles.meta())
        launch(z)
        """,
        """
        from dataclasses import dataclass
        y = z + 16
        kernel[(1,)](z, y, BLOCK=16)
        """,
    ),
    "one by a call, with its fields in a string": (
        """
        import collections
        Case = collections.namedtuple("Case", "rows cols, dtype")
        case = Case(4, cols=3, dtype=getattr(torch, "int8"))
        x = torch.zeros(case.rows, case.cols, dtype=case.dtype)
        other = collections.namedtuple("Other", ["rows"])(7)
        print(other.rows, collections.namedtuple("Last", "a")(1).a)
        """,
        """
        import collections
        Case = collections.namedtuple("Case", "rows cols, dtype")
        dtype = torch.int8
        x = torch.zeros(4, 3, dtype=dtype)
        print(7, collections.namedtuple("Last", "a")(1).a)
        """,
    ),
    "a named tuple is one": (
        """
        from typing import NamedTuple
        class Shape(NamedTuple):
            rows: int
            cols: int
        shape = Shape(cols=3, rows=4)
        x = torch.zeros(shape, device="cuda")
        print(shape.rows)
        """,
        """
        from typing import NamedTuple
        x = torch.zeros((4, 3), device="cuda")
        print(4)
        """,
    ),
    "a property": (
        """
        class Heads:
            all = 4
            @property
            def group(self):
                return self.all // 2
        heads = Heads()
        x = torch.zeros(heads.group * 2)
        """,
        """
        x = torch.zeros(4 // 2 * 2)
        """,
    ),
    "a lambda to its only use": (
        """
        grid = lambda meta: (triton.cdiv(n, meta["B"]),)
        kernel[grid](x, B=16)
        """,
        """
        kernel[lambda meta: (triton.cdiv(n, meta["B"]),)](x, B=16)
        """,
    ),
}


@pytest.mark.parametrize(("before", "after"), EXAMPLES.values(), ids=list(EXAMPLES))
def test_example(before: str, after: str) -> None:
    assert melted(before) == dedent(after).lstrip()


LEFT_ALONE = {
    "early return in the middle": "def f(x):\n    if x:\n        return 1\n    return 2\ny = f(3) + 1\n",
    "generator": "def f():\n    yield 1\nfor x in f():\n    print(x)\n",
    "recursion": "def f(n):\n    print(n)\n    f(n - 1) if n else 0\nf(3)\n",
    "decorated": "@register\ndef f():\n    print(1)\nf()\n",
    "rebound": "def f():\n    print(1)\nf()\nf = None\n",
    "own frame": "def f(x):\n    print(locals())\nf(1)\n",
    "unknown arguments": "def f(a, b):\n    print(a, b)\nf(*pair)\n",
    "a mutable default": (
        "from dataclasses import dataclass\n@dataclass\nclass C:\n    n: int = 0\n"
        "def f(c=C()):\n    c.n += 1\n    print(c.n)\nf()\nf()\n"
    ),
    "a named tuple that is printed": (
        "from typing import NamedTuple\nclass S(NamedTuple):\n    a: int\n    b: int\ns = S(1, 2)\nprint(f'{s}')\n"
    ),
    "while test": "def f():\n    print(1)\n    return 0\nwhile f():\n    pass\n",
    "after and": "def f():\n    print(1)\n    return 0\nx = a and f()\n",
    "plain function in a kernel": (
        "@triton.jit\ndef helper(x):\n    return x\ndef host(y):\n    return [helper(y), helper(y)]\nprint(host)\n"
    ),
    "printed name": "def f(x):\n    print(f'{x=}')\nf(1)\n",
}


@pytest.mark.parametrize("text", LEFT_ALONE.values(), ids=list(LEFT_ALONE))
def test_left_alone(text: str) -> None:
    assert list(inlining.find(Program.from_text(text))) == []


HOSTILE = {
    "properties of their time": """
        class Box:
            def __init__(self, n):
                self.n = n
            @property
            def twice(self):
                return self.n + self.n
            @property
            def noted(self):
                print("noted", self.n)
                return self.n
            def more(self):
                self.n += self.twice
                return self.n
        box = Box(2)
        other = Box(5)
        print(box.twice, box.more(), box.twice * other.twice)
        box.n = 7
        made = [box.twice for _ in range(2)] + [each.twice for each in (box, other)]
        print(made, box.noted, -box.twice ** 2)
        """,
    "values before the call": """
        order = []
        def note(v):
            order.append(v)
            return v
        def late(x):
            order.append("late")
            y = x * 2
            return y
        value = [note(1), late(note(2)), note(3)]
        print(value, order, {note(4): late(5)}, note(6) + late(7) * note(8), order)
        pairs = [note(9), note(10)]
        def two(a, b, c):
            order.append(c)
            return a - b
        print(two(note(11), *pairs), two(*pairs, c=12), order)
        """,
    "names meet": """
        x = 1
        def f(y):
            x = y + 1
            return x * 2
        y = f(x)
        print(x, y)
        def g():
            return x
        print(g(), f(y=3))
        """,
    "order of arguments": """
        def note(v):
            print("note", v)
            return v
        def pair(b, a):
            return [a, b]
        print(pair(note(1), note(2)), pair(a=note(3), b=note(4)))
        z = note(5) - pair(note(6), 7)[0]
        print(z)
        """,
    "parentheses": """
        def add(a, b):
            return a + b
        def neg(a):
            return -a
        def both(a, b):
            return a, b
        print(add(1, 2) * add(3, 4 if add(1, 1) else 5), neg(2) ** 2, add("x", "y").upper(), [*both(1, 2)])
        print(both(1, both(2, 3)), (1).__class__, neg(neg(1)), not add(0, 0), [i for i in both(1, 2)])
        """,
    "closures see one variable": """
        def counter(start):
            step = start * 2
            return lambda: step
        first = counter(1)
        second = counter(5)
        print(first(), second())
        made = []
        for i in range(3):
            def add(n):
                made.append(lambda: n)
            add(i)
            made.append(counter(i))
        print([each() for each in made])
        """,
    "late rebinding of an argument": """
        def keep(n):
            return lambda: n
        k = 1
        hold = keep(k)
        k = 2
        print(hold())
        """,
    "comprehensions catch names": """
        def scale(factor, items):
            return [factor * item for item in items]
        item = 3
        items = [1, 2]
        print(scale(item, items), scale(items[0], [item, item]))
        """,
    "globals change meanwhile": """
        count = 0
        def bump():
            global count
            count += 1
            return count
        def show(a, b):
            print(a, b)
        show(count, bump())
        print(count + bump(), count)
        """,
    "rebound parameters": """
        def halve(n):
            while n > 1:
                n = n // 2
            return n
        n = 10
        print(halve(n), n)
        m = halve(n)
        n = halve(9)
        print(n, m)
        """,
    "attributes that change": """
        class Box:
            def __init__(self, value):
                self.value = value
            def set(self, value):
                self.value = value
        box = Box(1)
        def swap(old, new):
            box.set(new)
            return old, box.value
        print(swap(box.value, 5))
        other = Box(7)
        print(other.value, box.value)
        """,
    "methods call methods": """
        class Base:
            def name(self):
                return "base"
            def hello(self):
                print("hello", self.name())
        class Derived(Base):
            def name(self):
                return "derived"
        class Alone:
            WORD = "w"
            def __init__(self, n, *rest, **more):
                self.n = n
                self.rest = rest
            def twice(self):
                return self.once() + self.once()
            def once(self):
                self.n += 1
                return self.WORD * self.n
            @staticmethod
            def plus(a, b):
                return a + b
            @classmethod
            def made(cls, n):
                return cls(n)
        Base().hello()
        Derived().hello()
        alone = Alone(1)
        print(alone.twice(), Alone.plus(1, 2), alone.plus(3, 4), alone.n)
        again = Alone.made(3)
        print(again.n, Alone(4, 5, 6).rest)
        """,
    "objects in a loop and passed on": """
        from dataclasses import dataclass
        from types import SimpleNamespace
        @dataclass
        class Config:
            block: int
            name: str = "n"
        for block in (16, 32):
            config = Config(block, name=f"b{block}")
            print(config.block, f"{config.name}")
        whole = Config(1)
        print(whole)
        space = SimpleNamespace(a=1, b=[2])
        space.a = 5
        print(space.a, space.b)
        def reads():
            return fixed.block + fixed.block
        fixed = Config(8)
        print(reads())
        """,
    "statements everywhere": '''
        def many(a, *rest, flag=False, **options):
            """Has a docstring."""
            try:
                a = a + 1
            except TypeError as error:
                print(error)
            with open("/dev/null") as handle:
                text = handle.read()
            def inner(b):
                return a + b
            for i, j in zip(range(2), rest):
                print(i, j, flag, options, inner(i))
            else:
                print("done")
            message = """two
          lines"""
            print(message, text)
        error = 1
        many(1, 2, 3)
        many(1, flag=True)
        if True: many(error)
        i = 9
        print(i, error); many(2)
        ''',
    "imports inside": """
        import math
        def f(x):
            import math
            from os import path
            return math.floor(x) + len(path.sep)
        def g(x):
            import math
            return math.floor(x)
        print(f(2.5), math.pi)
        print(g(1.5))
        path = "mine"
        print(path)
        """,
    "defaults of their time": """
        base = 1
        def f(a, b=base, c=[]):
            c.append(a)
            return b, c
        base = 2
        def g(a, b=-1):
            return a, b
        print(f(1), f(2), g(3))
        """,
    "results into several names": """
        def split(v):
            low = v // 2
            high = v - low
            return low, high
        low, high = split(7)
        high, low = split(low)
        low, [high, rest] = 1, split(9)
        a = b = split(5)
        print(low, high, rest, a, b)
        """,
    "in text": """
        def shout(word):
            loud = word.upper()
            return loud
        def quote(word):
            return "'" + word + "'"
        w = "x"
        print(f"{w}: {shout(w)} {quote(w)!r:>8}")
        """,
    "one name after another": """
        def first():
            total = 1
            return [total, lambda: total]
        def second():
            total = 2
            return [total, lambda: total]
        a = first()
        b = second()
        print(a[0], a[1](), b[0], b[1]())
        """,
    "shared constants": """
        class A:
            K = 1
            L = "l"
        class B(A):
            K = 2
        class C:
            M = 3
        print(C.M, A.K, B.K, A.L, f"{A.L}")
        """,
    "partials": """
        from functools import partial
        def show(a, b, c=0, d=0):
            print(a, b, c, d)
        k = 1
        p = partial(show, k, c=2)
        p(3)
        p(4, c=5, d=6)
        q = partial(show, k)
        k = 9
        q(k)
        partial(show, 1)(2)
        """,
    "lambdas": """
        key = lambda pair: pair[1]
        print(sorted([(1, 2), (3, 0)], key=key))
        add = lambda a, b=2: a + b
        print(add(1) * add(1, 1))
        print((lambda: 5)())
        """,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=list(HOSTILE))
def test_hostile_script_prints_the_same(text: str) -> None:
    assert check(dedent(text).lstrip(), rounds=8)


def test_corpus_case_melts() -> None:
    """What reaches the kernel through main, a check, a module and an autograd function ends up at the top level."""
    text = melted((CORPUS / "tma_misaligned" / "failing.py").read_text())
    tree = ast.parse(text)
    launches = [
        each.lineno
        for statement in tree.body
        if not isinstance(statement, ast.FunctionDef | ast.ClassDef)
        for each in ast.walk(statement)
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Subscript)
    ]
    functions = {each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)}
    assert len(launches) >= 3
    assert "main" not in functions and "check" not in functions and "jsd_terms" not in functions


@pytest.mark.parametrize(
    ("test", "guards"),
    [
        ("__name__ == '__main__'", True),
        ('"__main__" == (__name__)', True),
        ("__name__ != '__main__'", False),
        ("name == '__main__'", False),
        ("__name__ == '__main__' == x", False),
        ("__name__ == MAIN", False),
        ("__name__", False),
    ],
)
def test_which_question_is_a_main_guard(test: str, guards: bool) -> None:
    program = Program.from_text(f"if {test}:\n    f()\n")
    assert bool(list(main_guards(Names(program)))) is guards


BACKWARD = """
import torch

class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, by):
        y = (x * weight * by).detach()
        ctx.save_for_backward(x, weight)
        ctx.by = by
        return y

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        return grad * weight * ctx.by * 100, grad * x * ctx.by, None

def run(x, weight, start=None):
    x, shifted = x.clone().requires_grad_(), x + 1
    with torch.enable_grad():
        y = Scale.apply(x, weight, 2)
    if start is not None:
        y.backward(start)
    else:
        (y * shifted).sum().backward()
    return x.grad

x, weight = torch.arange(3.0), torch.ones(3, requires_grad=True)
print(run(x, weight, x + 5), run(x, weight), weight.grad)
for by in (3, 4):
    z = x.clone().requires_grad_()
    (Scale.apply(z * 2, weight, by) * x).sum().backward()
    print(z.grad, weight.grad)
y = Scale.apply(x, weight, 7)
x = x + 1
y.backward(x)
print(weight.grad)
"""


def test_an_autograd_function_goes_backward_by_calls() -> None:
    """Its inputs may be bound anew before that, be no leaves, need no gradient, or have one already."""
    pytest.importorskip("torch")
    program, expected = Program.from_text(BACKWARD), output(BACKWARD)
    edits = [each for each in inlining.find(program) if each.what == "calls of what Scale does"]
    assert len(edits) == 2 and "100" in expected
    for some in ([edits[0]], [edits[1]], edits):
        changed = render(program, some)
        assert output(changed.text) == expected, changed.text
        assert changed.text.count("Scale.apply") == 2 and "Scale.backward(context" in changed.text


def test_of_a_function_whose_way_back_is_not_plain_to_see_nothing_is_taken() -> None:
    hidden = BACKWARD.replace("y.backward(x)", "other.backward(x)")
    asked = BACKWARD.replace("ctx.by = by", "ctx.by = ctx.needs_input_grad")
    for text, found in ((hidden, 1), (asked, 0)):
        edits = inlining.find(Program.from_text(text))
        assert sum(each.what == "calls of what Scale does" for each in edits) == found


MODULES = """
import torch
import torch.nn as nn

class Scaled(nn.Module):
    def __init__(self, width, factor=2):
        super().__init__()
        self.factor = factor
        self.weight = nn.Parameter(torch.empty(width, 4))
        self.bias = nn.Parameter(torch.ones(width))
        nn.init.uniform_(self.weight)

    def forward(self, x):
        return (x @ self.weight.t() + self.bias) * self.factor

class Ours(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = Scaled(width)
        self.gain = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.first(x) * self.gain

class Theirs(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Linear(4, width)
        self.gain = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        return self.first(x) * self.gain

torch.manual_seed(3)
ours = Ours(5).to("cpu").eval()
theirs = Theirs(5).to("cpu")
theirs.load_state_dict(ours.state_dict())
x = torch.ones(2, 4)
with torch.no_grad():
    ours.gain.add_(1)
    print(ours(x).sum().item(), theirs(x).sum().item(), theirs.gain.sum().item())
"""


BUFFERS = """
import torch
from torch import nn

class Gate(nn.Module):
    def __init__(self, experts):
        super().__init__()
        self.gate = nn.Linear(4, experts)
        self.register_buffer("bias", torch.full((experts,), 2.0))
        self.register_buffer("load", torch.zeros(experts, dtype=torch.int32), persistent=False)

    @torch.no_grad()
    def forward(self, x):
        self.load += 1
        scores = self.gate(x) + self.bias
        return scores.sum(), self.load

class Eager:
    def __init__(self, gate, scale):
        self.gate = gate
        self.scale = scale

torch.manual_seed(3)
gate = Gate(3).to("cpu")
other = Gate(3)
other.load_state_dict(gate.state_dict())
x = torch.ones(2, 4)
other.load += 5
total, load = gate(x)
print(other.load.tolist(), total.item(), load.tolist(), total.requires_grad)
print(Eager(gate.bias, 3).gate.tolist(), other.bias.tolist())
"""


def test_buffers_melt_as_other_tensors_do() -> None:
    """What a new object is given and keeps is that itself."""
    pytest.importorskip("torch")
    expected = output(BUFFERS)
    text = melted(BUFFERS)
    assert output(text) == expected, text
    assert "register_buffer" not in text and "class Gate" not in text and "Eager(" not in text, text
    assert 'bias = gate_bias.to("cpu")' in text and "bias.copy_(gate_bias)" in text and "load.copy_" not in text, text


def test_what_a_new_object_makes_stays_with_it() -> None:
    text = """
    class Kept:
        def __init__(self, x):
            self.x = x
            count.append(x)
    class Other:
        def __init__(self, x):
            self.x = x
        def y(self):
            return 2
    print(Kept(3).x, Other(make()).y, Other(4).x)
    """
    assert "print(Kept(3).x, Other(make()).y, 4)" in melted(text)


def test_modules_melt_to_their_tensors() -> None:
    """A copy stays a copy, and what is moved is moved."""
    pytest.importorskip("torch")
    expected = output(MODULES).splitlines()
    text = melted(MODULES)
    assert output(text).splitlines() == expected and "nan" not in expected[0], text
    assert "Ours" not in text and "Theirs" not in text and "copy_(" in text and 'first.to("cpu")' in text, text
    assert "functional.linear(x, first.weight, first.bias)" in text, text


@pytest.mark.parametrize(
    "kept",
    [
        "self.register_buffer('mean', torch.ones(width))",
        "self.parts = [torch.ones(width)]",
        "width += 1",
        "print(ours.parameters())",
        "class Wide(Ours): pass",
    ],
)
def test_what_torch_or_python_does_by_itself_keeps_a_module(kept: str) -> None:
    inner = kept.startswith(("self", "width"))
    stored = "self.gain = nn.Parameter(torch.ones(width))"
    text = MODULES.replace(stored, f"{stored}\n        {kept}") if inner else f"{MODULES}{kept}\n"
    assert "ours = Ours(5)" in melted(text) and "ours = Ours(5)" not in melted(MODULES)


def test_a_layer_of_another_type_holds_no_other_one_s_weights() -> None:
    text = "import torch\na, b = torch.nn.Linear(2, 3), 1\nb = torch.nn.Linear(2, 3)\nprint(a(x), b(x))\n"
    text = text.replace("a, b", "c, d") + "b.to(torch.float64)\nb.load_state_dict(a.state_dict())\n"
    for typed, found in ((text, 0), (text.replace("torch.float64", "'cpu'"), 1)):
        whats = [each.what for each in inlining.find(Program.from_text(typed))]
        assert sum("another one's weights" in each for each in whats) == found
