"""One fault each: where a source could have it, the text with it, and what its inverse is where a repro has it still.

An operator is one line in OPERATORS. `plant` gives what to write in place of a node. `mend` gives, for a node of a
repro that may be what is left of the planted place, the text without the fault. The oracle is a row of
`oracles.ORACLES`; a fault whose oracle this tree does not have yet is not run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from . import compile_time, host, run_time, wrong_values
from .places import Edit, Place, Source


@dataclass(frozen=True)
class Operator:
    name: str
    title: str
    """What a programmer did wrong."""
    oracle: str
    kernel: bool
    """Whether it changes a kernel; else what launches it."""
    plant: Callable[[Place], Iterator[str]]
    mend: Callable[[Place, Edit], Iterator[str]]
    """From a place in the repro, and the edit that planted the fault."""

    def plants(self, source: Source) -> Iterator[Edit]:
        """Every way to plant it in a source."""
        for place in source.places:
            if place.in_kernel == self.kernel:
                yield from (place.edit(new) for new in self.plant(place))

    def mends(self, source: Source, planted: Edit) -> Iterator[Edit]:
        """Every place in a repro that may be what is left of the planted one, with the fix."""
        for place in source.places:
            if place.in_kernel == self.kernel:
                yield from (place.edit(new) for new in self.mend(place, planted))


IN_KERNEL, ON_HOST = True, False

OPERATORS = (
    Operator("extent", "an extent is one too many", "compiler", IN_KERNEL, compile_time.longer, compile_time.shorter),
    Operator("axis", "an index is spread over the other axis", "compiler", IN_KERNEL, *compile_time.AXIS),
    Operator("reduced_axis", "the other axis is reduced", "compiler", IN_KERNEL, *compile_time.REDUCED_AXIS),
    Operator("transpose", "an operand is not transposed", "compiler", IN_KERNEL, *compile_time.TRANSPOSE),
    Operator("dot_dtype", "one operand of a product has another type", "compiler", IN_KERNEL, *compile_time.DOT_DTYPE),
    Operator("index_dtype", "an index is a float", "compiler", IN_KERNEL, *compile_time.INDEX_DTYPE),
    Operator("carried", "a loop begins with a value of another type", "compiler", IN_KERNEL, *compile_time.CARRIED),
    Operator("mask_of_other", "the mask is gone, `other` is not", "compiler", IN_KERNEL, *compile_time.MASK_OF_OTHER),
    Operator("constexpr", "a parameter is no constexpr", "compiler", IN_KERNEL, *compile_time.CONSTEXPR),
    Operator("stages", "too many stages for shared memory", "resources", ON_HOST, *host.STAGES),
    Operator("mask", "an access has no mask", "bounds", IN_KERNEL, *run_time.MASK),
    Operator("bound", "a mask reaches one too far", "bounds", IN_KERNEL, *run_time.BOUND),
    Operator("narrow", "an index is not widened to int64", "bounds", IN_KERNEL, *run_time.NARROW),
    Operator("strides", "two strides are swapped", "bounds", ON_HOST, *host.STRIDES),
    Operator("grid", "the grid is one too large", "bounds", ON_HOST, *host.GRID),
    Operator("atomic", "an update is not atomic", "race", IN_KERNEL, *run_time.ATOMIC),
    Operator("barrier", "a barrier is missing", "race", IN_KERNEL, *run_time.BARRIER),
    Operator("hint", "a claim of divisibility is untrue", "alignment", IN_KERNEL, *run_time.HINT),
    Operator("operands", "the operands of - or / are swapped", "values", IN_KERNEL, *wrong_values.OPERANDS),
    Operator("factors", "the operands of a product are swapped", "values", IN_KERNEL, *wrong_values.FACTORS),
    Operator("accumulator", "a sum is begun anew", "values", IN_KERNEL, *wrong_values.ACCUMULATOR),
    Operator("fill", "what a mask leaves out has another value", "values", IN_KERNEL, *wrong_values.FILL),
    Operator("unscaled", "a factor is missing", "values", IN_KERNEL, *wrong_values.UNSCALED),
    Operator("inverted", "a factor divides, or a divisor multiplies", "values", IN_KERNEL, *wrong_values.INVERTED),
)


def by_name(name: str) -> Operator:
    return next(one for one in OPERATORS if one.name == name)
