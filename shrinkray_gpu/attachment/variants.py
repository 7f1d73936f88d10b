"""Variants of a reduced program: one knob in its text (stages, warps, a tile's extent, a dtype, a flag) set to another
value, by an edit so small that a reader can make it by hand.

Controls turn a knob at launch, for a program of any size. A repro is a page of text, and its reader has no knobs of
ours: for him the same question is asked by editing literals. Only what the text says is varied, nothing is computed:
tiles are found where the language wants a shape (`tl.arange`, `block_shape=`, `tl.zeros` ...), directly or through the
name of a constant or a constexpr argument, and equal extents are changed together, since one alone fits nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from shrinkray_gpu.attachment.text_edits import Spots, TextEdit, apply_edits

STAGES, WARPS = (1, 2, 3, 4, 5, 6), (1, 2, 4, 8, 16)
MANY = 12
"""More stages than that are not tried one by one."""
WIDEST = 512
"""No tile is made wider than this: compile times grow with it."""
FLOATS, INTEGERS = ("float16", "bfloat16", "float32", "float64"), ("int8", "int16", "int32", "int64")
CREATORS = frozenset({"zeros", "ones", "empty", "full", "randn", "rand"})
_LISTED = {"zeros": 0, "full": 0, "empty": 0, "ones": 0, "reshape": 1, "broadcast_to": 1, "allocate_shared_memory": 1}
"""Calls that take a shape, and at which place."""
_BLOCKS = {"make_tensor_descriptor": 3, "make_block_ptr": 4, "TensorDescriptor": 3, "from_tensor": 1}


@dataclass(frozen=True)
class Variant:
    """The program with one knob at another value."""

    knob: str
    value: str
    edits: tuple[TextEdit, ...]
    text: str


@dataclass(frozen=True)
class Knob:
    """One thing that can be varied: all places where it stands, and the values that it may take."""

    name: str
    kind: str
    """`stages`, `warps`, `tile`, `flag`, `dtype`."""
    current: str
    values: tuple[str, ...]
    """In their order, the current one among them."""
    variants: tuple[Variant, ...]
    """The nearest first."""
    innermost: bool = False
    """Of a tile: whether it is the extent of a block's last dimension, whose bytes lie side by side."""


def knobs(text: str) -> tuple[Knob, ...]:
    """What can be varied in this script, the most telling first. Empty for a text that does not parse."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return ()
    spots = Spots(text)
    found = _ScriptParts(tree, spots)
    return tuple(
        knob
        for knob in (
            *_stages_of_loops(found),
            *_flags(found),
            *_tiles(found),
            *_launch_option(found, "num_stages", "stages", STAGES, 3),
            *_launch_option(found, "num_warps", "warps", WARPS, 4),
            *_dtypes(found),
            *_operands(found),
        )
        if knob.variants
    )


class _ScriptParts:
    """The parts of the script that knobs are made of."""

    def __init__(self, tree: ast.Module, spots: Spots) -> None:
        self.tree, self.spots = tree, spots
        self.kernels = {
            node.name: node
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef) and any(_last(_dotted(one)) == "jit" for one in node.decorator_list)
        }
        self.launches = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Subscript)
            and _last(_dotted(node.func.value)) in self.kernels
        ]

    def device_calls(self) -> Iterator[tuple[ast.FunctionDef, ast.Call]]:
        for kernel in self.kernels.values():
            for node in ast.walk(kernel):
                if isinstance(node, ast.Call):
                    yield kernel, node

    def literals(self, kernel: ast.FunctionDef | None, node: ast.AST) -> list[ast.Constant]:
        """The whole number that stands here, or those that a name stands for: a constant of the module, a default, what
        launches pass."""
        if isinstance(node, ast.Constant):
            return [node] if type(node.value) is int else []
        if not isinstance(node, ast.Name):
            return []
        values: list[ast.AST] = []
        if kernel is not None:
            names = [one.arg for one in kernel.args.args]
            for launch in self.launches:
                if isinstance(launch.func, ast.Subscript) and _last(_dotted(launch.func.value)) == kernel.name:
                    values += [word.value for word in launch.keywords if word.arg == node.id]
                    if node.id in names and names.index(node.id) < len(launch.args):
                        values.append(launch.args[names.index(node.id)])
            defaults = dict(zip(reversed(names), reversed(kernel.args.defaults)))
            values += [defaults[node.id]] if node.id in defaults else []
        for statement in ast.walk(self.tree):
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if name == node.id:
                    values.append(value)
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.AST() as value) if name == node.id:
                    values.append(value)
        inner = [value.args[0] if isinstance(value, ast.Call) and value.args else value for value in values]
        return [value for value in inner if isinstance(value, ast.Constant) and type(value.value) is int]


def _knob(
    spots: Spots,
    name: str,
    kind: str,
    current: str,
    choices: Iterable[tuple[str, Sequence[TextEdit]]],
    *,
    innermost: bool = False,
) -> Knob:
    made, values = [], []
    for value, edits in choices:
        values.append(value)
        if value != current:
            made.append(Variant(name, value, tuple(edits), apply_edits(spots.text, edits)))
    at = values.index(current) if current in values else 0
    made.sort(key=lambda one: abs(values.index(one.value) - at))
    return Knob(name, kind, current, tuple(values), tuple(made), innermost)


def _literal_knob(
    found: _ScriptParts,
    name: str,
    kind: str,
    nodes: Sequence[ast.expr],
    current: int,
    values: Sequence[int],
    *,
    innermost: bool = False,
) -> Knob:
    """All of these literals, which are equal, together."""
    choices = [(str(value), [found.spots.over(node, str(value)) for node in nodes]) for value in values]
    return _knob(found.spots, f"{name} ({_lines(nodes)})", kind, str(current), choices, innermost=innermost)


def _stages_of_loops(found: _ScriptParts) -> Iterator[Knob]:
    by_value: dict[int, list[ast.Constant]] = {}
    for _, call in found.device_calls():
        if _last(_dotted(call.func)) == "range":
            for word in call.keywords:
                if word.arg == "num_stages" and isinstance(word.value, ast.Constant) and type(word.value.value) is int:
                    by_value.setdefault(word.value.value, []).append(word.value)
    for value, nodes in by_value.items():
        yield _literal_knob(found, "num_stages of tl.range", "stages", nodes, value, _stages(value))


def _stages(value: int) -> list[int]:
    """The usual numbers of stages, and all those below this one where it is not far off: there is the boundary."""
    return sorted({*STAGES, value, *(range(1, value + 2) if value <= MANY else ())})


def _flags(found: _ScriptParts) -> Iterator[Knob]:
    for _, call in found.device_calls():
        if _last(_dotted(call.func)) != "range":
            continue
        for word in call.keywords:
            if word.arg and isinstance(word.value, ast.Constant) and word.value.value is True:
                choices = [("False", [found.spots.over(word.value, "False")]), ("True", [])]
                yield _knob(found.spots, f"{word.arg} of tl.range ({_lines([call])})", "flag", "True", choices)


def _launch_option(found: _ScriptParts, option: str, kind: str, values: Sequence[int], default: int) -> Iterator[Knob]:
    """Also where launches do not name it: the compiler's default is a value like any other."""
    if not found.launches or (kind == "stages" and not any(_loops(one) for one in found.kernels.values())):
        return
    given = [next((word.value for word in launch.keywords if word.arg == option), None) for launch in found.launches]
    said = [node for node in given if node is not None]
    if any(not isinstance(node, ast.Constant) or type(node.value) is not int for node in said):
        return
    numbers = {node.value for node in said if isinstance(node, ast.Constant)}
    if len(numbers) > 1:
        return
    number = next(iter(numbers), default)
    assert isinstance(number, int)
    current = str(number) if said else f"{number} (default)"
    choices = []
    for value in _stages(number) if kind == "stages" else sorted({*values, number}):
        edits = [
            found.spots.over(node, str(value))
            if node is not None
            else found.spots.one_more(launch, f"{option}={value}")
            for launch, node in zip(found.launches, given)
        ]
        choices.append((current if value == number else str(value), edits))
    yield _knob(found.spots, f"{option} of the launch ({_lines(found.launches)})", kind, current, choices)


def _tiles(found: _ScriptParts) -> Iterator[Knob]:
    by_value: dict[int, dict[tuple[int, int], tuple[ast.Constant, bool]]] = {}
    for kernel, node, innermost in _extents(found):
        for literal in found.literals(kernel, node):
            value = literal.value
            if isinstance(value, int) and value > 0 and value & (value - 1) == 0:
                place = (literal.lineno, literal.col_offset)
                before = by_value.setdefault(value, {}).get(place)
                by_value[value][place] = (literal, innermost or (before is not None and before[1]))
    for value, places in sorted(by_value.items(), key=lambda each: -each[0]):
        nodes = [node for node, _ in places.values()]
        powers = [1 << n for n in range(10) if value // 8 <= 1 << n <= min(WIDEST, value * 16)]
        innermost = any(last for _, last in places.values())
        name = f"tile extent {value}"
        yield _literal_knob(found, name, "tile", nodes, value, sorted({*powers, value}), innermost=innermost)


def _extents(found: _ScriptParts) -> Iterator[tuple[ast.FunctionDef | None, ast.AST, bool]]:
    """Where the language wants the extent of a tile: kernel, the expression there, and whether it is that of a
    block's last dimension."""
    calls: list[tuple[ast.FunctionDef | None, ast.Call]] = [*found.device_calls()]
    inside = {id(call) for _, call in calls}
    calls += [(None, node) for node in ast.walk(found.tree) if isinstance(node, ast.Call) and id(node) not in inside]
    for kernel, call in calls:
        name = _last(_dotted(call.func))
        if name == "arange" and kernel is not None and len(call.args) == 2:
            yield kernel, call.args[1], False
        if name in _LISTED and kernel is not None and len(call.args) > _LISTED[name]:
            for node, _ in _listed(call.args[_LISTED[name]]):
                yield kernel, node, False
        if name in _BLOCKS:
            shapes = [word.value for word in call.keywords if word.arg == "block_shape"]
            shapes += [call.args[_BLOCKS[name]]] if len(call.args) > _BLOCKS[name] else []
            for shape in shapes:
                for node, last in _listed(shape):
                    yield kernel, node, last


def _listed(node: ast.AST) -> list[tuple[ast.AST, bool]]:
    if not isinstance(node, (ast.List, ast.Tuple)):
        return []
    return [(one, index == len(node.elts) - 1) for index, one in enumerate(node.elts)]


def _dtypes(found: _ScriptParts) -> Iterator[Knob]:
    """Of the tensors that the host makes, by the dtype that they have; the default one where none is named."""
    spelt: dict[str, list[ast.expr]] = {}
    unnamed: list[ast.Call] = []
    for call in _host_calls(found):
        if not _dotted(call.func).startswith("torch.") or _last(_dotted(call.func)) not in CREATORS:
            continue
        named = next((word.value for word in call.keywords if word.arg == "dtype"), None)
        if named is None:
            unnamed.append(call)
        elif _dotted(named).startswith("torch."):
            spelt.setdefault(_last(_dotted(named)), []).append(named)
    for dtype, nodes in spelt.items():
        family = next((one for one in (FLOATS, INTEGERS) if dtype in one), ())
        choices = [(one, [found.spots.over(node, f"torch.{one}") for node in nodes]) for one in family]
        if choices:
            yield _knob(found.spots, f"dtype of tensors ({_lines(nodes)})", "dtype", dtype, choices)
    if unnamed:
        current = "float32 (default)"
        choices = [
            (
                current if one == "float32" else one,
                [found.spots.one_more(call, f"dtype=torch.{one}") for call in unnamed],
            )
            for one in FLOATS
        ]
        yield _knob(found.spots, f"dtype of tensors ({_lines(unnamed)})", "dtype", current, choices)


def _operands(found: _ScriptParts) -> Iterator[Knob]:
    """Of a product, both operands by one dtype: where the kernel computed one of them, no tensor of the host has it."""
    for _, call in found.device_calls():
        if _last(_dotted(call.func)) != "dot" or len(call.args) < 2:
            continue
        texts = [ast.get_source_segment(found.spots.text, one) or "" for one in call.args[:2]]
        if any("\n" in text for text in texts):  # too long for a one-line edit
            continue
        first, second = (text if text.isidentifier() else f"({text})" for text in texts)
        choices = [
            ("each its own", []),
            ("the first one's", [found.spots.over(call.args[1], f"{second}.to({first}.dtype)")]),
            ("the second one's", [found.spots.over(call.args[0], f"{first}.to({second}.dtype)")]),
        ]
        name = f"dtype of both operands of tl.dot ({_lines([call])})"
        yield _knob(found.spots, name, "dtype", "each its own", choices)


def _host_calls(found: _ScriptParts) -> Iterator[ast.Call]:
    """Not those of a lambda: an allocator gives bytes, whatever it is asked for."""
    todo: list[ast.AST] = [found.tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Lambda) or node in found.kernels.values():
            continue
        if isinstance(node, ast.Call):
            yield node
        todo.extend(reversed(list(ast.iter_child_nodes(node))))


def _loops(kernel: ast.FunctionDef) -> bool:
    return any(isinstance(node, (ast.For, ast.While)) for node in ast.walk(kernel))


def _lines(nodes: Sequence[ast.expr]) -> str:
    numbers = sorted({node.lineno for node in nodes})
    return f"line{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}"


def _dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Call):
        return _dotted(node.func)
    if isinstance(node, ast.Attribute):
        front = _dotted(node.value)
        return f"{front}.{node.attr}" if front else f".{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _last(name: str) -> str:
    return name.rpartition(".")[2]
