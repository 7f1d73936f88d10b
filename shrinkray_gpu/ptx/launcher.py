"""A script that launches a kernel by the driver alone, from a launch that a run has seen.

It is `driver_launch.py` with another recipe. What a recipe cannot say (a TMA descriptor, a cluster) has no script: a
launch that differs from Triton's would be evidence of something else.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

from shrinkray_gpu.ptx.driver_launch import packed
from shrinkray_gpu.ptx.ptx_text import FUNCTION, NotPtx, read
from shrinkray_gpu.runner.run import Compilation, Launch

_RECIPE = re.compile(r"# recipe: begin\n.*?# recipe: end\n", re.S)
_TENSOR = re.compile(r"(?P<type>\w+)\[(?P<shape>[\d, ]*)\] s\((?P<strides>[\d, ]*)\) \+(?P<offset>\d+)\b")
_NUMBER = re.compile(r"(?:i32|i64|u64|float|bool) (\S+)")
_SIZES = {"i1": 1, "i8": 1, "u8": 1, "i16": 2, "u16": 2, "f16": 2, "bf16": 2, "i32": 4, "u32": 4, "f32": 4, "i64": 8,
          "u64": 8, "f64": 8}  # fmt: skip
_SCALARS = {"fp16": "f16", "fp32": "f32", "fp64": "f64"}
_PARAMETER = {"i1": 8, "i8": 8, "u8": 8, "i16": 16, "u16": 16, "f16": 16, "bf16": 16, "i32": 32, "u32": 32, "f32": 32}
"""Bits of a parameter in PTX; 64 for the rest."""


class NoLauncher(ValueError):
    """Why a launch has no such script."""


def launcher(launch: Launch, compiled: Compilation, ptx: str, file: str) -> str:
    """The script, for PTX in a file of this name beside it. Raises NoLauncher."""
    call = compiled.call
    if not call:
        raise NoLauncher("the run does not tell how the kernel is called")
    if any(int(each) != 1 for each in call["cluster"]):
        raise NoLauncher("it is launched in clusters")
    arguments = [
        _argument(kind, told)
        for kind, told in zip(call["signature"], launch.args, strict=True)
        if kind != "constexpr"
    ] if len(call["signature"]) == len(launch.args) else None  # fmt: skip
    if arguments is None:
        raise NoLauncher("the launch has another number of arguments than the kernel's signature")
    grid = (*launch.grid, 1, 1)[:3]
    bits, threads = entry_parameters(ptx, launch.kernel, int(call["warps"]) * 32)
    blocks = grid[0] * grid[1] * grid[2]
    while len(arguments) < len(bits):  # what Triton itself adds: scratch memory, of nothing mostly
        size = int(call["scratch"]) * blocks if bits[len(arguments)] == 64 else 0
        arguments.append(("buffer", size, 0, "") if size else ("u64", 0))
    wrong = [index for index, each in enumerate(arguments) if _PARAMETER.get(str(each[0]), 64) != bits[index]]
    if len(arguments) > len(bits) or wrong:
        raise NoLauncher("the PTX has other parameters than the launch has arguments")
    lines = "".join(f"    {_written(each)},\n" for each in arguments)
    return script(
        f"FILE = {file!r}\nKERNEL = {launch.kernel!r}\nGRID = {grid!r}\nBLOCK = ({threads}, 1, 1)\n"
        f"SHARED = {compiled.shared}  # bytes of dynamic shared memory\n",
        lines,
    )


def script(launch: str, arguments: str, memory: str = "") -> str:
    """`driver_launch.py` with this recipe."""
    recipe = (
        f"# recipe: begin\n{launch}"
        "# Memory that arguments point into: (bytes, what repeats in it as hex, or a file beside this one).\n"
        f"MEMORY: Sequence[tuple[int, str]] = ({_rows(memory)})\n"
        '# One line a parameter: ("buffer", bytes, offset in bytes, type), (type, value), or\n'
        '# ("bytes", hex, ((where it points, which memory, offset), ...)).\n'
        f"ARGUMENTS: Sequence[tuple[Any, ...]] = ({_rows(arguments)})\n# recipe: end\n"
    )
    template = Path(__file__).with_name("driver_launch.py").read_text(encoding="utf-8")
    return _RECIPE.sub(lambda found: recipe, template)


def _rows(lines: str) -> str:
    return f"\n{lines}" if lines else ""


def _argument(kind: str, told: str) -> tuple[object, ...]:
    """From the type in the kernel's signature, `*fp32`, and what the launch tells of it."""
    if kind.startswith("*"):
        found = _TENSOR.search(told)
        if found is None:
            raise NoLauncher(f"an argument is no plain tensor: {told}")
        width = _SIZES.get(found["type"])
        if width is None:
            raise NoLauncher(f"{found['type']} is a type whose values it cannot write")
        last = _last(_numbers(found["shape"]), _numbers(found["strides"]))
        offset = int(found["offset"])
        return "buffer", (offset + last) * width, offset * width, found["type"]
    scalar, number = _SCALARS.get(kind, kind), _NUMBER.fullmatch(told)
    if scalar not in _SIZES or number is None:
        raise NoLauncher(f"an argument of type {kind} is none that a recipe can say: {told}")
    value = {"True": "1", "False": "0"}.get(number[1], number[1])
    return scalar, _finite_as(scalar, float(value)) if scalar.startswith(("f", "bf")) else int(value)


def _finite_as(kind: str, value: float) -> float:
    """The value, or an infinity where the type has no such number."""
    try:
        packed(kind, value)
    except OverflowError:
        return math.copysign(math.inf, value)
    return value


def _written(argument: tuple[object, ...]) -> str:
    """In Python, which has no literal of infinity and of NaN."""
    strange = any(isinstance(each, float) and not math.isfinite(each) for each in argument)
    return f'({argument[0]!r}, float("{argument[1]}"))' if strange else repr(argument)


def _last(shape: Sequence[int], strides: Sequence[int]) -> int:
    """Elements from the first to behind the last one."""
    if 0 in shape:
        return 0
    return 1 + sum((extent - 1) * stride for extent, stride in zip(shape, strides))


def _numbers(text: str) -> list[int]:
    return [int(each) for each in text.split(",") if each.strip()]


def entry_parameters(ptx: str, kernel: str, threads: int) -> tuple[list[int], int]:
    """Bits of each parameter of the kernel, and the threads of a block: more than the warps, where it is specialised
    for some of them."""
    try:
        functions = [each for each in read(ptx) if each.kind == FUNCTION and each.is_entry and each.name == kernel]
    except NotPtx as error:
        raise NoLauncher(f"its PTX cannot be read: {error}") from error
    if not functions:
        raise NoLauncher(f"its PTX has no kernel {kernel}")
    found = [re.match(r"\.param \.[a-z]+(\d+)\b(?!.*\[)", each) for each in functions[0].parameters]
    if not all(found):
        raise NoLauncher("a parameter is a structure, as a TMA descriptor is")
    asked = next((each for each in functions[0].directives if each.startswith((".reqntid", ".maxntid"))), "")
    declared = re.search(r"\d+", asked)
    return [int(each[1]) for each in found if each], int(declared[0]) if declared else threads
