"""What is given and multiplies an index of an access: a stride of its tensor, or of none."""

from __future__ import annotations

from collections import Counter
from typing import Dict, Iterator, List, Optional, Set, Tuple

from ..static import cause as kinds
from .counterfactual import Counterfactual
from .memory import Buffer
from .module import MAKES_BLOCK
from .numbers import Unfollowed, ends, wrapped
from .trace import FACTOR, TERM, Step, Trace, unique
from .types import extents, signature


class Factors:
    """Those of an access that is outside."""

    def __init__(self, what_if: Counterfactual, trace: Trace) -> None:
        self.what_if, self.trace = what_if, trace

    @property
    def buffer(self) -> Buffer:
        assert self.what_if.found.buffer is not None
        return self.what_if.found.buffer

    def factors(self) -> List[Tuple[Step, int]]:
        """What is given and multiplies an index of the access, with its value."""
        steps = [step for step in unique(self.trace.leaves()) if step.role == FACTOR]
        values = [(step, step.scalar) for step in steps if step.kind in (kinds.ARGUMENT, kinds.CONSTANT)]
        return [(step, value) for step, value in values if value is not None]

    def others(self) -> List[Tuple[Step, int]]:
        """The factors that are no stride of a tensor which has several, nor an extent of a tile."""
        own, tiles = own_strides(self.buffer), self._tiles() | {-1, 0, 1}
        others = [(step, value) for step, value in self.factors() if len(own) > 1 and value not in own]
        return [(step, value) for step, value in others if step.kind == kinds.ARGUMENT or value not in tiles]

    def repeated(self) -> List[Tuple[Step, int]]:
        """The factors that are one stride of the tensor, several times. The extent of a row is as long as its stride,
        and multiplies no index."""
        factors = [(step, value) for step, value in self.factors() if self._takes_index(step)]
        counted = Counter(value for _, value in factors)
        own = own_strides(self.buffer)
        return [(step, value) for step, value in factors if counted[value] > 1 and value in own]

    def contradicting(self) -> List[Tuple[Step, int, int]]:
        """Those that are no stride of the tensor, or else one of it several times, though with another of its strides,
        which comes last, the access stays inside."""
        for factors in (self.others(), self.repeated()):
            cures = [(step, value, self._cure(step, value)) for step, value in factors if self._takes_index(step)]
            if explained := [(step, value, stride) for step, value, stride in cures if stride is not None]:
                return explained
        return []

    def explain(self, strides: Dict[Step, int]) -> bool:
        """Whether these strides of the tensor, in place of what is given, explain the access."""
        leaves = unique(step for step in self.trace.leaves() if step.role in (TERM, FACTOR))
        return self.what_if.strides(strides, [step for step in leaves if step.kind in (*kinds.INDICES, kinds.LOADED)])

    def _takes_index(self, step: Step) -> bool:
        """Whether it multiplies what varies, and no stride of the tensor: what does that is itself an index."""
        if any(leaf.name == step.name and leaf.frame is step.frame for leaf in self._declared()):
            return True
        own = {stride for stride in own_strides(self.buffer) if stride != 1}
        beside = [leaf for leaves in self.trace.beside(step, "arith.muli") for leaf in leaves]
        strides = any(leaf.kind in (kinds.ARGUMENT, kinds.CONSTANT) and leaf.scalar in own for leaf in beside)
        return not strides and any(leaf.kind in (*kinds.INDICES, kinds.LOADED) for leaf in beside)

    def _declared(self) -> Iterator[Step]:
        """What the strides of a block pointer are made of: each multiplies the index of its dimension."""
        for pointer in self.trace.steps:
            if pointer.op is not None and pointer.op.name == MAKES_BLOCK:
                for side in self.trace.inputs(pointer):
                    yield from self.trace.below(side) if side.role == FACTOR else ()

    def _cure(self, step: Step, value: int) -> Optional[int]:
        """The stride of the tensor that explains the access in place of this factor."""
        own = reversed(own_strides(self.buffer))
        return next((other for other in own if other != value and self.explain({step: other})), None)

    def _tiles(self) -> Set[int]:
        """Extents of the ranges behind the address, and of the block that is accessed, which a pointer to one has
        without a range: a program's number is multiplied by one of them."""
        out = set(extents(signature(self.what_if.found.note.op.body)))
        for step in self.trace.steps:
            if step.kind == kinds.RANGE and step.op is not None:
                value = step.env.get(step.name)
                if value is not None and not isinstance(value, Unfollowed):
                    low, high = ends(wrapped(value))
                    out.add(high - low + 1)
        return out


def own_strides(buffer: Buffer) -> List[int]:
    return sorted({stride for extent, stride in zip(buffer.shape, buffer.strides) if extent > 1})
