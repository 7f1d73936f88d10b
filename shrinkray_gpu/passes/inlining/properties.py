"""A property becomes the expression that it returns, wherever it is read: `config.group` of a class that is only there
to compute it from its fields."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from shrinkray_gpu.passes.inlining.call_arguments import Bound
from shrinkray_gpu.passes.inlining.call_bodies import inline_expression, means_the_same_there
from shrinkray_gpu.passes.inlining.callee import callee_of, class_of, subclasses
from shrinkray_gpu.passes.inlining.moved import Rewrite
from shrinkray_gpu.source.calls import decorator_name
from shrinkray_gpu.source.names_read import Names, is_target


def property_reads(names: Names) -> Iterable[Rewrite]:
    for made in names.classes:
        for method in made.body.body if not subclasses(made, names) else ():
            if isinstance(method, cst.FunctionDef) and [*map(decorator_name, method.decorators)] == ["property"]:
                rewrite = Rewrite(names, what=f"write out {made.name.value}.{method.name.value}")
                if write_out(rewrite, made, method):
                    yield rewrite


def write_out(rewrite: Rewrite, made: cst.ClassDef, method: cst.FunctionDef) -> bool:
    names, params = rewrite.names, method.params.params
    callee = callee_of(method, names, decorated=frozenset({"property"}))
    reads = names.attributes[method.name.value]
    if callee is None or len(params) != 1 or not reads:
        return False
    for read in reads:
        if class_of(read.value, names) is not made or is_target(read, names.parents):
            return False
        if not means_the_same_there(callee, names.scope(read), names):
            return False
        if not inline_expression(rewrite, read, callee, [Bound(params[0], read.value)]):
            return False
    rewrite.dropped.append(method)
    return True
