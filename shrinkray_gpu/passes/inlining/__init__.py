"""Layers melt into straight-line code: main, wrappers, modules, autograd functions, configuration objects.

call_bodies  a call -> the body of the function, method or kernel helper
objects      an object whose methods are gone -> plain variables; configuration objects -> their values
closures     functools.partial -> the call; a lambda -> where it is used
gradients    F.apply(x) -> F.forward(x), with a call of F.backward where the program goes backward
modules      a linear layer that holds another one's weights -> a function of these
displays     `[40, 72][0]` -> 40; a variable for each element of a tuple
properties   `config.group` -> what it returns
main_guard   `if __name__ == "__main__":` -> what it guards
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from shrinkray_gpu.passes.inlining import (
    call_bodies,
    closures,
    displays,
    gradients,
    main_guard,
    modules,
    objects,
    properties,
)
from shrinkray_gpu.passes.inlining.apart import apart
from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.names_read import Names


def find(program: Program) -> Iterable[Edit]:
    """All of these, such that any subset keeps the meaning of the program."""
    names = Names(program)
    rewrites = chain(
        call_bodies.inlinings(names),
        objects.object_rewrites(names),
        objects.constants(names),
        objects.kept_values(names),
        closures.closure_moves(names),
        displays.display_reads(names),
        gradients.gradients(names),
        modules.buffers(names),
        modules.layers_as_functions(names),
        properties.property_reads(names),
    )
    return [*main_guard.main_guards(names), *apart(rewrites, names)]
