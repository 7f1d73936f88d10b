"""The same compilation with other numbers for the kernel's constants: does what the compiler refuses hang on them?"""

from __future__ import annotations

import ast

from shrinkray_gpu.lift.emit import lift
from shrinkray_gpu.runner.inside.capture.compilations import ONLY_COMPILED
from shrinkray_gpu.runner.inside.capture.schema import Argument, LaunchRecord
from shrinkray_gpu.runner.run import Run

SOUND = 16
"""A tile that is refused nowhere; smaller ones become it."""


def with_other_sizes(run: Run) -> str | None:
    """The script of the compilation that failed, where each constant is another power of two: one that a tile may be.
    A switch stays. None where it was a launch, or where a constant is a text, a type or the like: nobody knows what
    else that may be."""
    launches = run.captured["launches"] if run.captured else []
    if not launches or launches[0]["trouble"] or launches[0].get("how") not in ONLY_COMPILED:
        return None
    try:
        return lift(_varied(launches[0]))
    except ValueError:
        return None


def _varied(launch: LaunchRecord) -> LaunchRecord:
    """Raises ValueError where a constant cannot be another."""
    if "source" in launch:
        constants = _others(launch["source"]["constants"])
        return {**launch, "source": {**launch["source"], "constants": constants}}
    return {**launch, "arguments": [_argument(each) for each in launch["arguments"]]}


def _argument(argument: Argument) -> Argument:
    if argument["kind"] != "value" or not argument.get("constexpr"):
        return argument
    return {**argument, "text": _others(argument["text"])}


def _others(text: str) -> str:
    """The expression with other numbers: `{"BLOCK": 512, "WIDE": True}` for `{"BLOCK": 768, "WIDE": True}`."""
    tree = ast.parse(text, mode="eval")
    return ast.unparse(ast.Expression(_other(tree.body)))


def _other(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.Dict):
        return ast.Dict(node.keys, [_other(value) for value in node.values])
    value = getattr(node, "value", ...)
    if value is None or isinstance(value, bool):
        return node
    if not isinstance(value, int):
        raise ValueError(f"no other value for {ast.unparse(node)}")
    lower = 1 << max(0, value.bit_length() - 1)
    return ast.Constant(max(SOUND, lower if lower < value else value // 2) if value > SOUND else 2 * SOUND)
