"""Makes the asserts in the program's own text hold, whatever they find.

For runs whose values are not real: on the virtual GPU no kernel runs, and a check of its result says nothing. But that
check often is all there is: `assert launch(x) == 3`. So it is computed, and only the answer is ignored. Installed
software keeps its asserts, which guard its own state.
"""

from __future__ import annotations

import ast
import contextlib
import os
import sysconfig
from importlib.machinery import SourceFileLoader
from typing import Any, Iterator

INSTALLED = tuple(
    os.path.join(place, "")
    for place in (sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    if place
)


@contextlib.contextmanager
def ignore_asserts() -> Iterator[None]:
    """In the modules imported in this block no assert fails."""
    loader: Any = SourceFileLoader
    original = loader.get_code

    def get_code(self: Any, name: str) -> Any:
        path = self.get_filename(name)
        if is_installed(path):
            return original(self, name)
        # Not by way of the original: it would take the code that a cache has, asserts and all.
        return compile_without_asserts(self.get_data(path), path)

    loader.get_code = get_code
    try:
        yield
    finally:
        loader.get_code = original


def compile_without_asserts(source: "str | bytes", path: str) -> Any:
    """The code of a script or module in which no assert fails."""
    return compile(_Unasserting().visit(ast.parse(source, path)), path, "exec", dont_inherit=True)


def is_installed(path: str) -> bool:
    """Whether the file belongs to installed software, wherever this interpreter keeps that."""
    return path.startswith(INSTALLED) or "site-packages" in path or "dist-packages" in path


class _Unasserting(ast.NodeTransformer):
    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        return ast.copy_location(ast.Expr(node.test), node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Kernels stay as they are: Triton reads their source, where an assert has a meaning of its own."""
        if any("jit" in ast.unparse(decorator) for decorator in node.decorator_list):
            return node
        self.generic_visit(node)
        return node
