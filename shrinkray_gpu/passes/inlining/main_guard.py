"""`if __name__ == "__main__":` -> what it guards, since the script is what is run.

What stands under the guard may then be inlined with everything else at the top level.
"""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from shrinkray_gpu.reduction.edit import Edit, Unwrap
from shrinkray_gpu.source.names_read import Names

MAIN = ('"__main__"', "'__main__'")


def main_guards(names: Names) -> Iterable[Edit]:
    for statement in names.module.body:
        if isinstance(statement, cst.If) and _asks_for_main(statement.test):
            yield Edit("the main guard", (Unwrap(statement, (statement.body,)),), weight=8)


def _asks_for_main(test: cst.BaseExpression) -> bool:
    """By hand: `libcst.matchers` takes longer to import than libcst itself, and each start of the tool would wait."""
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return False
    right = test.comparisons[0]
    sides = (test.left, right.comparator)
    return isinstance(right.operator, cst.Equal) and any(
        isinstance(name, cst.Name)
        and name.value == "__name__"
        and isinstance(text, cst.SimpleString)
        and text.value in MAIN
        for name, text in (sides, sides[::-1])
    )
