"""From a captured launch to a script: imports, kernel, inputs by a simple recipe, launch, synchronise."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from shrinkray_gpu.lift.inputs import Inputs, Recipe

WIDTH = 110
ALLOCATOR = 'triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))\n'
DEFAULTS = {"num_warps": "4", "num_stages": "3", "num_ctas": "1", "maxnreg": "None", "debug": "False"}
"""Launch options that say nothing. (num_stages is 3 on every NVIDIA GPU that Triton supports.)"""
RECIPES: tuple[Recipe, ...] = ("zeros", "randn")

Launch = Mapping[str, Any]


def lift(launch: Launch) -> str | None:
    """The simplest script, or None where the launch cannot be written down."""
    return next(iter(lifts(launch)), None)


def lifts(launch: Launch) -> tuple[str, ...]:
    """One script for each recipe for the inputs, simplest first."""
    if launch["trouble"] or launch["grid"] is None:
        return ()
    texts = dict.fromkeys(_emit(launch, recipe) for recipe in RECIPES)
    return tuple(text for text in texts if text is not None)


def _emit(launch: Launch, recipe: Recipe) -> str | None:
    definitions = launch["definitions"]
    taken = {"torch", "triton", "tl", "TensorDescriptor", *(d["name"] for d in definitions)}
    inputs = Inputs(recipe, taken)
    inputs.plan(launch["arguments"])
    values = {argument["name"]: inputs.text(argument) for argument in launch["arguments"]}
    options = {o["name"]: o.get("text") for o in launch["options"] if DEFAULTS.get(o["name"]) != o.get("text")}
    if None in values.values() or None in options.values():
        return None
    call = _call(launch, values, options)
    constants = "".join(d["text"] for d in definitions if d["kind"] == "constant")
    functions = [d["text"] for d in definitions if d["kind"] == "function"]
    steps = (ALLOCATOR if launch["allocator"] else "") + "".join(inputs.lines)
    end = [f"{steps}{call}torch.cuda.synchronize()\n"]
    code = "\n\n".join([*([constants] if constants else []), *functions, *end])
    text = f"{_imports(code, definitions, inputs.imports)}\n{'' if constants else chr(10)}{code}"
    ast.parse(text)
    return text


def _imports(code: str, definitions: Sequence[Mapping[str, str]], more: Sequence[str]) -> str:
    usual = {"torch": "import torch\n", "triton": "import triton\n", "tl": "import triton.language as tl\n"}
    lines = [line for name, line in usual.items() if re.search(rf"\b{name}\b", code)]
    own = [d["text"] for d in definitions if d["kind"] == "import"]
    every = dict.fromkeys([*lines, *own, *more])
    return "".join(sorted(every, key=lambda line: (line.startswith("from "), line)))


def _call(launch: Launch, values: Mapping[str, str | None], options: Mapping[str, str | None]) -> str:
    """Leading arguments by position; from the first constexpr (or gap, where a default stands) on, by name."""
    words: list[str] = []
    by_name = False
    for index, argument in enumerate(launch["arguments"]):
        by_name = by_name or argument["constexpr"] or _parameters(launch)[index] != argument["name"]
        words.append(f"{argument['name']}={values[argument['name']]}" if by_name else str(values[argument["name"]]))
    words += [f"{name}={value}" for name, value in options.items()]
    grid = list(launch["grid"])
    while len(grid) > 1 and grid[-1] == 1:
        grid.pop()
    head = f"{launch['kernel']}[({', '.join(map(str, grid))}{',' if len(grid) == 1 else ''})]"
    line = f"{head}({', '.join(words)})\n"
    if len(line) <= WIDTH:
        return line
    return f"{head}(\n{_filled(words)})\n"


def _filled(words: Sequence[str]) -> str:
    lines, line = [], ""
    for word in words:
        if line and len(line) + len(word) + 6 > WIDTH:
            lines.append(line)
            line = ""
        line += f"{' ' if line else ''}{word},"
    return textwrap.indent("\n".join([*lines, line]) + "\n", "    ")


def _parameters(launch: Launch) -> list[str]:
    """The kernel's parameters, in order."""
    source = next(d["text"] for d in launch["definitions"] if d["name"] == launch["kernel"])
    function = ast.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    return [a.arg for a in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
