"""Scopes and contexts without libcst's own walks: the same as it would have found."""

from __future__ import annotations

import inspect
from typing import Any

import libcst as cst
import pytest
from libcst.metadata import ExpressionContextProvider, MetadataWrapper, ScopeProvider
from libcst.metadata import scope_provider as provider_itself

from shrinkray_gpu.judging import tiered_test
from shrinkray_gpu.reduction import engine
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.scopes import context_of

EVERYTHING = '''
from __future__ import annotations
import a.b, c as d
from typing import cast, NewType
from .e import (f as g, h)

T = NewType("T", "Later")
(i, [j, *k]), l.m, n[o] = p, q = r
s: "Sometime" = cast("Other", t)
u += v
del w, x.y, (z, aa[bb])
for cc, (dd, ee) in [ff(x=gg) for hh, ii in jj if (kk := hh) for x in ii]:
    with open(ll) as mm, nn() as (oo, pp), qq() as rr.ss:
        global tt
        tt = {**uu, vv: ww}
else:
    lambda xx, *yy, zz=i, **ab: (xx, yy, zz, ab, cc)

@deco(i)
class C(Base, metaclass=Meta):
    """C."""
    field: int = i
    def method(self, x: Base = field, *args: int, **kwargs) -> "C":
        nonlocal_ = {x for x in args}
        def inner():
            nonlocal nonlocal_
            nonlocal_ = f"{x!r:>{kwargs['width']}} {self.method}"
        try:
            yield from inner()
        except (ValueError, a.b.Error) as error:
            raise error from None
        return [n async for n in nonlocal_]

def function(pos, /, both, *, only: List["C"] = None) -> C:
    match pos:
        case {"k": both, **rest} if rest: pass
        case [first, *others] | C(field=first, method=others): pass
        case _ as whole: print(whole, first, others)
    return Dict["str", Literal["x"]]
'''

SCOPED = (cst.SimpleStatementLine, cst.FunctionDef, cst.ClassDef, cst.Lambda, cst.CompFor)


@pytest.mark.parametrize("text", [EVERYTHING, *map(inspect.getsource, (engine, tiered_test, provider_itself))])
def test_as_libcst_finds_them(text: str) -> None:
    program = Program.from_text(text)
    wrapper = MetadataWrapper(program.module, unsafe_skip_copy=True)
    expected = wrapper.resolve(ScopeProvider)
    contexts = wrapper.resolve(ExpressionContextProvider)
    names = [node for node in program.parents if isinstance(node, cst.Name)]
    assert [context_of(program.layout, name) for name in names] == [contexts.get(name) for name in names]
    ours = {node: scope for node, scope in program.scopes.items() if node in program.parents}  # not those of strings
    assert all(_told(expected[node]) == _told(scope) for node, scope in ours.items())
    left_out = {type(node).__name__ for node in program.parents if node in expected and node not in ours}
    assert not left_out.intersection(("Name", "Param", "FunctionDef", "ImportAlias", "Lambda", "IndentedBlock"))
    assert all(_bound(expected[node]) == _bound(scope) for node, scope in ours.items() if type(node) in SCOPED)


def _told(scope: Any) -> tuple[object, ...]:
    """A scope by its kind and the node it is of."""
    return type(scope), getattr(scope, "node", None)


def _bound(scope: Any) -> list[tuple[str, object, frozenset[Any]]]:
    """What is assigned in a scope, with the nodes that read it."""
    return sorted(
        ((each.name, id(getattr(each, "node", None)), frozenset(id(access.node) for access in each.references))
         for each in scope.assignments), key=repr)  # fmt: skip
