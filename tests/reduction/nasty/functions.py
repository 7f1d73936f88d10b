#!/usr/bin/env python
# -*- coding: utf-8 -*-
"""Module docstring."""
from __future__ import annotations

import os, sys as system  # two at once
import collections.abc as abc, functools
from os.path import (
    join,  # about join
    exists as there,
    # about nothing
)
from math import *


@functools.lru_cache(maxsize=None)  # cached
# a comment between decorators
@functools.wraps(join)

def decorated(a, /, b: int = 1, *args: tuple, key: "str" = 'k', other, **kwargs: dict) -> None:
    """Docstring
    over lines."""
    # leading comment

    global counter, total
    counter = total = 0
    def inner(x=(yield_ := 3), *, y=lambda: 0):
        nonlocal_ = a
        def innermost():
            nonlocal nonlocal_, x
            nonlocal_ = x; x = 1; return nonlocal_
        return innermost() if x else None
        # trailing comment in block
    # comment at lower level
    return inner(*args, *a, key, other=other, **kwargs, **{"a": 1})


async def main(*, a, b=2):
    async with open("x") as f, f.lock, g() as (p, q):
        async for x, *y in aiter(f):
            await x.close()
        else:
            return await f.x(), -await g() if 0 else await h
    with (open("a") as a, open("b")):
        pass
    with (a, b): pass
    with (a): b; c
    return [x async for x in a if await x async for y in x if y if not z]


def gen(n):
    x = yield
    y = yield n, *x
    z: int = yield from (i for i in range(n))
    a = b = c = yield (yield 1)
    yield
    print((yield), [(yield)])
    return
def kwonly(*, a): return a
def star(*args, a=1): return lambda *a, b=1, **k: (a, b, k)
def posonly(a, b=2, /): return lambda a, /, b, *, c: a
def one(a,): return(a)
def long(
    a,  # about a
    b=[
        1,
        2,
    ],  # about b
    *,
    c,  # about c
):
    if a:return(b)
    elif(c):return[a]
    else:return{b}
lambda: (yield)
lambda*a,**k:(a,k)
lambda a=1, *, b=lambda x: x: a if b else lambda: c
class A: pass
class B(A, metaclass=type): x = 1; y: int; z: int = 2
class C(
    A,  # base
    B,
):
    """Doc."""
    a: "int"
    b: int = 3

    @property
    def x(self) -> int: return self._x

    @x.setter
    def x(self, value): self._x = value; del self.a, self.b

    @staticmethod
    async def y(): ...
class D(*bases, **keywords):

    def __init__(self):
        super().__init__()
    # end

# end of file
