"""Options of a program's own command line become their defaults, where nobody types anything.

The default goes to where it is read, as it is written, so a mistake in it goes along. A test loop over such an option
runs over a list then. What a type makes of a string is the program's doing, so such an option stays.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from shrinkray_gpu.reduction.edit import Change, Edit, Remove, Replace
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.rendering.render import render
from shrinkray_gpu.source.literals import is_literal
from shrinkray_gpu.source.scoping import Binding, bindings, variables_by_place
from shrinkray_gpu.source.tree import every, source, statement, within

_FLAGS = {"store_true": "False", "store_false": "True"}
_MAY_LACK = ("?", "*")
"""What `nargs` says of a positional argument that nobody has to type."""


def with_defaults(program: Program) -> Program:
    """The program with a value for each option, and without its parser where nothing else needs that; the same where it
    has none."""
    changes: list[Change] = []
    for made in every(program, cst.Assign):
        parser = _parser_of(program, made)
        target = made.targets[0].target
        parsed = variables_by_place(program).get(target)
        if parser is not None and parsed is not None and len(parsed.places) == 1:
            changes += _changes(program, made, parsed, parser)
    return render(program, [Edit("options", tuple(changes))]) if changes else program


def _parser_of(program: Program, made: cst.Assign) -> Binding | None:
    """The variable whose `parse_args` this calls."""
    call = made.value
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute) or len(made.targets) != 1:
        return None
    owner = call.func.value if call.func.attr.value == "parse_args" else None
    return next((each for each in bindings(program) if owner in each.reads and len(each.places) == 1), None)


def _changes(program: Program, made: cst.Assign, parsed: Binding, parser: Binding) -> Iterator[Change]:
    added = [each for each in map(lambda read: _added(program, read), parser.reads) if each is not None]
    defaults = {_name(call): _default(program, call) for call in added}
    above = [program.parents[read] for read in parsed.reads]
    texts = [defaults.get(each.attr.value, "") if isinstance(each, cst.Attribute) else "" for each in above]
    yield from (Replace(each, (text,)) for each, text in zip(above, texts) if text)
    if all(texts) and len(added) + 1 == len(parser.reads):
        yield from map(Remove, (made, *(statement(program, node) for node in (parser.places[0], *added))))


def _added(program: Program, read: cst.Name) -> cst.Call | None:
    """`parser.add_argument(...)` around the parser's name, where that is a statement."""
    above = program.parents[read]
    call = program.parents[above]
    if isinstance(above, cst.Attribute) and above.attr.value == "add_argument" and isinstance(call, cst.Call):
        return call if isinstance(program.parents[call], cst.Expr) else None
    return None


def _given(call: cst.Call, name: str) -> cst.BaseExpression | None:
    found = (each.value for each in call.args if each.keyword is not None and each.keyword.value == name)
    return next(found, None)


def _text(node: cst.BaseExpression | None) -> str:
    """What a string says; empty where it is none."""
    return str(node.evaluated_value) if isinstance(node, cst.SimpleString) else ""


def _name(call: cst.Call) -> str:
    """Under which the value is read; empty where nobody knows, or it has to be typed."""
    words = [_text(each.value) for each in call.args if each.keyword is None]
    if not words or not all(words) or not words[0].startswith("-") and _text(_given(call, "nargs")) not in _MAY_LACK:
        return ""
    word = next((each for each in words if each.startswith("--")), words[0])
    return _text(_given(call, "dest")) or word.lstrip("-").replace("-", "_")


def _default(program: Program, call: cst.Call) -> str:
    """Its source text; empty where a type makes something else of it, or it is other where it is read."""
    default, action = _given(call, "default"), _text(_given(call, "action"))
    if default is None:
        return _FLAGS.get(action, "" if action else "None")
    if _text(default) and _given(call, "type") is not None:
        return ""
    known: dict[str, list[Binding]] = {}
    for each in bindings(program):
        known.setdefault(each.name, []).append(each)
    for name in [] if is_literal(default) else within(program, default, cst.Name):
        its = known.get(name.value, [])
        if len(its) > 1 or its and not _is_of_module(program, its[0]):
            return ""
    return source(program, default)


def _is_of_module(program: Program, variable: Binding) -> bool:
    return variable.scope is program.scopes.get(program.module)
