"""CUDA: definitions that nothing refers to, all at once; and each include.

Roots are what other text names: the Python script (`functions=[...]`, a kernel's name), another literal, the binding. A
kernel that only a launch in dead host code names goes with that code.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

import libcst as cst

from shrinkray_gpu.reduction.edit import Change, Edit, Remove, Within
from shrinkray_gpu.reduction.native.native_change import Drop
from shrinkray_gpu.reduction.native.native_tree import Node
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.cuda import Source, is_a_file, items_of, outside_words, reached, sources, unwrap_definition
from shrinkray_gpu.source.tree import every

_KERNEL = re.compile(r"\b__global__\b")
_BINDINGS = ("PYBIND11_MODULE", "TORCH_LIBRARY")
_INCLUDED = re.compile(r"#\s*include\s*<([\w./]+)>")
_NAMES_OF = {
    "algorithm": "\\w+_of|clamp|copy\\w*|count\\w*|fill\\w*|find\\w*|m(?:ax|in)\\w*|\\w*sort\\w*|reverse|swap|unique",
    "chrono": "chrono",
    "cmath": "sqrt|abs|fabs|exp|log|pow|sin|cos|floor|ceil|round|fmax|fmin|isnan|isinf",
    "cstdio": "\\w*printf|\\w*puts|putchar|stderr|stdout|FILE|fopen|fflush",
    "cstdint": "u?int(?:8|16|32|64|ptr)_t",
    "cstdlib": "exit|atoi|atof|strto\\w+|malloc|free|calloc|getenv|rand|srand|abort|abs|EXIT_\\w+",
    "cstring": "mem\\w+|str\\w+",
    "cuda_runtime.h": "",
    "functional": "function|bind|hash|less|greater|plus",
    "iomanip": "set\\w+",
    "iostream": "cout|cerr|cin|clog|endl",
    "map": "map|multimap",
    "memory": "\\w*_ptr|make_unique|make_shared",
    "numeric": "iota|accumulate|inner_product|partial_sum|reduce",
    "random": "\\w*random\\w*|mt\\w+|\\w+_distribution",
    "sstream": "\\w*stringstream",
    "stdexcept": "\\w+_error|exception|out_of_range|invalid_argument",
    "string": "string|to_string|stoi|stof|getline",
    "utility": "pair|make_pair|move|swap|forward",
    "vector": "vector",
}
"""What programs say of these headers. nvcc includes `cuda_runtime.h` by itself."""


def find(program: Program) -> Iterator[Edit]:
    everything = sources(program)
    outside = outside_words(program)
    yield from _never_called(program, everything, outside)
    for source in everything:
        named = set(outside).union(*(other.names for other in everything if other is not source))
        items = list(items_of(source.tree.root))
        kernels = (source.declares(item) for item in items if _KERNEL.search(source.of(item)))
        yield from _unreachable(source, items, named)
        yield from _unreachable(source, items, named.union(*kernels))
        for item in items:
            if not source.declares(item) and not (is_a_file(program) and _is_needed(source, item)):
                yield source.drop(f"remove {unwrap_definition(item).kind} at line {source.line(item)}", [item], level=1)


def find_needless(program: Program) -> Iterator[Edit]:
    """The includes of a .cu of which it says no name, at once."""
    for source in sources(program) if is_a_file(program) else ():
        gone = [node for node in source.tree.nodes("preproc_include") if _is_needed(source, node) is False]
        if gone:
            yield source.drop(f"remove {len(gone)} includes that nothing needs", gone)


def _is_needed(source: Source, node: Node) -> bool | None:
    """Whether the source says a name of a header that it includes; None of any other node, and of unknown headers."""
    header = _INCLUDED.match(source.of(node))
    names = _NAMES_OF.get(header[1]) if header else None
    return None if names is None else any(re.fullmatch(names, each) for each in source.names) if names else False


def _never_called(program: Program, everything: list[Source], outside: Counter[str]) -> Iterator[Edit]:
    """What the script binds (`functions=["forward", "shapes"]`) and does not call, declarations included."""
    bound: dict[str, list[cst.Element]] = defaultdict(list)
    for element in every(program, cst.Element):
        if isinstance(element.value, cst.SimpleString):
            bound[str(element.value.evaluated_value)].append(element)
    changes: list[Change] = []
    for name, elements in bound.items():
        items = [
            Within(source.literal, Drop(item))
            for source in everything
            for item in items_of(source.tree.root)
            if name in source.declares(item)
        ]
        if items and outside[name] == len(elements):
            changes += [*items, *map(Remove, elements)]
    if changes:
        yield Edit("remove all that is never called", tuple(changes), weight=3 * len(changes))


def _unreachable(source: Source, items: list[Node], named: set[str]) -> Iterator[Edit]:
    roots = [item for item in items if source.declares(item) & named or source.of(item).startswith(_BINDINGS)]
    live = reached(source, items, roots)
    dead = [item for item in items if source.declares(item) and item not in live]
    if dead:
        yield source.drop(f"remove all {len(dead)} definitions out of reach", dead)
