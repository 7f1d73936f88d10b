"""Numbers to smaller ones: tiles, shapes, grids, launch options.

Small numbers make every later try cheaper (a 256x128x64 matmul compiles in 3.1 s, a 32x32x32 one in 0.12 s) and the
repro readable. Three things are special on GPUs. Faults are not monotone in the tile size (triton #11148: 512 and 1024
fail, 256 and 2048 pass), so a power of two is offered *all* lower ones, smallest first, and stays a power of two.
Constants are coupled (a shape and its block), so equal numbers, and all multiples of one, also move together. And
dot tiles start at 16, rows of a descriptor at 16 bytes: these minima only decide which offer comes first. A sum,
difference or product of two numbers becomes the number that it is: to smaller ones each of them alone seldom can go.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from functools import cache

import libcst as cst

from shrinkray_gpu.passes.python.expressions import in_grid, is_extent
from shrinkray_gpu.passes.python.loops import is_step
from shrinkray_gpu.reduction.edit import Edit, Replace
from shrinkray_gpu.reduction.keep import allowed_edits
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.compilations import is_told_of_alignment
from shrinkray_gpu.source.kernels import in_kernel
from shrinkray_gpu.source.literals import last_name
from shrinkray_gpu.source.tree import ancestors, every, source

CLAMPS = (4, 16, 64)
"""Every larger number of the program becomes this one, at once."""
COUPLED_FROM = 4
"""Equal numbers below this are mostly equal by chance."""
MOST_JOINT = 6
"""Values offered for numbers that move together; each alone is offered all of its lattice."""
FAR = 1 << 24
"""A larger number may be an offset to where nothing is mapped. How much nearer it may lead depends on the process, and
a lane maps less than the user's. So it becomes small or stays as it is."""
JOINT, MULTIPLES, ALONE = 0, 1, 2
_ARITHMETIC: Mapping[type[cst.BaseBinaryOp], Callable[[int, int], int]] = {
    cst.Add: operator.add,
    cst.Subtract: operator.sub,
    cst.Multiply: operator.mul,
}


LANES, WARPS = 1, 2
"""Arguments of a layout. The lanes of a warp are what the hardware has: another number is refused, and where it is not,
only because the fault comes before. Its warps go with `num_warps`."""


def find(program: Program) -> Iterator[Edit]:
    floor = _smallest_legal_tile(program)
    yield from together(program)
    for node in every(program, cst.Integer, cst.Float):
        if _layout_argument(program, node) in (LANES, WARPS) or is_told_of_alignment(program, node):
            continue
        if isinstance(node, cst.Float):
            for text in ("1.0", "0.0") if node.evaluated_value not in (0.0, 1.0) else ():
                yield _set([node], text, ALONE)
        elif isinstance(node, cst.Integer):
            for smaller in offers(value_of(node), option=_option(program, node), floor=floor):
                if smaller == 0 and (is_step(program, node) or _counts(program, node)):
                    continue
                yield _set([node], str(smaller), ALONE)
    for operation in every(program, cst.BinaryOperation):
        compute, one, other = _ARITHMETIC.get(type(operation.operator)), operation.left, operation.right
        if compute is not None and isinstance(one, cst.Integer) and isinstance(other, cst.Integer):
            result = str(compute(value_of(one), value_of(other)))
            what = f"one number, {result}, for {source(program, operation)}"
            yield Edit(what, (Replace(operation, (result,)),), ALONE, 2)


def find_for_check(program: Program) -> Iterator[Edit]:
    """The same without the host's fractions: of what a check may let pass, 1.0 would hide what else is broken."""
    for edit in find(program):
        nodes = [one.node for one in edit.changes if isinstance(one, Replace)]
        if not any(isinstance(node, cst.Float) and not in_kernel(program, node) for node in nodes):
            yield edit


def together(program: Program, above: int = 0) -> Iterator[Edit]:
    """Moves of several numbers at once, those of at least `above` only."""
    large = (node for node in every(program, cst.Integer) if value_of(node) >= above)
    large = (node for node in large if not is_told_of_alignment(program, node))
    free = (node for node in large if _layout_argument(program, node) != LANES)
    integers = [node for node in free if _movable(program, node)]
    floor = _smallest_legal_tile(program)
    yield from _clamped(integers)
    yield from _equal(program, integers, floor)
    yield from _multiples(integers, floor)


def offers(number: int, option: str = "", floor: int = 1) -> list[int]:
    """Smaller numbers on the lattice of this one, in order of preference.

    >>> offers(16), offers(64, floor=16), offers(100), offers(8, option="num_warps")
    ([1, 2, 4, 8], [16, 32, 1, 2, 4, 8], [1, 2, 0, 50, 88, 97, 99], [1, 2, 4])
    >>> offers(32, option="matrix_instr_nonkdim"), offers(3, option="waves_per_eu"), offers(2, option="kpack")
    ([0, 4, 16], [0, 1, 2], [1])
    """
    if option in ("num_warps", "num_ctas"):
        return [power for power in (1, 2, 4) if power < number]
    if option == "num_stages":
        return list(range(1, min(number, 7)))
    if option == "waves_per_eu":  # 0 says: as many as fit
        return list(range(min(number, 9)))
    if option == "matrix_instr_nonkdim":  # 0 leaves the choice to the compiler
        return [rows for rows in (0, 4, 16, 32) if rows < number]
    if option == "kpack":
        return [1] if number > 1 else []
    if number <= 1:
        return [0] if number == 1 else []
    if number > FAR:
        return [1, 2, 0, *CLAMPS]
    if is_power(number):
        powers = [1 << exponent for exponent in range(number.bit_length() - 1)]
        return sorted(powers, key=lambda power: (power < floor, power))
    return [smaller for smaller in dict.fromkeys((1, 2, 0, *_towards(number))) if smaller < number]


def _towards(number: int) -> Iterator[int]:
    """Its half, and ever closer to it. A few steps lead to within a hundredth of the smallest that still faults; the
    last digits of a large number would take a try each, and tell its reader nothing."""
    yield number // 2
    for part in (8, 32, 128):
        yield number - max(1, number // part)


def value_of(number: cst.Integer) -> int:
    """Its `evaluated_value`, which libcst parses again each time."""
    return _value(number.value)


@cache
def _value(text: str) -> int:
    return int(text, 0)


def is_power(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0


def _counts(program: Program, number: cst.Integer) -> bool:
    """Whether 0 in the place of this number would be a mistake of another kind: no program in the grid, the best none
    of a tile (`tl.topk(x, 0)`), a descriptor of nothing. What comes out of it has the same words, and no sense."""
    up = program.parents[number]
    if isinstance(up, cst.Arg):
        call = program.parents[up]
        return up.keyword is None and in_kernel(program, number) and last_name(getattr(call, "func", call)) != "arange"
    return is_extent(program, number) or in_grid(program, number)


def _layout_argument(program: Program, number: cst.CSTNode) -> int | None:
    """Which argument of a `BlockedLayout` a number is in, if any."""
    below = number
    for up in ancestors(program, number):
        if isinstance(up, (cst.BaseSuite, cst.BaseCompoundStatement)):
            return None
        if isinstance(up, cst.Call) and isinstance(below, cst.Arg) and last_name(up.func) == "BlockedLayout":
            return up.args.index(below)
        below = up
    return None


def _movable(program: Program, number: cst.Integer) -> bool:
    """Whether it may become another at all. A joint move is dropped whole for one place that may not: in a pattern of
    `match`, in what the user marked to be kept, in an assertion of a kernel."""
    if any(isinstance(up, cst.MatchPattern) for up in ancestors(program, number)):
        return False
    return bool(allowed_edits(program, [Edit("", (Replace(number, ("1",)),))]))


def _set(nodes: list[cst.CSTNode], text: str, level: int) -> Edit:
    before = getattr(nodes[0], "value", "")
    what = f"number {before} to {text}" + (f", {len(nodes)} places" if len(nodes) > 1 else "")
    return Edit(what, tuple(Replace(node, (text,)) for node in nodes), level=level)


def _clamped(integers: list[cst.Integer]) -> Iterator[Edit]:
    for limit in CLAMPS:
        larger = [node for node in integers if value_of(node) > limit]
        if len(larger) > 1:
            changes = tuple(Replace(node, (str(limit),)) for node in larger)
            yield Edit(f"numbers above {limit} to it", changes, level=JOINT)


def _equal(program: Program, integers: list[cst.Integer], floor: int) -> Iterator[Edit]:
    for number, nodes in by_value(integers).items():
        if len(nodes) > 1:
            for smaller in offers(number, floor=floor)[:MOST_JOINT]:
                if smaller or not any(is_step(program, node) or _counts(program, node) for node in nodes):
                    yield _set(list(nodes), str(smaller), JOINT)


def _multiples(integers: list[cst.Integer], floor: int) -> Iterator[Edit]:
    """`M=512, BLOCK=128` to `M=16, BLOCK=4`: whatever is a multiple of a tile keeps its ratio to it."""
    near = [(node, value_of(node)) for node in integers if 0 < value_of(node) <= FAR]
    for unit in filter(is_power, by_value(integers)):
        related = [(node, value) for node, value in near if value % unit == 0]
        if len({value for _, value in related}) > 1:
            for smaller in offers(unit, floor=floor)[:MOST_JOINT]:
                changes = tuple(Replace(node, (str(value // unit * smaller),)) for node, value in related)
                yield Edit(f"multiples of {unit} to {smaller}", changes, level=MULTIPLES)


def by_value(integers: list[cst.Integer]) -> dict[int, list[cst.Integer]]:
    groups: dict[int, list[cst.Integer]] = {}
    for node in integers:
        if value_of(node) >= COUPLED_FROM:
            groups.setdefault(value_of(node), []).append(node)
    return groups


def _smallest_legal_tile(program: Program) -> int:
    names = {node.value for node in every(program, cst.Name)}
    if names & {"dot", "dot_scaled"}:
        return 16
    return 4 if names & {"make_tensor_descriptor", "TensorDescriptor", "make_block_ptr"} else 1


def _option(program: Program, number: cst.CSTNode) -> str:
    """The name that the number is given to: keyword, parameter default, dict key or variable."""
    for up in ancestors(program, number):
        if isinstance(up, cst.Arg):
            return up.keyword.value if up.keyword is not None else ""
        if isinstance(up, cst.Param):
            return up.name.value
        if isinstance(up, cst.DictElement):
            return str(up.key.evaluated_value) if isinstance(up.key, cst.SimpleString) else ""
        if isinstance(up, cst.Assign):
            target = up.targets[0].target
            return target.value.lower() if isinstance(target, cst.Name) else ""
        if not isinstance(up, cst.UnaryOperation):
            return ""
    return ""
