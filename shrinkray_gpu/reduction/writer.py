"""Writes the text of a Program with some changes made: one recursion over the nodes that hold a change.

A node without changes inside is a slice of the original text, so comments and layout survive and cost nothing. What
depends on the other changes of the subset is decided here and only here: `pass`, commas, parentheses, `elif` or `if`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeAlias, cast

import libcst as cst

from shrinkray_gpu.reduction.edit import Change, Insert, Remove, Replace, Template, Unwrap
from shrinkray_gpu.reduction.layout import Layout
from shrinkray_gpu.reduction.slots import (
    ALWAYS,
    ATOM,
    PRIMARY,
    TEST,
    YIELD,
    Kind,
    Member,
    Slot,
    in_target,
    is_dotted,
    is_name,
    is_single_target,
    is_target,
    level,
    slot,
)
from shrinkray_gpu.reduction.template import Hole, Margin, expression_shape, skeleton, statement_shape

Node: TypeAlias = cst.CSTNode
Cut: TypeAlias = tuple[int, int, str]
"""A stretch of the original text and what stands there instead."""
Chunk: TypeAlias = tuple[bool, str]
"""Rendered statement: whether it is whole lines (or fits beside others on a line), and the text."""

_CLAUSES = (cst.Else, cst.Finally, cst.ExceptHandler, cst.ExceptStarHandler, cst.MatchCase, cst.Decorator)
_VANISHING = (*_CLAUSES, cst.AsName, cst.Annotation, cst.CompIf, cst.From)
_MEMBERS = {cst.StarredElement: Member.ELEMENT, cst.Arg: Member.ARGUMENT}
_LINES = (*_CLAUSES, cst.Module, cst.BaseStatement, cst.BaseSuite, cst.EmptyLine)
"""Nodes whose text begins where a line begins."""


@dataclass(frozen=True)
class _Sort:
    """What the type of a node says of it. Asked for each node, and isinstance is slow on libcst's abstract classes."""

    line: bool
    vanishes: bool
    statement: bool
    suite: bool
    expression: bool


@cache
def _sort_of(of: type[Node]) -> _Sort:
    return _Sort(
        line=issubclass(of, _LINES),
        vanishes=issubclass(of, _VANISHING),
        statement=issubclass(of, cst.BaseStatement),
        suite=issubclass(of, cst.BaseSuite),
        expression=issubclass(of, cst.BaseExpression) and of is not cst.StarredElement,
    )


def _sort(node: Node) -> _Sort:
    return _sort_of(type(node))


@dataclass(frozen=True)
class Rendered:
    """The text of an expression and what a place needs to know of it. `fresh`: not what stood there before."""

    text: str
    level: int
    fresh: bool = False
    name: bool = False
    dotted: bool = False
    single: bool = False
    target: bool = False
    member: Member = Member.NONE

    def fits(self, where: Slot) -> bool:
        """Whether it may stand there, if need be with parentheses."""
        if self.member is not Member.NONE and breaks_line(self.text):
            return False
        match where.kind:
            case Kind.VALUE:
                wide = (Member.NONE, where.member, Member.ELEMENT if where.member is Member.ARGUMENT else Member.NONE)
                return self.member in wide
            case Kind.TARGET:
                return self.target
            case Kind.SINGLE:
                return self.single
            case Kind.NAME:
                return self.name
            case Kind.DOTTED:
                return self.dotted
        return False

    def at(self, where: Slot) -> str:
        """The text as it stands there."""
        if where.kind in (Kind.NAME, Kind.DOTTED):
            return self.text
        return f"({self.text})" if self.level < where.level or breaks_line(self.text) else self.text


class Writer:
    """One rendering. `misfits` tells afterwards which owners' changes cannot stand beside the others."""

    def __init__(self, layout: Layout, changes: Iterable[tuple[int, Change]]) -> None:
        self.layout = layout
        self.misfits: set[int] = set()
        self._marked = "shrink: keep-" in layout.text
        self._removed: dict[Node, int] = {}
        self._replaced: dict[Node, tuple[int, Template]] = {}
        self._unwrapped: dict[Node, tuple[int, Unwrap]] = {}
        self._inserted: dict[Node, list[tuple[int, Insert]]] = {}
        self._dirty: set[Node] = set()  # nodes with a change in them
        self._changed_in: dict[Node, list[Node]] = {}  # their dirty children
        self._trace: list[int] = []  # the owners of the changes applied so far
        self._active: set[object] = set()  # what a template is being written for
        self._old = self._new = ""  # the indentation to be rewritten, and as what
        self._templates = 0
        self._budget = 200
        for owner, change in changes:
            self._note(owner, change)
            self._budget += 4

    def _note(self, owner: int, change: Change) -> None:
        match change:
            case Remove(node):
                self._removed.setdefault(node, owner)
            case Replace(node, by):
                self._replaced.setdefault(node, (owner, by))
            case Unwrap(node):
                self._unwrapped.setdefault(node, (owner, change))
            case Insert(node):
                self._inserted.setdefault(node, []).append((owner, change))
        up, parents = node, self.layout.parents
        while up not in self._dirty:
            self._dirty.add(up)
            above = parents.get(up)
            if above is None:
                return
            self._changed_in.setdefault(above, []).append(up)
            up = above

    def write(self, module: cst.Module) -> str:
        """The whole text."""
        return self._splice(module)

    # -- verbatim text ---------------------------------------------------------------------------------------------

    def _slice(self, first: int, last: int, *, midline: bool = False) -> str:
        if self._old == self._new:
            return self.layout.text[first:last]
        return self.layout.reindented(first, last, self._old, self._new, midline=midline)

    def _verbatim(self, node: Node) -> str:
        return self._slice(*self.layout.outer[node], midline=not _sort(node).line)

    @contextmanager
    def _shifted(self, old: str, new: str) -> Iterator[None]:
        before = self._old, self._new
        self._old, self._new = old, new
        yield
        self._old, self._new = before

    def _indent(self, node: Node) -> str:
        """The indentation that the line of this statement gets."""
        indent = self.layout.indent_of[node]
        if self._old != self._new and indent.startswith(self._old):
            return self._new + indent[len(self._old) :]
        return indent

    def _splice(self, node: Node, *, end: int | None = None, cuts: Sequence[Cut] = ()) -> str:
        """The text of a node with its changed children (and the cuts) put in."""
        at, last = self.layout.outer[node]
        last = last if end is None else end
        outer = self.layout.outer
        work: list[tuple[int, int, int, str | Node]] = [(a, 0, b, text) for a, b, text in cuts]
        for child in self._changed_in.get(node, ()):
            first, stop = outer[child]
            if first < last:
                work.append((first, 1, stop, child))
        if len(work) > 1:
            work.sort(key=lambda item: item[:2])
        out = ""
        midline = not _sort(node).line
        for first, _, stop, what in work:
            if first < at:
                continue  # within a cut
            out = join(out, self._slice(at, first, midline=midline))
            out = join(out, what if isinstance(what, str) else self._emit(what))
            at = stop
        return join(out, self._slice(at, last, midline=midline))

    # -- any node in its own place ---------------------------------------------------------------------------------

    def _emit(self, node: Node) -> str:
        if node not in self._dirty:
            return self._verbatim(node)
        sort = _sort(node)
        if sort.vanishes and self._gone(node):
            return ""
        if sort.statement:
            return self._statement(cast("cst.BaseStatement", node))
        if sort.suite:
            return self._suite(cast("cst.BaseSuite", node))
        if sort.expression:
            return self._place(cast("cst.BaseExpression", node))
        self._unsupported(node)
        if isinstance(node, cst.Parameters):
            return self._parameters(node)
        if isinstance(node, cst.FormattedStringExpression):
            return self._field(node)
        return self._splice(node, cuts=self._cuts(node))

    def _unsupported(self, node: Node) -> None:
        """Nothing here can remove or replace this node: the edit that asks for it is dropped."""
        if node in self._removed:
            self.misfits.add(self._removed[node])
        if node in self._replaced:
            self.misfits.add(self._replaced[node][0])
        if node in self._unwrapped:
            self.misfits.add(self._unwrapped[node][0])
        self.misfits.update(owner for owner, _ in self._inserted.get(node, ()))

    def _blame(self, mark: int) -> None:
        """What was put in since the mark does not fit: the latest of the edits behind it goes."""
        if len(self._trace) > mark:
            self.misfits.add(max(self._trace[mark:]))

    @contextmanager
    def _applying(self, owner: int, change: object) -> Iterator[bool]:
        """Whether a change with a template can be written here: not within itself, and not without end. Templates that
        keep nodes from elsewhere can contain each other, or double with each level."""
        self._trace.append(owner)
        self._templates += 1
        if change in self._active or self._templates > self._budget:
            self.misfits.add(owner)
            yield False
            return
        self._active.add(change)
        yield True
        self._active.discard(change)

    def _gone(self, node: Node | None) -> bool:
        if node is None or node not in self._removed:
            return False
        self._trace.append(self._removed[node])
        return True

    # -- expressions -----------------------------------------------------------------------------------------------

    def _place(self, node: cst.BaseExpression) -> str:
        """An expression in its own place."""
        if node in self._removed:
            self.misfits.add(self._removed[node])  # a place that cannot be empty
        mark = len(self._trace)
        rendered = self._expression(node)
        if not rendered.fresh:
            return rendered.text
        where = slot(node, self.layout.parents)
        if not rendered.fits(where):
            self._blame(mark)
            return self._verbatim(node)
        text = rendered.at(where)
        if text.startswith("{") and isinstance(self.layout.parents[node], cst.FormattedStringExpression):
            return f" {text}"  # `{{` is a brace, not a field
        return text

    def _expression(self, node: cst.BaseExpression, *, itself: bool = False) -> Rendered:
        if node in self._replaced and not itself:
            return self._template(node)
        if node not in self._dirty:
            return Rendered(self._verbatim(node), level(node))
        own = Rendered("", level(node))
        if isinstance(node, cst.Tuple | cst.Set) and all(e in self._removed for e in node.elements) and node.elements:
            for element in node.elements:
                self._gone(element)
            if isinstance(node, cst.Tuple):
                return Rendered("()", ATOM, fresh=True, target=True)
            return Rendered("set()", PRIMARY, fresh=True)
        if isinstance(node, cst.GeneratorExp | cst.ListComp | cst.SetComp | cst.DictComp):
            return self._comprehension(node)
        if isinstance(node, cst.Lambda):
            return replace(own, text=self._lambda(node))
        return replace(own, text=self._splice(node, cuts=self._cuts(node)))

    def _kept(self, node: Node, replaced: Node) -> Rendered:
        """A node that a template keeps, with what its new place asks about it."""
        if isinstance(node, cst.Expr | cst.Element | cst.Index) or (
            isinstance(node, cst.Arg) and not node.star and node.keyword is None
        ):
            node = node.value
        if not isinstance(node, cst.BaseExpression) or isinstance(node, cst.StarredElement):
            member = _MEMBERS.get(type(node), Member.OTHER)
            return Rendered(self._core(node, itself=True), ATOM, fresh=True, member=member)
        rendered = self._expression(node, itself=node is replaced)
        if rendered.fresh:
            return rendered
        clean = node not in self._dirty
        return replace(
            rendered,
            fresh=True,
            name=is_name(node),
            dotted=clean and is_dotted(node),
            single=is_single_target(node),
            target=is_target(node) if clean else is_single_target(node) or in_target(node, self.layout.parents),
        )

    def _template(self, node: Node) -> Rendered:
        """What replaces an expression or a member of a list."""
        owner, by = self._replaced[node]
        with self._applying(owner, node) as possible:
            if not possible:
                return Rendered(self._verbatim(node), ATOM, fresh=True)
            return replace(self._filled(by, node, owner), fresh=True)

    def _filled(self, by: Template, node: Node, owner: int) -> Rendered:
        shape = expression_shape(skeleton(by))
        kept = iter([part for part in by if not isinstance(part, str)])
        if shape.one_hole:
            return self._kept(next(kept), node)
        out = ""
        for part in shape.parts:
            if isinstance(part, Hole):
                inner = self._kept(next(kept), node)
                if not inner.fits(part.slot):
                    self.misfits.add(owner)
                out = join(out, inner.at(part.slot))
            else:
                out = join(out, str(part))
        return Rendered(
            out, shape.level, name=shape.name, dotted=shape.dotted, single=shape.single, target=shape.target
        )

    def _field(self, node: cst.FormattedStringExpression) -> str:
        """A changed field of an f-string must do without the string's own quote, backslashes and line ends (PEP 701
        lifts that from Python 3.12 on; candidates run on 3.10 too)."""
        mark = len(self._trace)
        text = self._splice(node)
        string = self.layout.parents[node]
        while not isinstance(string, cst.FormattedString):
            if string not in self.layout.parents or isinstance(string, cst.BaseStatement):
                return text
            string = self.layout.parents[string]
        if any(bad in text for bad in (string.quote[0], "\\", "\n", "#")) and text != self._verbatim(node):
            self._blame(mark)
        return text

    def _lambda(self, node: cst.Lambda) -> str:
        cuts: list[Cut] = []
        if node.params in self._dirty:
            params = self._emit(node.params)
            first, last = self.layout.outer[node.params]
            if not params:
                first = self.layout.inner[node][0] + len("lambda")
            cuts.append((first, last, params))
        return self._splice(node, cuts=cuts)

    def _comprehension(self, node: cst.GeneratorExp | cst.ListComp | cst.SetComp | cst.DictComp) -> Rendered:
        own = Rendered("", level(node))
        clauses: list[cst.CompFor] = []
        clause: cst.CompFor | None = node.for_in
        while clause is not None:
            clauses.append(clause)
            clause = clause.inner_for_in
        if not any(c in self._removed for c in clauses):
            return replace(own, text=self._splice(node))
        first, last = self.layout.outer[node.for_in]
        left = [c for c in clauses if not self._gone(c)]
        if not left and isinstance(node, cst.GeneratorExp):
            return Rendered(f"({self._emit(node.elt)},)", ATOM, fresh=True)
        text = ""
        for clause in left:
            inner = clause.inner_for_in
            text += self._splice(clause, end=None if inner is None else self.layout.outer[inner][0])
        return replace(own, text=self._splice(node, cuts=[(first, last, text)]))

    # -- lists -----------------------------------------------------------------------------------------------------

    def _cuts(self, node: Node) -> list[Cut]:
        """The stretches of a node that are written as a whole: its lists, and optional parts that go."""
        match node:
            case cst.Call():
                return self._list_cut(node.args)
            case cst.ClassDef():
                return self._list_cut([*node.bases, *node.keywords])
            case cst.Tuple():
                bare_del = not node.lpar and isinstance(self.layout.parents[node], cst.Del)
                return self._list_cut(node.elements, bracketed=bool(node.lpar), lone_comma=not bare_del)
            case cst.List() | cst.Set() | cst.Dict():
                return self._list_cut(node.elements)
            case cst.Subscript():
                return self._list_cut(node.slice, empty="()")
            case cst.TypeParameters():
                return self._list_cut(node.params)
            case cst.With():
                return self._list_cut(node.items, bracketed=isinstance(node.lpar, cst.LeftParen))
        return self._optional_cuts(node)

    def _optional_cuts(self, node: Node) -> list[Cut]:
        """A removed part that its statement or expression can do without, with the word before it."""
        outer, start = self.layout.outer, self.layout.inner[node][0]
        match node:
            case cst.Return() if node.value is not None and self._gone(node.value):
                return [(start + len("return"), outer[node.value][1], "")]
            case cst.Yield() if isinstance(node.value, cst.BaseExpression) and self._gone(node.value):
                return [(start + len("yield"), outer[node.value][1], "")]
            case cst.Raise() if node.exc is not None and self._gone(node.exc):
                return [(start + len("raise"), outer[node.cause or node.exc][1], "")]
            case cst.Assert() if node.msg is not None and self._gone(node.msg):
                return [(outer[node.test][1], outer[node.msg][1], "")]
            case cst.MatchCase() if node.guard is not None and self._gone(node.guard):
                return [(outer[node.pattern][1], outer[node.guard][1], "")]
            case cst.AnnAssign() if node.value is not None and self._gone(node.value):
                return [(outer[node.annotation][1], outer[node.value][1], "")]
            case cst.Slice():
                return [(*outer[part], "") for part in (node.lower, node.upper, node.step) if part and self._gone(part)]
        return []

    def _list_cut(
        self, items: Sequence[Node], *, bracketed: bool = True, lone_comma: bool = False, empty: str = ""
    ) -> list[Cut]:
        if not any(item in self._dirty for item in items):
            return []
        left = [item for item in items if not self._gone(item)]
        first, last = self.layout.outer[items[0]][0], self.layout.outer[items[-1]][1]
        return [(first, last, self._members(items, left, bracketed=bracketed, lone_comma=lone_comma) if left else empty)]

    def _members(
        self,
        items: Sequence[Node],
        left: Sequence[Node],
        *,
        bracketed: bool = True,
        lone_comma: bool = False,
        instead: dict[Node, str] | None = None,
    ) -> str:
        """What is left of a list. Each keeps the comma and the comment that follow it; the last one gets what followed
        the last one before, so that closing brackets stay where they were."""
        out = ""
        for item in left:
            core = (instead or {}).get(item)
            out += self._core(item) if core is None else core
            tail = self._tail(item)
            if item is not left[-1]:
                out += tail if "," in tail.split("#")[0] else ", " + tail.lstrip()
            elif item is items[-1]:
                out += tail
            elif bracketed and "#" in tail:
                out += tail
            else:
                out += re.sub(r"#[^\n]*", "", self._tail(items[-1]))
        if lone_comma and len(left) == 1 and "," not in self._tail(items[-1]) and len(items) > 1:
            core_only = out[: len(out) - len(re.sub(r"#[^\n]*", "", self._tail(items[-1])))]
            out = core_only + "," if "#" not in self._tail(left[0]) else out
        return out

    def _tail(self, item: Node) -> str:
        """The comma and the whitespace after a member."""
        return self._slice(self.layout.core_end(item), self.layout.outer[item][1])

    def _core(self, node: Node, *, itself: bool = False) -> str:
        """A member of a list without its comma."""
        if node in self._replaced and not itself:
            rendered = self._template(node)
            _, by = self._replaced[node]
            lone = expression_shape(skeleton(by)).one_hole
            needs = rendered.level < TEST if lone else rendered.level in (ALWAYS, YIELD)
            needs = needs or (rendered.level < ATOM and breaks_line(rendered.text))
            if isinstance(node, cst.Element | cst.StarredElement):
                self._check_element(node, rendered)
            return f"({rendered.text})" if needs else rendered.text
        if node in self._inserted or node in self._unwrapped:
            self._unsupported(node)
        end = self.layout.core_end(node)
        if node not in self._dirty:
            return self._slice(self.layout.outer[node][0], end, midline=True)
        if isinstance(node, cst.Param):
            return self._splice(node, end=end)
        return self._splice(node, end=end, cuts=self._optional_cuts(node))

    def _check_element(self, node: Node, rendered: Rendered) -> None:
        """An element that is assigned to gives way only to something that can be."""
        value = node.value if isinstance(node, cst.Element | cst.StarredElement) else node
        if slot(value, self.layout.parents).kind is Kind.TARGET and not rendered.target:
            self.misfits.add(self._replaced[node][0])

    def _parameters(self, node: cst.Parameters) -> str:
        """Parameters, with `/` and `*` where something still needs them, and no default before a parameter without."""
        star = node.star_arg if isinstance(node.star_arg, cst.Param | cst.ParamStar) else None
        slash = node.posonly_ind if isinstance(node.posonly_ind, cst.ParamSlash) else None
        ordered = [
            *node.posonly_params,
            slash,
            *node.params,
            star,
            *node.kwonly_params,
            node.star_kwarg,
        ]
        items: list[Node] = [item for item in ordered if item is not None]
        if not items:
            return self._splice(node)
        gone = {item for item in items if self._gone(item)}
        if slash is not None and all(p in gone for p in node.posonly_params):
            gone.add(slash)
        instead: dict[Node, str] = {}
        keyword_only = any(p not in gone for p in node.kwonly_params)
        if star is not None and keyword_only and star in gone:
            gone.discard(star)  # the parameters after it stay keyword-only
            instead[star] = "*"
        elif star is not None and not keyword_only and isinstance(star, cst.ParamStar):
            gone.add(star)
        defaults = False
        for param in (*node.posonly_params, *node.params):
            defaults = self._default(param, instead, must_stay=defaults) or defaults if param not in gone else defaults
        for param in (*node.kwonly_params, node.star_kwarg):
            if param is not None and param not in gone:
                self._default(param, instead, must_stay=False)
        left = [item for item in items if item not in gone]
        return self._members(items, left, instead=instead) if left else ""

    def _default(self, param: cst.Param, instead: dict[Node, str], *, must_stay: bool) -> bool:
        """Take the default of a parameter away if asked to; returns whether it still has one."""
        if param.default is None or param not in self._dirty or param in self._replaced:
            return param.default is not None
        if param.default not in self._removed:
            return True
        if must_stay:
            instead[param] = self._without_removal(param, param.default)
            return True
        self._gone(param.default)
        equal = param.equal
        assert isinstance(equal, cst.AssignEqual)
        first, last = self.layout.outer[equal][0], self.layout.outer[param.default][1]
        instead[param] = self._splice(param, end=self.layout.core_end(param), cuts=[(first, last, "")])
        return False

    def _without_removal(self, param: cst.Param, default: cst.BaseExpression) -> str:
        owner = self._removed.pop(default)
        text = self._splice(param, end=self.layout.core_end(param))
        self._removed[default] = owner
        return text

    # -- statements ------------------------------------------------------------------------------------------------

    def _statement(self, node: cst.BaseStatement, *, itself: bool = False) -> str:
        """A statement as whole lines, or nothing."""
        if node not in self._dirty:
            return self._verbatim(node)
        if itself:
            return self._written(node)
        return self._inserts(node, self._indent(node)) + (self._changed(node) or self._marks(node))

    def _inserts(self, node: Node, indent: str) -> str:
        out = ""
        for owner, insert in self._inserted.get(node, ()):
            with self._applying(owner, insert) as possible:
                if possible:
                    out += "".join(self._lines(by, node, owner, indent) for by in insert.statements)
        return out

    def _changed(self, node: cst.BaseStatement) -> str:
        if self._gone(node):
            return ""
        if node in self._unwrapped:
            body = self._unwrap(node, self._indent(node))
            return self._leading(node) + body if body else ""
        if node in self._replaced:
            owner, by = self._replaced[node]
            with self._applying(owner, node) as possible:
                whole, text = self._statement_template(by, node, owner, self._indent(node)) if possible else (True, "")
            if not whole and text:
                trailing = self._trailing(node) if isinstance(node, cst.SimpleStatementLine) else "\n"
                text = self._indent(node) + text + trailing
            return self._leading(node) + text if text else ""
        return self._written(node)

    def _written(self, node: cst.BaseStatement) -> str:
        """A statement that stays, with the changes inside it."""
        match node:
            case cst.SimpleStatementLine():
                return self._line(node)
            case cst.If():
                return self._chain(node)
            case cst.Try() | cst.TryStar():
                return self._try(node)
            case cst.With() if all(item in self._removed for item in node.items):
                for item in node.items:
                    self._gone(item)
                body = self._suite_lines(node.body, self._indent(node))
                return self._leading(node) + body if body else ""
            case cst.Match() if all(case in self._removed for case in node.cases):
                for case in node.cases:
                    self._gone(case)
                return ""
        return self._splice(node, cuts=self._cuts(node))

    def _leading(self, node: Node) -> str:
        """The comments and blank lines above a statement."""
        above: Sequence[Node] = getattr(node, "leading_lines", ())
        return self._slice(self.layout.outer[above[0]][0], self.layout.outer[above[-1]][1]) if above else ""

    def _marks(self, node: Node) -> str:
        """`# shrink: keep-end` above a statement that goes belongs to those before it, and stays."""
        above = self._leading(node) if self._marked else ""
        return "".join(f"{line}\n" for line in above.splitlines() if _MARK.match(line))

    def _trailing(self, node: cst.SimpleStatementLine | cst.SimpleStatementSuite) -> str:
        return self._verbatim(node.trailing_whitespace)

    def _unwrap(self, node: Node, indent: str) -> str:
        owner, change = self._unwrapped[node]
        with self._applying(owner, change) as possible:
            if not possible:
                return ""
            before = "".join(self._lines(by, node, owner, indent) for by in change.before)
            return before + "".join(self._suite_lines(kept, indent) for kept in change.keep)

    def _chain(self, head: cst.If) -> str:
        """`if`, `elif`, `else`: the first arm that is left is the `if`; an `else` alone is no question any more."""
        arms: list[cst.If] = []
        rest: cst.If | cst.Else | None = head
        while isinstance(rest, cst.If):
            arms.append(rest)
            rest = rest.orelse
        last: Node | None = None if self._gone(rest) else rest
        left: list[cst.If] = []
        for arm in arms:
            if arm is not head and (arm in self._replaced or arm in self._inserted):
                self._elif_only(arm)
            if (arm is not head and self._gone(arm)) or self._gone(arm.body):
                continue
            if arm is not head and arm in self._unwrapped:
                last = arm
                break
            left.append(arm)
        lead = "" if left and left[0] is head else self._leading(head)
        indent = self._indent(head)
        if not left:
            body = "" if last is None else self._arm_body(last, indent)
            return lead + body if body else ""
        out = lead
        for number, arm in enumerate(left):
            word = self.layout.inner[arm][0]
            first = word - len(self.layout.indent_of[arm])
            old = "elif" if isinstance(self.layout.parents[arm], cst.If) else "if"
            cut = (first, word + len(old), indent + ("elif" if number else "if"))
            out += self._splice(arm, end=self.layout.outer[arm.body][1], cuts=[cut])
        if isinstance(last, cst.If):
            body = self._arm_body(last, indent + self._step(last))
            out += f"{indent}else:\n{body}" if body else ""
        elif last is not None:
            out += self._emit(last)
        return out

    def _elif_only(self, arm: cst.If) -> None:
        if arm in self._replaced:
            self.misfits.add(self._replaced[arm][0])
        self.misfits.update(owner for owner, _ in self._inserted.get(arm, ()))

    def _arm_body(self, arm: Node, indent: str) -> str:
        if isinstance(arm, cst.Else):
            return self._suite_lines(arm.body, indent)
        return self._unwrap(arm, indent)

    def _step(self, node: cst.BaseCompoundStatement) -> str:
        """The columns by which the body of a compound statement is indented."""
        if isinstance(node.body, cst.IndentedBlock):
            return self.layout.indent_of[node.body.body[0]][len(self.layout.indent_of[node]) :]
        return "    "

    def _try(self, node: cst.Try | cst.TryStar) -> str:
        """Without handlers a `try` has only `finally` to stay for, and an `else` no longer."""
        orelse, final = node.orelse, node.finalbody
        if any(handler not in self._removed for handler in node.handlers):
            return self._splice(node)
        for handler in node.handlers:
            self._gone(handler)
        orelse = None if self._gone(orelse) else orelse
        final = None if self._gone(final) else final
        indent = self._indent(node)
        if final is None:
            body = self._suite_lines(node.body, indent)
            body += "" if orelse is None else self._suite_lines(orelse.body, indent)
            return self._leading(node) + body if body else ""
        if orelse is None:
            return self._splice(node)
        deep = indent + self._step(node)
        body = self._suite_lines(node.body, deep) + self._suite_lines(orelse.body, deep) or f"{deep}pass\n"
        return f"{self._leading(node)}{indent}try:\n{body}{self._emit(final)}"

    # -- blocks and lines ------------------------------------------------------------------------------------------

    def _suite(self, node: cst.BaseSuite) -> str:
        """A block in its own place; an emptied one gets `pass`."""
        if isinstance(node, cst.SimpleStatementSuite):
            return self._one_line_suite(node)
        assert isinstance(node, cst.IndentedBlock)
        first, last = self.layout.outer[node]
        body = "" if self._gone(node) else "".join(self._statement(s) for s in node.body)
        header = self._slice(first, self.layout.outer[node.body[0]][0])
        footer = self._slice(self.layout.outer[node.body[-1]][1], last)
        if not body or (self._marked and all(_MARK.match(line) for line in body.splitlines())):
            body += f"{self._indent(node.body[0])}pass\n"
        return header + body + footer

    def _one_line_suite(self, node: cst.SimpleStatementSuite) -> str:
        owner = self.layout.parents[node]
        indent = self._indent(owner if owner in self.layout.indent_of else self.layout.parents[owner])
        chunks = [] if self._gone(node) else self._chunks(node, indent + "    ")
        if any(whole for whole, _ in chunks):
            return "\n" + self._stack(chunks, indent + "    ", self._trailing(node))
        text = "; ".join(text for _, text in chunks) or "pass"
        return self._verbatim(node.leading_whitespace) + text + self._trailing(node)

    def _suite_lines(self, node: cst.BaseSuite, indent: str) -> str:
        """The statements of a block as lines at this indentation."""
        if self._gone(node):
            return ""
        if isinstance(node, cst.SimpleStatementSuite):
            chunks = self._chunks(node, indent)
            return self._stack(chunks, indent, self._trailing(node)) if chunks else ""
        assert isinstance(node, cst.IndentedBlock)
        with self._shifted(self.layout.indent_of[node.body[0]], indent):
            body = "".join(self._statement(s) for s in node.body)
            footer = self._slice(self.layout.outer[node.body[-1]][1], self.layout.outer[node][1])
        return body + footer if body else ""

    def _line(self, node: cst.SimpleStatementLine) -> str:
        """Simple statements on one line; nothing left, no line."""
        indent = self._indent(node)
        chunks = self._chunks(node, indent)
        return self._leading(node) + self._stack(chunks, indent, self._trailing(node)) if chunks else ""

    def _stack(self, chunks: Sequence[Chunk], indent: str, trailing: str) -> str:
        """Chunks as lines: those that fit beside each other share one."""
        out: list[str] = []
        row: list[str] = []
        for whole, text in chunks:
            if whole:
                out += [f"{indent}{'; '.join(row)}\n"] if row else []
                out.append(text)
                row = []
            else:
                row.append(text)
        return "".join(out) + (f"{indent}{'; '.join(row)}{trailing}" if row else "")

    def _chunks(self, node: cst.SimpleStatementLine | cst.SimpleStatementSuite, indent: str) -> list[Chunk]:
        out: list[Chunk] = []
        for small in node.body:
            if small in self._inserted:
                out.append((True, self._inserts(small, indent)))
            chunk = self._small(small, indent)
            if chunk is not None and chunk[1]:
                out.append(chunk)
        return out

    def _small(self, node: cst.BaseSmallStatement, indent: str, *, itself: bool = False) -> Chunk | None:
        """One simple statement, or None if nothing of it is left."""
        if node not in self._dirty:
            return False, self._core(node)
        if not itself:
            if self._gone(node):
                return None
            if node in self._unwrapped:
                return True, self._unwrap(node, indent)
            if node in self._replaced:
                owner, by = self._replaced[node]
                with self._applying(owner, node) as possible:
                    return self._statement_template(by, node, owner, indent) if possible else None
        cuts = self._small_cuts(node)
        return None if cuts is None else (False, self._splice(node, end=self.layout.core_end(node), cuts=cuts))

    def _small_cuts(self, node: cst.BaseSmallStatement) -> list[Cut] | None:
        outer = self.layout.outer
        match node:
            case cst.Import() | cst.Global() | cst.Nonlocal():
                return self._list_cut(node.names, bracketed=False) if self._any_left(node.names) else None
            case cst.ImportFrom() if not isinstance(node.names, cst.ImportStar):
                return self._list_cut(node.names, bracketed=node.lpar is not None) if self._any_left(node.names) else None
            case cst.Del() if isinstance(node.target, cst.Tuple) and node.target not in self._replaced:
                return [] if self._any_left(node.target.elements) or not node.target.elements else None
            case cst.Assign():
                return [(*outer[target], "") for target in node.targets if self._gone(target)]
            case cst.AnnAssign() if self._gone(node.annotation):
                if node.value is None or self._gone(node.value):
                    return None
                return [(*outer[node.annotation], "")]
        return self._optional_cuts(node)

    def _any_left(self, items: Sequence[Node]) -> bool:
        if any(item not in self._removed for item in items):
            return True
        for item in items:
            self._gone(item)
        return False

    # -- statement templates ---------------------------------------------------------------------------------------

    def _lines(self, by: Template, node: Node, owner: int, indent: str) -> str:
        whole, text = self._statement_template(by, node, owner, indent)
        return text if whole or not text else f"{indent}{text}\n"

    def _statement_template(self, by: Template, node: Node, owner: int, indent: str) -> Chunk:
        shape = statement_shape(skeleton(by))
        kept = iter([part for part in by if not isinstance(part, str)])
        if shape.one_hole:
            return self._kept_statement(next(kept), node, owner, indent)
        out = ""
        margin = indent
        for part in shape.parts:
            if isinstance(part, Margin):
                margin = indent + part.indent
                out += margin
            elif isinstance(part, Hole):
                inner = next(kept)
                if part.whole and not isinstance(inner, cst.BaseExpression):
                    whole, text = self._kept_statement(inner, node, owner, margin)
                    out += (text.removeprefix(margin).removesuffix("\n") if whole else text) or "pass"
                    continue
                rendered = self._kept(inner, node)
                if not rendered.fits(part.slot):
                    self.misfits.add(owner)
                out = join(out, rendered.at(part.slot))
            else:
                out = join(out, part)
        return shape.lines, out

    def _kept_statement(self, kept: Node, node: Node, owner: int, indent: str) -> Chunk:
        """A kept node that stands as a statement of its own."""
        if isinstance(kept, cst.BaseStatement):
            with self._shifted(self.layout.indent_of[kept], indent):
                if isinstance(kept, cst.If) and isinstance(self.layout.parents[kept], cst.If):
                    text = self._chain(kept)  # an `elif` begins a chain of its own
                else:
                    text = self._statement(kept, itself=kept is node or kept in self._removed)
            return True, re.sub(r"\A(?:[ \t]*\n)+", "", text)
        if isinstance(kept, cst.BaseSuite):
            return True, self._suite_lines(kept, indent)
        if isinstance(kept, cst.BaseSmallStatement):
            return self._small(kept, indent, itself=kept is node or kept in self._removed) or (False, "")
        rendered = self._kept(kept, node)
        if rendered.member is not Member.NONE:
            self.misfits.add(owner)
        return False, rendered.at(Slot(YIELD))


_MARK = re.compile(r"[ \t]*#\s*shrink: keep-")
_WORD = re.compile(r"\w")


def join(left: str, right: str) -> str:
    """Concatenate, with a space where two words would become one."""
    if left and right and _WORD.match(left[-1]) and _WORD.match(right[0]):
        return f"{left} {right}"
    return left + right


_PIECE = re.compile(
    r"(?P<string>'''(?:\\.|[^\\])*?'''|\"\"\"(?:\\.|[^\\])*?\"\"\"|'(?:\\.|[^\\'\n])*'|\"(?:\\.|[^\\\"\n])*\")"
    r"|(?P<skip>#[^\n]*|\\\n)|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<newline>\n)",
    re.DOTALL,
)


def breaks_line(text: str) -> bool:
    """Whether a line ends in it outside of brackets and strings."""
    if "\n" not in text:
        return False
    depth = 0
    for match in _PIECE.finditer(text):
        if match.lastgroup == "newline" and depth == 0:
            return True
        depth += (match.lastgroup == "open") - (match.lastgroup == "close")
    return False


