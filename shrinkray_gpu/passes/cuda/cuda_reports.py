"""CUDA: the way from an error of the driver to the program's end, in one step: helper, macro, `throw` and `try`.

Each call that such a helper looks at becomes that call alone. One of them stays a report: where it fails the program
says what it would have said in the end, and leaves. So it ends well with the fix. What stood behind it goes. An edit
for each call that may be the one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.native.native_change import Drop, NativeChange, Put
from shrinkray_gpu.reduction.native.native_tree import Node, Tree, parse
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.cuda import (
    Source,
    declarator_name,
    depth,
    enclosing,
    function_of,
    is_inside,
    sources,
    statement_of,
    statements,
    words,
)

_TELLS = re.compile(r"\bcuda(?:GetErrorString|GetErrorName|Success|Error_t)\b")
_ENDS = re.compile(r"\b(?:throw|exit|_Exit|abort|return)\b")
_EXIT = re.compile(r"\b(?:exit|_Exit|return)\b[ (]*(\w+)")
_WAITS = re.compile(r"cuda\w*(?:Synchronize|Memcpy)")
_WAITED = re.compile(r"\(\s*cudaError_t \w+ = cuda\w*(?:Synchronize|Memcpy)")
_ASKS = re.compile(r"cuda(?:Get|Peek)")
"""These wait for no kernel, and know of its fault by chance: first come those that wait, if nothing is behind them."""
_PRINTS = re.compile(r"(?:std::)?f?printf\Z")
_FIELD = re.compile(r"%[-+ #0]*[\d.]*(?:hh|h|ll|l|z)?[diuxXcsfgep]")
_MOST = 16
"""Edits: a try each, where none holds."""
_ERROR = "\0"
"""Where the driver's words stand in a message."""


@dataclass(frozen=True, eq=False)
class _CheckedCall:
    """A statement that is one call of a helper."""

    statement: Node
    status: Node
    """What the helper looks at."""
    given: dict[str, Node]
    """The arguments by the helper's names for them."""


@dataclass(frozen=True, eq=False)
class _StatusHelper:
    definitions: tuple[Node, ...]
    """The function; the macro; a macro and the function that it hands the status to."""
    status: str
    """The parameter that it looks at."""
    body: Node
    tree: Tree
    """That `body` is in: a macro's is read by itself."""
    checks: tuple[_CheckedCall, ...]
    alone: bool
    """Whether nothing else names it."""


def find(program: Program) -> Iterator[Edit]:
    for source in sources(program):
        tries = source.tree.nodes("try_statement")
        for node in tries:
            if (body := node.child("body")) is not None:
                yield source.put(f"open try at line {source.line(node)}", node, body, level=1 + depth(node))
        for call in source.tree.nodes("call_expression"):
            if (edit := _returned(source, call)) is not None:
                yield edit
        helpers = _helpers(source)
        yield from _edits(source, helpers, tries)


def find_behind(program: Program) -> Iterator[Edit]:
    """What stands in `main` behind a report that leaves: the run that faults never comes there."""
    for source in sources(program):
        for node in source.tree.nodes("if_statement"):
            function, inner = enclosing(node, "function_definition"), node.child("consequence")
            condition = node.child("condition")
            if function is None or inner is None or condition is None or not _is_main(source, function):
                continue
            if not _WAITED.match(source.of(condition)) or not inner.members or not _ENDS.search(source.of(inner)):
                continue
            around = [node, *(up for up in node.above() if is_inside(up, function))]
            if behind := [each for up in around for each in _behind(up)]:
                yield source.drop(f"remove what is behind the report at line {source.line(node)}", behind)


def _returned(source: Source, call: Node) -> Edit | None:
    """`exit(n);` in `main` is a return."""
    function, given, statement = call.child("function"), call.child("arguments"), statement_of(call)
    around = enclosing(call, "function_definition")
    if function is None or given is None or statement is None or around is None or not _is_main(source, around):
        return None
    if source.of(function) not in ("exit", "std::exit") or statement.members != [call] or len(given.members) != 1:
        return None
    return source.put(f"return for exit at line {source.line(call)}", statement, "return ", given.members[0], ";")


def _is_main(source: Source, function: Node) -> bool:
    return source.of(declarator_name(function_of(function)) or function) == "main"


def _edits(source: Source, helpers: Sequence[_StatusHelper], tries: Sequence[Node]) -> Iterator[Edit]:
    every = [(helper, check) for helper in helpers for check in helper.checks]
    if not every:
        return
    opened: list[NativeChange] = [Put(node, (body,)) for node in tries if (body := node.child("body")) is not None]
    dropped = [each for helper in helpers if helper.alone for each in helper.definitions]
    gone: list[NativeChange] = [*map(Drop, dropped), *_header(source, dropped)]
    bare = {check: _bare(source, check) for _, check in every}
    weight = source.weight([*tries, *dropped])
    found: list[Edit] = []
    for helper, kept in reversed(every):
        others = [change for check, change in bare.items() if check is not kept]
        told, last = _report(source, helper, kept, tries)
        what = f"report at line {source.line(kept.statement)} alone"
        behind = _needless_behind(source, kept.statement)
        where = Put(kept.statement, ("if (cudaError_t error = ", kept.status, f") {{\n{told}error));\n{last}\n}}"))
        status = source.of(kept.status)
        waits, asks = _WAITS.match(status), _ASKS.match(status)
        offers: list[tuple[list[NativeChange], int]] = [([where], 3 if asks else 2 if waits else 1)]
        if waits or asks:
            offers.append(([where, *map(Drop, behind)], weight + source.weight(behind) if waits else 4))
        for changes, heavy in offers:
            edit = source.edit(what, *opened, *gone, *others, *changes, weight=heavy)
            found.append(replace(edit, rivals=(source.literal, "report")))
    yield from sorted(found, key=lambda edit: -edit.weight)[:_MOST]
    yield source.edit("remove all reports", *opened, *gone, *bare.values(), weight=weight)


def _header(source: Source, dropped: Sequence[Node]) -> list[NativeChange]:
    """That of the report's print, where it is not there."""
    if re.search(r"#\s*include\s*<(?:cstdio|stdio\.h)>", source.text):
        return []
    first = next((each for each in source.tree.root.members if each not in dropped), None)
    return [] if first is None else [Put(first, ("#include <cstdio>\n", first))]


def _helpers(source: Source) -> list[_StatusHelper]:
    found = [helper for node in source.tree.root.walk() if (helper := _helper(source, node)) is not None]
    macros = source.tree.nodes("preproc_function_def")
    handing = [handed for node in macros for helper in found if (handed := _handing(source, node, helper)) is not None]
    return [*found, *handing]


def _handing(source: Source, macro: Node, helper: _StatusHelper) -> _StatusHelper | None:
    """A macro that hands its first argument to a helper, with the place of the call behind it."""
    name, value, listed = macro.child("name"), macro.child("value"), macro.child("parameters")
    function = helper.definitions[0]
    called = declarator_name(function_of(function)) if function.kind == "function_definition" else None
    if name is None or value is None or listed is None or called is None:
        return None
    own = source.of(called)
    if not re.search(rf"\b{own}\s*\(\s*\(?{source.of(listed.members[0])}\b", source.of(value)):
        return None
    checks = [_check(source, use, [None], 0) for use in source.uses(name) if not is_inside(use, macro)]
    outside = [use for use in source.uses(called) if not is_inside(use, macro) and not is_inside(use, function)]
    known = tuple(check for check in checks if check is not None)
    gone = (macro,) if outside else (macro, function)
    return _StatusHelper(gone, helper.status, helper.body, helper.tree, known, len(known) == len(checks))


def _helper(source: Source, node: Node) -> _StatusHelper | None:
    """A function without a result, or a macro with parameters, that tells of a status and may end the program."""
    if node.kind == "function_definition":
        declarator, body, tree = function_of(node), node.child("body"), source.tree
        name = declarator_name(declarator)
        listed = declarator.child("parameters") if declarator is not None else None
        members = listed.members if listed is not None else []
        names = [declarator_name(each.child("declarator")) for each in members]
        at = next((number for number, each in enumerate(members) if "cudaError_t" in source.of(each)), -1)
    elif node.kind == "preproc_function_def":
        name, value, listed = node.child("name"), node.child("value"), node.child("parameters")
        if value is None or listed is None:
            return None
        tree = parse("void f() {" + source.of(value).replace("\\\n", "  ") + "}")
        body, names, at = tree.root, [*listed.members], 0
    else:
        return None
    if name is None or body is None or not 0 <= at < len(names):
        return None
    text = tree.text_of(body)
    if not (_TELLS.search(text) and _ENDS.search(text)) or _writes_result(source, node, body):
        return None
    checks, alone = [], True
    for use in source.uses(name):
        check = None if is_inside(use, node) else _check(source, use, names, at)
        if check is not None:
            checks.append(check)
        else:
            alone = False
    status = names[at]
    return _StatusHelper((node,), source.of(status) if status else "", body, tree, tuple(checks), alone)


def _writes_result(source: Source, node: Node, body: Node) -> bool:
    if node.kind == "preproc_function_def":
        return False
    return not re.search(r"\bvoid\b", source.text[node.first : body.first].partition("(")[0])


def _check(source: Source, use: Node, names: Sequence[Node | None], at: int) -> _CheckedCall | None:
    call, statement = use.parent, statement_of(use)
    if call is None or call.kind != "call_expression" or statement is None or statement.members != [call]:
        return None
    given = call.child("arguments")
    if statement.kind != "expression_statement" or given is None or len(given.members) <= at:
        return None
    pairs = zip(names, given.members)  # noqa: B905 (the rest has defaults)
    return _CheckedCall(statement, given.members[at], {source.of(own): each for own, each in pairs if own is not None})


def _bare(source: Source, check: _CheckedCall) -> NativeChange:
    """The call alone; nothing where it only asks for the last error."""
    if check.status.kind != "call_expression" or _ASKS.match(source.of(check.status)):
        return Drop(check.statement)
    return Put(check.statement, (check.status, ";"))


def _behind(statement: Node) -> list[Node]:
    parent = statement.parent
    inside = statements(parent) if parent is not None else []
    return inside[inside.index(statement) + 1 :] if statement in inside else []


def _needless_behind(source: Source, statement: Node) -> list[Node]:
    """What may go behind a report that leaves: not what a function returns to its caller, and the variable for it."""
    function, behind = enclosing(statement, "function_definition"), _behind(statement)
    if function is None or _is_main(source, function):
        return behind
    returns = [each for each in behind if each.kind == "return_statement" and each.members]
    names = {word for each in returns for word in words(source.of(each))}
    return [each for each in behind if each not in returns and not names & source.declares(each)]


def _report(source: Source, helper: _StatusHelper, check: _CheckedCall, tries: Sequence[Node]) -> tuple[str, str]:
    """The print up to the error, and how the program ends then."""
    message, code = _message(source, helper, check), _EXIT.search(helper.tree.text_of(helper.body))
    thrown = any(each.kind == "throw_statement" for each in helper.body.walk())
    catch = next((each for node in tries for each in node.members if each.kind == "catch_clause"), None)
    if thrown and catch is not None:
        message = _printed(source.tree, catch, {}, message) or message
        code = _EXIT.search(source.of(catch))
    ended = "error" if code and code[1] == helper.status else code[1] if code else "1"
    function = enclosing(check.statement, "function_definition")
    in_main = function is not None and _is_main(source, function)
    head, *tail = message.replace("\n", "\\n").split(_ERROR)
    head += " " * head[-1:].isalnum()  # the driver's words are read as such then
    said = head.replace("%", "%%") + ("%s" + "".join(tail).replace("%", "%%") if tail else "")
    said = said if said.endswith("\\n") else said + "\\n"
    last = f"return {ended};" if in_main else f"exit({ended});"
    return f'fprintf(stderr, "{said}", cudaGetErrorString(', last


def _message(source: Source, helper: _StatusHelper, check: _CheckedCall) -> str:
    """What the helper says or throws, with a mark where the driver's words stand."""
    given = {name: source.of(each) for name, each in check.given.items() if each.kind == "string_literal"}
    thrown = next((each for each in helper.body.walk() if each.kind == "throw_statement"), None)
    if thrown is not None:
        call = next((each for each in thrown.walk() if each.kind == "call_expression"), None)
        listed = call.child("arguments") if call is not None else None
        said = "".join(_words(helper.tree, each, given, "") for each in listed.members) if listed is not None else ""
    else:
        said = _printed(helper.tree, helper.body, given, "")
    return said if _ERROR in said else f"{said}{_ERROR}"


def _printed(tree: Tree, node: Node, given: dict[str, str], caught: str) -> str:
    """What the first print in there says. `caught`: what `.what()` is."""
    for each in node.walk():
        function, listed = each.child("function"), each.child("arguments")
        if each.kind == "call_expression" and function is not None and listed is not None:
            if not _PRINTS.match(tree.text_of(function)):
                continue
            members = [part for part in listed.members if tree.text_of(part) not in ("stderr", "stdout")]
            form, *values = [_words(tree, part, given, caught) for part in members] or [""]
            texts = _FIELD.split(form)
            return "".join(text + value for text, value in zip_longest(texts, values[: len(texts) - 1], fillvalue=""))
        if each.kind == "binary_expression" and re.match(r"(?:std::)?c(?:err|out)\b", tree.text_of(each)):
            return _words(tree, each, given, caught)
    return ""


def _words(tree: Tree, node: Node, given: dict[str, str], caught: str) -> str:
    """What an expression says: strings, parameters that were given strings, the error, and what is caught."""
    text = tree.text_of(node)
    if node.kind in ("string_literal", "concatenated_string"):
        return "".join(re.findall(r'"((?:\\.|[^"\\])*)"', text))
    if node.kind == "identifier":
        return "0" if text == "__LINE__" else given.get(text, '""').strip('"')
    if node.kind == "binary_expression":
        parts = (node.child("left"), node.child("right"))
        return "".join(_words(tree, part, given, caught) for part in parts if part is not None)
    if node.kind == "call_expression":
        function, listed = node.child("function"), node.child("arguments")
        called = tree.text_of(function) if function is not None else ""
        if called.endswith(".what"):
            return caught
        if called.startswith("cudaGetError"):
            return _ERROR
        return "".join(_words(tree, part, given, caught) for part in listed.members) if listed is not None else ""
    return ""
