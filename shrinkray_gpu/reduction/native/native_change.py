"""What may be done to the nodes of a CUDA C++ tree: taken away, or something else put in their place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from shrinkray_gpu.reduction.native.native_tree import Node

Part: TypeAlias = "str | Node | tuple[Node, ...]"
"""Text; a kept node; or a run of neighbours, kept with what stands between them. All with the changes inside them."""


@dataclass(frozen=True, eq=False)
class Drop:
    """Take away a statement, a definition, a directive, a member of a list (argument, parameter, declarator) or a part
    that its place can do without. An emptied `template <>` goes with its brackets, an emptied declaration whole."""

    node: Node


@dataclass(frozen=True, eq=False)
class Put:
    """Put `by` in the place of an expression, a type or a statement; an expression gets parentheses where it needs
    them."""

    node: Node
    by: tuple[Part, ...]


NativeChange: TypeAlias = Drop | Put
