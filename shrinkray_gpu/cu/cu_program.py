"""The text of a .cu as a Program: the one string of a script, which the passes on CUDA C++ reduce.

The script has one more word, `main`: by it these passes know what the outside calls.
"""

from __future__ import annotations

import ast

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.passes import PASSES
from shrinkray_gpu.passes.schedule import Pass
from shrinkray_gpu.reduction.program import Program

CUDA_PASSES: tuple[Pass, ...] = tuple(each for each in PASSES if each.name.startswith("cuda_"))


def program_of(text: str, path: str) -> Program:
    """Raises UsageError where the text is no CUDA C++."""
    program = Program.from_text(f"main = {_literal(text)}\n", path)
    if not program.literals:
        raise UsageError(f"{path} is no CUDA program: it holds no kernel, no include and no function")
    return program


def text_of(program: Program) -> str:
    """The .cu that a Program stands for."""
    (statement,) = ast.parse(program.text).body
    assert isinstance(statement, ast.Assign)
    value = ast.literal_eval(statement.value)
    assert isinstance(value, str)
    return value.lstrip("\n")


def _literal(text: str) -> str:
    for quote in ('"""', "'''"):
        if quote not in text and not text.endswith(("\\", quote[0])):
            return f"r{quote}\n{text}{quote}"
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"""\n{escaped}"""'
