"""Suites of failing tests, drawn from seeds: a package of Triton kernels with mistakes in it, and tests that meet them.

Seven causes are mistakes in a kernel or in its host function; the eighth is the machine. Two causes have one message
(an illegal memory access, by two kernels). One has three messages: the error itself, an exception of the package's own
around it, and an assertion. Some tests fail in some runs only. Each test calls a healthy kernel before.
"""

from __future__ import annotations

import random
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

MACHINE = "machine"
MOST = 7
"""Causes that are in the program."""
FLAKY = 3
_WORDS = (
    "gate norm rope gelu swiglu topk pack cast scan pool bias mask head tile rank shift decay clip fold blend".split()
)
_NAMES = "values source data inputs tokens rows weight buffer".split()
HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n\nclass OpError(Exception):\n    pass\n"
COIN = '''\
"""A test that fails the first time, and then by chance."""

import os
from pathlib import Path


def is_bad_day(name):
    seen = Path(__file__).with_name(f"{name}.seen")
    if not seen.exists():
        try:
            seen.touch()
        except OSError:
            pass
        else:
            return True
    return os.urandom(1)[0] < 128
'''


@dataclass(frozen=True)
class Mistake:
    """A kernel with its host function, and what a test passes."""

    cause: str
    module: str
    text: str
    call: str
    """Of the host function, with `{n}` for a size."""
    device: bool
    """Whether it is an error of the device, that a host may catch."""


@dataclass
class Suite:
    """What was written."""

    truth: dict[str, str] = field(default_factory=dict)
    """The cause of each test."""
    flaky: list[str] = field(default_factory=list)


def _far_load(name: str, x: str, draw: random.Random) -> tuple[str, str]:
    """A row number that is multiplied once too often, and no mask on the load."""
    block, step = draw.choice([64, 128, 256]), draw.choice([1 << 18, 3 << 17])
    return (
        f"""
        @triton.jit
        def {name}_kernel({x}, out, n, BLOCK: tl.constexpr):
            first = tl.program_id(0) * BLOCK
            lanes = first + tl.arange(0, BLOCK)
            loaded = tl.load({x} + lanes * {step})
            tl.store(out + lanes, loaded * 2.0, mask=lanes < n)


        def {name}({x}):
            out = torch.empty_like({x})
            {name}_kernel[(triton.cdiv({x}.numel(), {block}),)]({x}, out, {x}.numel(), BLOCK={block})
            torch.cuda.synchronize()
            return out
        """,
        "torch.randn({n}, device='cuda')",
    )


def _far_store(name: str, x: str, draw: random.Random) -> tuple[str, str]:
    """The mask of the load is not on the store, whose address is of another layout."""
    block, step = draw.choice([64, 128]), draw.choice([1 << 17, 1 << 18])
    return (
        f"""
        @triton.jit
        def {name}_kernel({x}, out, n, BLOCK: tl.constexpr):
            lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            keep = lanes < n
            loaded = tl.load({x} + lanes, mask=keep, other=0.0)
            total = tl.sum(loaded, axis=0)
            tl.store(out + lanes * {step}, loaded - total)


        def {name}({x}):
            out = torch.empty_like({x})
            {name}_kernel[(triton.cdiv({x}.numel(), {block}),)]({x}, out, {x}.numel(), BLOCK={block})
            torch.cuda.synchronize()
            return out
        """,
        "torch.randn({n}, device='cuda')",
    )


def _strides(name: str, x: str, draw: random.Random) -> tuple[str, str]:
    """The host function passes the two strides in the wrong order."""
    columns = draw.choice([50_000, 80_000, 100_000])
    return (
        f"""
        @triton.jit
        def {name}_kernel({x}, out, row_stride, column_stride, columns, BLOCK: tl.constexpr):
            row = tl.program_id(0)
            lanes = tl.arange(0, BLOCK)
            keep = lanes < columns
            loaded = tl.load({x} + row * row_stride + lanes * column_stride, mask=keep, other=0.0)
            tl.store(out + row, tl.sum(loaded, axis=0))


        def {name}({x}):
            out = torch.empty({x}.shape[0], device="cuda")
            grid = ({x}.shape[0],)
            {name}_kernel[grid]({x}, out, {x}.stride(1), {x}.stride(0), {x}.shape[1], BLOCK=1024)
            torch.cuda.synchronize()
            return out
        """,
        f"torch.empty(8 + {{n}} % 50, {columns}, device='cuda')",
    )


def _gather(name: str, x: str, draw: random.Random) -> tuple[str, str]:
    """The host function makes an index list with a stride that the table does not have."""
    step = draw.choice([1 << 18, 1 << 19])
    return (
        f"""
        @triton.jit
        def {name}_kernel({x}, index, out, n, BLOCK: tl.constexpr):
            lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            keep = lanes < n
            at = tl.load(index + lanes, mask=keep, other=0)
            tl.store(out + lanes, tl.load({x} + at, mask=keep, other=0.0), mask=keep)


        def {name}({x}):
            out = torch.empty_like({x})
            index = torch.arange({x}.numel(), device="cuda") * {step}
            {name}_kernel[(triton.cdiv({x}.numel(), 128),)]({x}, index, out, {x}.numel(), BLOCK=128)
            torch.cuda.synchronize()
            return out
        """,
        "torch.randn({n}, device='cuda')",
    )


def _shapes(name: str, x: str, draw: random.Random) -> tuple[str, str]:
    """Two blocks of other lengths are added."""
    block = draw.choice([32, 64, 128])
    return (
        f"""
        @triton.jit
        def {name}_kernel({x}, out, BLOCK: tl.constexpr):
            lanes = tl.arange(0, BLOCK)
            wide = tl.arange(0, 2 * BLOCK)
            tl.store(out + lanes, tl.load({x} + lanes) + tl.load({x} + wide))


        def {name}({x}):
            out = torch.empty_like({x})
            {name}_kernel[(1,)]({x}, out, BLOCK={block})
            return out
        """,
        "torch.randn({n} + 512, device='cuda')",
    )


def _odd_range(name: str, x: str, draw: random.Random) -> tuple[str, str]:
    """A range that is no power of 2."""
    block = draw.choice([48, 96, 100])
    return (
        f"""
        @triton.jit
        def {name}_kernel({x}, out, n, BLOCK: tl.constexpr):
            lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(out + lanes, tl.load({x} + lanes, mask=lanes < n) + 1.0, mask=lanes < n)


        def {name}({x}):
            out = torch.empty_like({x})
            {name}_kernel[(triton.cdiv({x}.numel(), {block}),)]({x}, out, {x}.numel(), BLOCK={block})
            return out
        """,
        "torch.randn({n}, device='cuda')",
    )


def _static_assert(name: str, x: str, draw: random.Random) -> tuple[str, str]:
    """The kernel asks for a block that the host function does not choose."""
    block = draw.choice([32, 64])
    return (
        f"""
        @triton.jit
        def {name}_kernel({x}, out, n, BLOCK: tl.constexpr):
            tl.static_assert(BLOCK >= 128, "{name} needs blocks of 128")
            lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(out + lanes, tl.load({x} + lanes, mask=lanes < n), mask=lanes < n)


        def {name}({x}):
            out = torch.empty_like({x})
            {name}_kernel[(triton.cdiv({x}.numel(), {block}),)]({x}, out, {x}.numel(), BLOCK={block})
            return out
        """,
        "torch.randn({n}, device='cuda')",
    )


def _no_name(name: str, x: str, draw: random.Random) -> tuple[str, str]:
    """The kernel reads a name that nobody defines."""
    word = draw.choice(["scale", "offset", "limit"])
    return (
        f"""
        @triton.jit
        def {name}_kernel({x}, out, n, BLOCK: tl.constexpr):
            lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            loaded = tl.load({x} + lanes, mask=lanes < n, other=0.0)
            tl.store(out + lanes, loaded * {word}, mask=lanes < n)


        def {name}({x}):
            out = torch.empty_like({x})
            {name}_kernel[(triton.cdiv({x}.numel(), 128),)]({x}, out, {x}.numel(), BLOCK=128)
            return out
        """,
        "torch.randn({n}, device='cuda')",
    )


Make = Callable[[str, str, random.Random], "tuple[str, str]"]
DEVICE: tuple[Make, ...] = (_far_load, _far_store, _strides, _gather)
COMPILING: tuple[Make, ...] = (_shapes, _odd_range, _static_assert, _no_name)
HEALTHY = """

@triton.jit
def scale_kernel(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes, mask=lanes < n) * 0.5, mask=lanes < n)


def scale(x):
    out = torch.empty_like(x)
    scale_kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
    return out
"""


def draw_suite(seed: int, folder: Path, tests: int, causes: int = MOST) -> Suite:
    """Write a suite of this many failing tests into the folder, with so many causes in the program."""
    draw = random.Random(seed)
    words = draw.sample(_WORDS, causes)
    # Two of one message at least: kernels that leave their tensors. Their kinds may come twice, in other kernels.
    makes: list[Make] = [*draw.choices(DEVICE, k=max(2, causes - 4)), *draw.sample(COMPILING, min(4, causes - 2))]
    makes = makes[:causes]
    modules = [draw.choice(["core", "fused", "extra"]) for _ in words]
    mistakes = []
    for word, module, make in zip(words, modules, makes):
        text, given = make(word, draw.choice(_NAMES), draw)
        body = textwrap.dedent(text).strip("\n")
        mistakes.append(Mistake(f"{word}:{make.__name__}", module, body, f"{module}.{word}({given})", make in DEVICE))
    package = folder / "ops"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    for module in sorted(set(modules) | {"core"}):
        own = [each.text for each in mistakes if each.module == module]
        draw.shuffle(own)
        (package / f"{module}.py").write_text("\n\n".join([HEAD + HEALTHY * (module == "core"), *own]) + "\n")
    return _write_tests(draw, folder, mistakes, tests)


def _write_tests(draw: random.Random, folder: Path, mistakes: list[Mistake], count: int) -> Suite:
    suite, texts = Suite(), {"test_a.py": [], "test_b.py": [], "test_c.py": []}
    machine = max(1, count // 20)
    left = count - machine
    shares = [1 + left // (2 * len(mistakes))] * len(mistakes)
    while sum(shares) < left:
        shares[draw.randrange(len(shares))] += 1
    three = next(each for each in mistakes if each.device)
    shares[mistakes.index(three)] = max(3, shares[mistakes.index(three)])
    functions: list[tuple[str, str, str, list[int]]] = []
    for mistake, share in zip(mistakes, shares):
        ways = ["plain", "wrapped", "asserted"] if mistake is three else ["plain"]
        number = 0
        while share > 0 or number < len(ways):
            sizes = draw.sample(range(300, 3000), max(1, min(share, draw.randint(1, 4))))
            functions.append((mistake.cause, _function(mistake, ways[number % len(ways)], number, sizes), "", sizes))
            share -= len(sizes)
            number += 1
    draw.shuffle(functions)
    for cause, text, _, sizes in functions:
        file = draw.choice(sorted(texts))
        texts[file].append(text)
        name = text.partition("def ")[2].partition("(")[0]
        for size in sizes:
            suite.truth[f"tests/{file}::{name}[{size}]"] = cause
    for number in range(machine):
        name = f"test_checkpoint_{number}"
        texts["test_c.py"].append(f"def {name}(tmp_path):\n    raise OSError(28, 'No space left on device')\n")
        suite.truth[f"tests/test_c.py::{name}"] = MACHINE
    _make_flaky(draw, suite, texts)
    place = folder / "tests"
    place.mkdir()
    (place / "coin.py").write_text(COIN)
    (folder / "conftest.py").write_text("")
    for file, parts in texts.items():
        imports = "import pytest\nimport torch\n\nfrom coin import is_bad_day\nfrom ops import core\n"
        others = sorted({each.module for each in mistakes} - {"core"})
        imports += "".join(f"from ops import {module}\n" for module in others)
        (place / file).write_text("\n\n".join([imports, *parts]))
    return suite


def _function(mistake: Mistake, way: str, number: int, sizes: list[int]) -> str:
    name = f"test_{mistake.cause.partition(':')[0]}_{number}"
    call = mistake.call.replace("{n}", "n")
    module = mistake.module
    body = {
        "plain": f"    {call}\n",
        "wrapped": f"    try:\n        {call}\n    except Exception as error:\n"
        f"        raise {module}.OpError('this backend is not usable') from error\n",
        "asserted": f"    fine = True\n    try:\n        {call}\n    except Exception:\n        fine = False\n"
        "    assert fine\n",
    }[way]
    return (
        f"@pytest.mark.parametrize('n', {sizes})\ndef {name}(n):\n    core.scale(torch.randn(n, device='cuda'))\n{body}"
    )


def _make_flaky(draw: random.Random, suite: Suite, texts: dict[str, list[str]]) -> None:
    """Some functions of one test each begin with a coin."""
    lonely = [
        (file, number)
        for file, parts in texts.items()
        for number, text in enumerate(parts)
        if text.startswith("@") and text.partition("[")[2].partition("]")[0].count(",") == 0
    ]
    for file, number in draw.sample(lonely, min(FLAKY, len(lonely))):
        text = texts[file][number]
        name = text.partition("def ")[2].partition("(")[0]
        at = text.index("\n", text.index("def ")) + 1
        texts[file][number] = f"{text[:at]}    if not is_bad_day('{name}'):\n        return\n{text[at:]}"
        suite.flaky += [node for node in suite.truth if node.startswith(f"tests/{file}::{name}[")]
