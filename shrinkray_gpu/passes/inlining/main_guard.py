"""`if __name__ == "__main__":` -> what it guards, since the script is what is run.

What stands under the guard may then be inlined with everything else at the top level.
"""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst
import libcst.matchers as m

from shrinkray_gpu.reduction.edit import Edit, Unwrap
from shrinkray_gpu.source.names_read import Names

NAME = m.Name("__name__")
MAIN = m.SimpleString('"__main__"') | m.SimpleString("'__main__'")
MAIN_TEST = m.Comparison(NAME, [m.ComparisonTarget(m.Equal(), MAIN)]) | m.Comparison(
    MAIN, [m.ComparisonTarget(m.Equal(), NAME)]
)


def main_guards(names: Names) -> Iterable[Edit]:
    for statement in names.module.body:
        if isinstance(statement, cst.If) and m.matches(statement.test, MAIN_TEST):
            yield Edit("the main guard", (Unwrap(statement, (statement.body,)),), weight=8)
