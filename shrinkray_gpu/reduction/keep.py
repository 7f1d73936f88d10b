"""Which edits are allowed: none touches what the user wants kept, or what a dangerous call hangs on.

Kept is a definition named by `--keep`, a statement marked `# shrink: keep`, and the statements between `# shrink:
keep-begin` and `# shrink: keep-end`: they stay as they are, whole, and what they assign is still read somewhere. Of a
statement with `# shrink: keep-head` in its first line the condition stays, or what it loops over; of a function its
decorators, the defaults of its parameters, and those of a kernel that are constants; of an assignment or a `return` the
value. Of one marked `# shrink: keep-parts n // 2 ;; width` these expressions stay.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import libcst as cst

from shrinkray_gpu.reduction.edit import Change, Edit, Insert, Remove, Replace, Template, Unwrap
from shrinkray_gpu.reduction.hazards import Hazard, hazards
from shrinkray_gpu.reduction.program import Program

_TARGETS = (cst.AssignTarget, cst.AugAssign, cst.AnnAssign, cst.Element)
"""What a variable stands in where it is given a value; an element of a list may be read, too."""
_SCOPES = (cst.FunctionDef, cst.ClassDef)
_MARK = re.compile(r"#\s*shrink:\s*keep(?:(-parts) |(-begin|-end|-head)?\s*(?:$|[^-\w]))")
_COMMENT, _WORD = re.compile(r"#.*"), re.compile(r"[\w.]+")
SEPARATOR = " ;; "
"""Between the expressions of a mark."""


def allowed_edits(program: Program, edits: Iterable[Edit], keep: Collection[str] = ()) -> list[Edit]:
    """The edits that leave kept nodes and the arguments of dangerous calls alone."""
    protection = _protection(program, frozenset(keep))
    if protection is None:
        return list(edits)
    return [edit for edit in edits if protection.allows(edit)]


def _protection(program: Program, keep: frozenset[str]) -> _Protection | None:
    """What watches over all edits of this program; None if nothing needs it. Every pass asks for the same one."""
    known: tuple[_Protection | None] | None = program.notes.get((_protection, keep))
    if known is None:
        kept, dangers = kept_nodes(program, keep), hazards(program)
        known = program.notes[_protection, keep] = (_Protection(program, kept, dangers) if kept or dangers else None,)
    return known[0]


def kept_nodes(program: Program, keep: frozenset[str]) -> set[cst.CSTNode]:
    """The statements that stay as they are."""
    layout = program.layout
    statements = layout.nodes(cst.BaseStatement)  # type: ignore[type-abstract]
    kept: set[cst.CSTNode] = {node for node in statements if keep and keep.intersection(_defined(node))}
    begins: list[int] = []
    spans: list[tuple[int, int]] = []
    marks = [(layout.outer[n][0], found, n) for n in layout.nodes(cst.Comment) if (found := _mark(n))]
    for offset, mark, comment in sorted(marks, key=lambda each: each[0]):
        if mark in ("keep", "keep-head", "keep-parts"):
            around = [node for node in statements if layout.outer[node][0] <= offset < layout.outer[node][1]]
            if around:
                inner = min(around, key=lambda node: layout.outer[node][1] - layout.outer[node][0])
                kept.update(_staying(program, inner, mark, comment))
        elif mark == "keep-begin":
            begins.append(offset)
        elif begins:
            spans.append((begins.pop(), offset))
    spans += [(begin, len(program.text)) for begin in begins]  # never closed: to the end
    kept.update(n for n in statements for a, b in spans if a <= layout.inner[n][0] < b)
    return kept


def _mark(comment: cst.Comment) -> str:
    found = _MARK.match(comment.value)
    return "keep" + (found[1] or found[2] or "") if found else ""


def _head(statement: cst.CSTNode) -> tuple[cst.CSTNode, ...]:
    if isinstance(statement, cst.For):
        return statement.target, statement.iter
    if isinstance(statement, cst.SimpleStatementLine):
        values = [each.value for each in statement.body if isinstance(each, cst.Assign | cst.Return)]
        return tuple(value for value in values if value is not None) or (statement,)
    if isinstance(statement, cst.FunctionDef):
        given = statement.params
        every = (*given.posonly_params, *given.params, *given.kwonly_params)
        told = [each for each in every if each.default is not None or _is_constant(each)]
        return (*told, *statement.decorators)
    return (statement.test,) if isinstance(statement, cst.If | cst.While) else (statement,)


def _staying(program: Program, statement: cst.CSTNode, mark: str, comment: cst.Comment) -> Iterable[cst.CSTNode]:
    if mark == "keep-parts":
        return _parts(program, comment, statement)
    return _head(statement) if mark == "keep-head" else (statement,)


def _parts(program: Program, comment: cst.Comment, statement: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The expressions of the statement that the comment holds; the name of a keyword is none."""
    wanted = set(map(_bare, parts_of(comment.value)))
    begin, end = program.layout.outer[statement]
    for node in program.layout.nodes(cst.BaseExpression):  # type: ignore[type-abstract]
        first, last = program.layout.inner[node]
        if begin <= first and last <= end and _bare(program.text[first:last]) in wanted:
            if getattr(program.parents[node], "keyword", None) is not node:
                yield node


def parts_of(line: str) -> list[str]:
    """The expressions that the mark at the end of a line holds."""
    marked = line.rpartition("# shrink: keep-parts ")
    return marked[2].split(SEPARATOR) if marked[1] else []


def _bare(text: str) -> str:
    """An expression's text without blanks, and without what may stand in parentheses around it."""
    return "".join(text.split()).strip("()")


def _is_constant(parameter: cst.Param) -> bool:
    kind = parameter.annotation.annotation if parameter.annotation is not None else None
    return isinstance(kind, cst.Attribute) and kind.attr.value == "constexpr"


def _defined(statement: cst.CSTNode) -> Iterator[str]:
    """Names that a statement defines for `--keep`: of a function, a class, or an assignment."""
    if isinstance(statement, cst.FunctionDef | cst.ClassDef):
        yield statement.name.value
    elif isinstance(statement, cst.SimpleStatementLine):
        for small in statement.body:
            targets: list[cst.BaseExpression] = []
            if isinstance(small, cst.Assign):
                targets = [target.target for target in small.targets]
            elif isinstance(small, cst.AnnAssign):
                targets = [small.target]
            yield from (target.value for target in targets if isinstance(target, cst.Name))


class _Protection:
    def __init__(self, program: Program, kept: Iterable[cst.CSTNode], dangers: Sequence[Hazard]) -> None:
        kept, self._program = set(kept), program
        self._kept = _Zone(kept, program)
        self._texts = {node: program.text[slice(*program.layout.inner[node])] for node in kept}
        self._read = [_Zone([node], program) for node in _readers(program, kept)]
        calls = {call for danger in dangers for call in (danger.call, danger.root or danger.call)}
        zones = {call: _Zone([call], program) for call in calls}
        self._dangers = [
            (_Zone(danger.bound, program), zones[danger.call], zones[danger.root or danger.call], danger.reached)
            for danger in dangers
        ]

    def allows(self, edit: Edit) -> bool:
        moves = self._moves(edit)
        touched = any(self._kept.is_touched_by(change) for change in edit.changes)
        if touched and not (moves or self._drops_copies(edit)):
            return False
        if not moves and any(zone.is_dropped_by(change) for zone in self._read for change in edit.changes):
            return False
        for bound, call, root, reached in self._dangers:
            if any(each.is_dropped_by(change) for each in {call, root} for change in edit.changes):
                continue  # without the call its arguments are anyone's
            if any(bound.is_touched_by(change) or reached and call.is_unreached_by(change) for change in edit.changes):
                return False
        return True

    def _moves(self, edit: Edit) -> bool:
        """Whether all that it takes away of them it writes elsewhere, as a function's body in the place of its call:
        with its marks, and the same but for names and numbers, which may be others there. What a mark quotes stays as
        it is."""
        lost = {node: change for change in edit.changes for node in self._kept.lost_with(change)}
        if not lost or any(isinstance(node, cst.Param | cst.Decorator) for node in lost):
            return False
        if not all(isinstance(change, Remove) and change.node not in lost for change in lost.values()):
            return False
        if any(self._kept.is_inside(change.node) for change in edit.changes if not isinstance(change, Insert)):
            return False
        written = "\n".join(_written(edit))
        lines = "\n".join(map(self._text_of, lost)).splitlines()
        marks = [line for line in self._text_of(*_removed(edit)).splitlines() if _MARK.search(line)]
        quoted = {_bare(part) for line in marks for part in parts_of(line)}
        return (
            len(_MARK.findall(written)) >= len(marks)
            and all(_shape(line) in _shape(written) for line in lines)
            and all(part in _bare(_COMMENT.sub("", written)) for part in quoted)
        )

    def _text_of(self, *nodes: cst.CSTNode) -> str:
        spans = (self._program.layout.outer[node] for node in nodes)
        return "\n".join(self._program.text[begin:end] for begin, end in spans)

    def _drops_copies(self, edit: Edit) -> bool:
        """Whether all that it touches goes as a whole, and stands elsewhere word by word: what was inlined is twice."""
        if not all(isinstance(change, Remove) for change in edit.changes):
            return False
        lost = {node for change in edit.changes for node in self._kept.lost_with(change)}
        left = {text for node, text in self._texts.items() if node not in lost}
        inside = any(self._kept.is_inside(change.node) for change in edit.changes if isinstance(change, Remove))
        return bool(lost) and not inside and all(self._texts[node] in left for node in lost)


def _removed(edit: Edit) -> list[cst.CSTNode]:
    return [change.node for change in edit.changes if isinstance(change, Remove)]


def _written(edit: Edit) -> Iterator[str]:
    """The text that an edit brings along."""
    for change in edit.changes:
        templates: Iterable[Template] = ()
        if isinstance(change, Replace):
            templates = (change.by,)
        elif isinstance(change, Insert):
            templates = change.statements
        yield from (part for template in templates for part in template if isinstance(part, str))


def _shape(text: str) -> str:
    """Code without its comments, blanks, names and numbers."""
    return _WORD.sub("_", "".join(_COMMENT.sub("", text).split()))


def _readers(program: Program, kept: set[cst.CSTNode]) -> Iterator[cst.CSTNode]:
    """Of each variable that a kept statement assigns, and no other kept one reads, one mention elsewhere: a value that
    nobody reads is not kept.

    It is the last among the arguments of a launch, if there is one, else the last of all; the same for all edits, since
    several that each leave another mention are made at once. A function's parameter of that name is another variable.
    """
    scopes: dict[str, set[cst.CSTNode | None]] = {}
    for statement in kept:
        around = next((each for each in program.layout.above(statement) if isinstance(each, _SCOPES)), None)
        if isinstance(statement, cst.SimpleStatementLine) and not isinstance(around, cst.ClassDef):
            for name in _defined(statement):
                scopes.setdefault(name, set()).add(around)
    mentions: dict[tuple[str, cst.CSTNode | None], tuple[bool, cst.CSTNode]] = {}
    read: set[tuple[str, cst.CSTNode | None]] = set()
    for node in program.layout.nodes(cst.Name) if scopes else ():
        above = list(program.layout.above(node)) if node.value in scopes else []
        if not above or any(_has_parameter(each, node.value) for each in above):
            continue
        if getattr(above[0], "keyword", None) is node or getattr(above[0], "attr", None) is node:
            continue  # a parameter's name, or a field's
        its = [(node.value, scope) for scope in scopes[node.value] if scope is None or scope in above]
        if not kept.isdisjoint(above):
            read.update(its if not isinstance(above[0], _TARGETS) else ())
            continue
        passed = any(isinstance(one, cst.Arg) and _is_launch(other) for one, other in zip(above, above[1:]))
        for key in its:
            if passed >= mentions.get(key, (False,))[0]:
                mentions[key] = passed, node
    return (node for key, (passed, node) in mentions.items() if passed or key not in read)


def _is_launch(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Call) and isinstance(node.func, cst.Subscript)


def _has_parameter(node: cst.CSTNode, name: str) -> bool:
    if not isinstance(node, cst.FunctionDef):
        return False
    given = node.params
    return any(each.name.value == name for each in (*given.posonly_params, *given.params, *given.kwonly_params))


class _Zone:
    """Some nodes, with what lies below and above them."""

    def __init__(self, nodes: Iterable[cst.CSTNode], program: Program) -> None:
        self._nodes = set(nodes)
        self._layout, self._parents = program.layout, program.parents
        self._above: dict[cst.CSTNode, set[cst.CSTNode]] = {}  # ancestor -> the nodes below it
        for node in self._nodes:
            for up in program.layout.above(node):
                self._above.setdefault(up, set()).add(node)

    def is_touched_by(self, change: Change) -> bool:
        """Whether the change alters one of the nodes, or takes one away."""
        if isinstance(change, Insert):
            return self._inside(change.before, strictly=True)
        return self._inside(change.node) or self.is_dropped_by(change)

    def is_dropped_by(self, change: Change) -> bool:
        """Whether one of the nodes goes with the node that the change takes away."""
        return bool(self.lost_with(change))

    def lost_with(self, change: Change) -> set[cst.CSTNode]:
        """The nodes that go with the node that the change takes away."""
        if isinstance(change, Insert):
            return set()
        lost = set(self._above.get(change.node, ()))
        if change.node in self._nodes:
            lost.add(change.node)
        if isinstance(change, Remove) and _is_elif(change.node, self._parents) and isinstance(change.node, cst.If):
            lost -= self._below(change.node.orelse)  # the rest of the chain stays
        for kept in _kept_by(change):
            lost -= self._below(kept)
        return lost

    def is_inside(self, node: cst.CSTNode) -> bool:
        """Whether a node lies below one of the nodes."""
        return self._inside(node, strictly=True)

    def is_unreached_by(self, change: Change) -> bool:
        """Whether the change keeps one of the nodes but takes away what decides if it is reached."""
        if isinstance(change, Unwrap | Replace):
            if isinstance(change.node, cst.If) and _always(change.node.test) and change.node.body in _kept_by(change):
                return False
            return any(self._below(kept) for kept in _kept_by(change))
        if isinstance(change, Remove) and isinstance(change.node, cst.BaseSuite):
            arm = self._parents[change.node]
            return isinstance(arm, cst.If) and bool(self._below(arm.orelse))
        if isinstance(change, Remove) and isinstance(change.node, cst.If) and _is_elif(change.node, self._parents):
            return bool(self._below(change.node.orelse))
        return False

    def _below(self, node: cst.CSTNode | None) -> set[cst.CSTNode]:
        if node is None:
            return set()
        return self._above.get(node, set()) | ({node} & self._nodes)

    def _inside(self, node: cst.CSTNode, *, strictly: bool = False) -> bool:
        return (not strictly and node in self._nodes) or any(up in self._nodes for up in self._layout.above(node))


def _kept_by(change: Change) -> Iterator[cst.CSTNode]:
    """The nodes that a change puts in the place of what it takes away."""
    if isinstance(change, Replace):
        yield from (part for part in change.by if not isinstance(part, str))
    elif isinstance(change, Unwrap):
        yield from change.keep
        yield from (part for template in change.before for part in template if not isinstance(part, str))


def _always(test: cst.BaseExpression) -> bool:
    """Whether a test is decided where it is written, and holds: what it leads to is reached without it as well."""
    return isinstance(test, cst.Name) and test.value == "True"


def _is_elif(node: cst.CSTNode, parents: Mapping[cst.CSTNode, cst.CSTNode]) -> bool:
    return isinstance(node, cst.If) and isinstance(parents.get(node), cst.If)
