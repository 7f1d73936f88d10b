"""A kernel and all that it needs, from the text of its file alone: a trace has no live values to ask.

So a name stands for what the file binds it to, once, at its top level: an import of a library, a constant, a function.
A name bound several times, or by another module of the user's, is missing; guessing would make another kernel of it.
"""

from __future__ import annotations

import ast
import builtins
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from shrinkray_gpu.lift.emit import LIBRARIES

Definition = dict[str, str]
_Function = (ast.FunctionDef, ast.AsyncFunctionDef)

USUAL = {
    "torch": "import torch",
    "triton": "import triton",
    "tl": "import triton.language as tl",
    "libdevice": "from triton.language.extra import libdevice",
    "gluon": "from triton.experimental import gluon",
    "gl": "from triton.experimental.gluon import language as gl",
    "ttgl": "from triton.experimental.gluon import language as ttgl",
    "math": "import math",
    "tl_math": "from torch._inductor.runtime.triton_helpers import math as tl_math",
    "triton_helpers": "from torch._inductor.runtime import triton_helpers",
}
"""What these names stand for where a trace holds no more than the function that reads them; the last two in what
Inductor generates, whose file is gone with its cache."""
MAKERS = ("jit", "constexpr_function")
"""The decorators that make a kernel; autotuning, heuristics and Inductor's have done their work."""
HOST = ("launch_metadata", "repr")
"""Their options that concern the host only."""


class Missing(Exception):
    """Names that nothing known defines, each with the reason."""


def definitions(
    name: str, source: Mapping[str, object], others: Sequence[Mapping[str, object]], also: Iterable[str] = ()
) -> tuple[str, list[Definition]]:
    """The kernel's name, and definitions (as `kernelsource` makes them) of it, of what it needs, and of `also`."""
    texts = _texts(source, others)
    kernel = _kernel(name, texts[0], source)
    if kernel is None:
        raise Missing(f"a function {name} (its source is there, under another name)")
    needed = _Definitions(texts)
    needed.function(kernel, texts[0])
    for one in also:
        needed.name(one, kernel.name)
    if needed.missing:
        raise Missing(", ".join(f"{one} ({why})" if why else one for one, why in sorted(needed.missing.items())))
    return kernel.name, needed.found


class _Text:
    """A file or a part of one, and what it binds at its top level."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.tree = ast.parse(text)
        self.bound: dict[str, list[ast.stmt]] = {}
        for statement in _statements(self.tree.body):
            for name in _binds(statement):
                self.bound.setdefault(name, []).append(statement)

    def functions(self) -> list[ast.FunctionDef]:
        return [node for node in self.tree.body if isinstance(node, ast.FunctionDef)]

    def of(self, node: ast.stmt) -> str:
        """The lines of a statement, at the margin."""
        lines = self.lines[node.lineno - 1 : node.end_lineno]
        return textwrap.dedent("\n".join(lines)).rstrip() + "\n"


def _texts(source: Mapping[str, object], others: Sequence[Mapping[str, object]]) -> list[_Text]:
    """Where definitions are looked for: the kernel's own text, or the whole file if it is still what it was; then the
    other kernels of that file that the trace tells of."""
    code = textwrap.dedent(str(source["code"]))
    path = str(source.get("file_path", ""))
    found = [*_parsed(_file_with(path, str(source["code"]))), *_parsed(code)]
    near = dict.fromkeys(str(other["code"]) for other in others if other.get("file_path") == path and other.get("code"))
    found += [text for one in near for text in _parsed(textwrap.dedent(one))]
    if not found:
        raise Missing("source that can be parsed")
    return found


def _file_with(path: str, code: str) -> str:
    """The file's text, if it is to be had and the kernel stands in it as it was traced; else nothing."""
    try:
        text = Path(path).read_text(encoding="utf-8") if path.endswith(".py") else ""
    except (OSError, ValueError):
        return ""
    return text if code.strip() in text else ""


def _parsed(text: str) -> list[_Text]:
    try:
        return [_Text(text)] if text.strip() else []
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _kernel(name: str, text: _Text, source: Mapping[str, object]) -> ast.FunctionDef | None:
    """The kernel's definition. Its name may be another than the function's (`triton.jit(repr=...)`): then by its place
    in the file, or because the source is that of one function."""
    start, end = (source.get(key) for key in ("function_start_line", "function_end_line"))
    every = [node for node in ast.walk(text.tree) if isinstance(node, ast.FunctionDef)]
    if isinstance(start, int) and isinstance(end, int):
        there = [node for node in every if start <= node.lineno <= end]
    else:
        alone = [node.name for part in _parsed(textwrap.dedent(str(source["code"]))) for node in part.functions()]
        there = [node for node in every if alone == [node.name]]
    named = [node for node in every if node.name == name]
    both = [node for node in named if node in there]
    return next(iter([*both, *named, *there]), None)


class _Definitions:
    """Collects definitions, each after all that it needs."""

    def __init__(self, texts: Sequence[_Text]) -> None:
        self.texts = texts
        self.found: list[Definition] = []
        self.missing: dict[str, str] = {}
        self._kinds: dict[str, str] = {}

    def function(self, node: ast.FunctionDef | ast.ClassDef, text: _Text) -> None:
        self._kinds[node.name] = "function"
        makers = [made for decorator in node.decorator_list if (made := _maker(decorator))]
        makers = makers or [ast.unparse(decorator) for decorator in node.decorator_list]  # one of the host
        plain = _plain(node)
        own = text.of(node)
        if isinstance(node, ast.FunctionDef):
            own, plain = self._without_odd_annotations(own)
        for read in _reads(plain):
            self.name(read, node.name)
        for maker in makers:
            for read in _reads(ast.parse(maker)):
                self.name(read, node.name)
        head = "".join(f"@{maker}\n" for maker in makers)
        self.found.append({"kind": "function", "name": node.name, "text": head + own})

    def _without_odd_annotations(self, text: str) -> tuple[str, ast.stmt]:
        """A kernel's text without annotations of names that nothing defines: `x: Tensor` says nothing to Triton."""
        node = ast.parse(text).body[0]
        assert isinstance(node, ast.FunctionDef)
        lines = text.split("\n")
        arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        for argument in reversed(arguments):
            annotation = argument.annotation
            if annotation is None or all(self._known(name) for name in _reads(annotation)):
                continue
            if argument.lineno == annotation.end_lineno and annotation.end_col_offset is not None:
                line = lines[argument.lineno - 1].encode()
                begin = argument.col_offset + len(argument.arg.encode())
                lines[argument.lineno - 1] = (line[:begin] + line[annotation.end_col_offset :]).decode()
        text = "\n".join(lines)
        return text, ast.parse(text).body[0]

    def _known(self, name: str) -> bool:
        if name in USUAL or hasattr(builtins, name):
            return True
        statement = next((text.bound[name][0] for text in self.texts if name in text.bound), None)
        return statement is not None and not (isinstance(statement, ast.ImportFrom) and not _import(statement, name))

    def name(self, name: str, reader: str) -> str:
        """See that this name is defined. Returns the kind of its definition."""
        if name in self._kinds:
            return self._kinds[name]
        for text in self.texts:
            if name in text.bound:
                return self._bound(name, text)
        if hasattr(builtins, name):
            return "import"
        if name in USUAL:
            return self._add("import", name, USUAL[name] + "\n")
        self.missing.setdefault(name, f"read by {reader}")
        return "import"

    def _bound(self, name: str, text: _Text) -> str:
        statements = text.bound[name]
        first = statements[0]
        if isinstance(first, (ast.Import, ast.ImportFrom)):
            line = _import(first, name)
            if line:
                return self._add("import", name, line)
            self.missing.setdefault(name, f"from {_origin(first, name)}, a module that is not in the trace")
        elif len(statements) > 1:
            self.missing.setdefault(name, "bound more than once")
        elif isinstance(first, (ast.FunctionDef, ast.ClassDef)):
            self.function(first, text)
            return "function"
        elif isinstance(first, (ast.Assign, ast.AnnAssign)) and _single(first) and first.value is not None:
            return self._constant(name, first, first.value)
        else:
            self.missing.setdefault(name, "bound by more than a plain assignment")
        return "import"

    def _constant(self, name: str, statement: ast.Assign | ast.AnnAssign, value: ast.expr) -> str:
        self._kinds[name] = "constant"
        kinds = {self.name(read, name) for read in _reads(value)}
        text = ast.unparse(value)
        annotated = isinstance(statement, ast.AnnAssign) and "constexpr" in ast.unparse(statement.annotation)
        if annotated and "constexpr" not in text:
            text = f"tl.constexpr({text})"  # the annotation alone is not enough since Triton 3.7
        # What is made with a function must stand after it; constants stand before all functions.
        return self._add("function" if "function" in kinds else "constant", name, f"{name} = {text}\n")

    def _add(self, kind: str, name: str, text: str) -> str:
        self._kinds[name] = kind
        self.found.append({"kind": kind, "name": name, "text": text})
        return kind


# Syntax


def _maker(decorator: ast.expr) -> str:
    """The text of a decorator that makes a kernel, without what concerns the host; empty for others."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    inner = decorator.args[0] if isinstance(decorator, ast.Call) and decorator.args else called
    if not any(ast.unparse(one).rpartition(".")[2] in MAKERS for one in (called, inner)):
        return ""
    if isinstance(decorator, ast.Call):
        kept = [keyword for keyword in decorator.keywords if keyword.arg not in HOST]
        decorator = ast.Call(decorator.func, decorator.args, kept)
        if not kept and called is inner:
            decorator = decorator.func
    return ast.unparse(decorator)


def _plain(node: ast.FunctionDef | ast.ClassDef) -> ast.stmt:
    """Without its decorators."""
    copy = ast.parse(ast.unparse(node)).body[0]
    assert isinstance(copy, (ast.FunctionDef, ast.ClassDef))
    copy.decorator_list = []
    return copy


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of the top level, also in its branches."""
    for statement in body:
        yield statement
        if isinstance(statement, (ast.If, ast.Try, ast.With)):
            for inner in ast.iter_child_nodes(statement):
                if isinstance(inner, ast.stmt):
                    yield from _statements([inner])
                elif isinstance(inner, ast.ExceptHandler):
                    yield from _statements(inner.body)


def _binds(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, (*_Function, ast.ClassDef)):
        yield statement.name
    elif isinstance(statement, (ast.Import, ast.ImportFrom)):
        for alias in statement.names:
            yield alias.asname or alias.name.partition(".")[0]
    elif isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            yield from (node.id for node in ast.walk(target) if isinstance(node, ast.Name))


def _single(statement: ast.Assign | ast.AnnAssign) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return all(isinstance(target, ast.Name) for target in targets)


def _reads(node: ast.AST) -> list[str]:
    """Names that a definition or an expression takes from outside, in the order of reading."""
    bound = {inner.arg for inner in ast.walk(node) if isinstance(inner, ast.arg)}
    bound |= {
        inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and not isinstance(inner.ctx, ast.Load)
    }
    bound |= {inner.name for inner in ast.walk(node) if isinstance(inner, (*_Function, ast.ClassDef))}
    names = (inner for inner in ast.walk(node) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load))
    ordered = sorted(names, key=lambda name: (name.lineno, name.col_offset))
    return list(dict.fromkeys(name.id for name in ordered if name.id not in bound))


def _import(statement: ast.stmt, name: str) -> str:
    """The import of this name alone; empty if a lifted script may not import it."""
    assert isinstance(statement, (ast.Import, ast.ImportFrom))
    alias = next(a for a in statement.names if (a.asname or a.name.partition(".")[0]) == name)
    if _origin(statement, name).partition(".")[0] not in LIBRARIES:
        return ""
    if isinstance(statement, ast.Import):
        return f"{ast.unparse(ast.Import([alias]))}\n"
    return f"{ast.unparse(ast.ImportFrom(statement.module, [alias], 0))}\n"


def _origin(statement: ast.stmt, name: str) -> str:
    if isinstance(statement, ast.ImportFrom):
        return "." * statement.level + (statement.module or "")
    assert isinstance(statement, ast.Import)
    return next(a.name for a in statement.names if (a.asname or a.name.partition(".")[0]) == name)
