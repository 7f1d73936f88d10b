"""The factories of torch: which of them make a tensor, and which leave in it what the memory held before.

A kernel gets its inputs from these. A repro whose input is uninitialised may be undefined all by itself.
"""

from __future__ import annotations

UNINITIALISED = frozenset({"empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided"})
SIZE_FIRST = frozenset({"full", "empty_strided"})
"""Whose first argument alone is the size."""
FACTORIES = UNINITIALISED | SIZE_FIRST | {"arange", "ones", "rand", "randint", "randn", "tensor", "zeros"}
