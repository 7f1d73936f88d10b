"""Expressions and lists: parentheses by precedence, commas by who is left."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import libcst as cst

from shrinkray_gpu.reduction.edit import Template
from shrinkray_gpu.reduction.rendering.joining import breaks_line, join
from shrinkray_gpu.reduction.rendering.slots import (
    ALWAYS,
    ATOM,
    PRIMARY,
    TEST,
    YIELD,
    Member,
    Slot,
    SlotKind,
    in_target,
    is_dotted,
    is_name,
    is_single_target,
    is_target,
    level,
    slot,
)
from shrinkray_gpu.reduction.rendering.splicer import Cut, Node, Splicer
from shrinkray_gpu.reduction.rendering.template import Hole, expression_shape, skeleton

_MEMBERS = {cst.StarredElement: Member.ELEMENT, cst.Arg: Member.ARGUMENT}


@dataclass(frozen=True)
class ExpressionText:
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
            case SlotKind.VALUE:
                wide = (Member.NONE, where.member, Member.ELEMENT if where.member is Member.ARGUMENT else Member.NONE)
                return self.member in wide
            case SlotKind.TARGET:
                return self.target
            case SlotKind.SINGLE:
                return self.single
            case SlotKind.NAME:
                return self.name
            case SlotKind.DOTTED:
                return self.dotted
        return False

    def at(self, where: Slot) -> str:
        """The text as it stands there."""
        if where.kind in (SlotKind.NAME, SlotKind.DOTTED):
            return self.text
        return f"({self.text})" if self.level < where.level or breaks_line(self.text) else self.text


class Phrases(Splicer):
    """Writes expressions, and lists of arguments, parameters, elements and names."""

    def _place(self, node: cst.BaseExpression) -> str:
        """An expression in its own place."""
        if node in self._removed:
            self.misfits.add(self._removed[node])  # a place that cannot be empty
        self.misfits.update(owner for owner, _ in self._inserted.get(node, ()))
        mark = len(self._trace)
        rendered = self._expression(node)
        if not rendered.fresh:
            return rendered.text
        where = slot(node, self.layout.parents)
        if not rendered.fits(where):
            self._blame(mark)
            return self._verbatim(node)
        return rendered.at(where)

    def _expression(self, node: cst.BaseExpression, *, itself: bool = False) -> ExpressionText:
        if node in self._replaced and not itself:
            return self._template(node)
        if node not in self._dirty:
            return ExpressionText(self._verbatim(node), level(node))
        own = ExpressionText("", level(node))
        if node in self._within:
            return replace(own, text=self._source(node))
        if isinstance(node, cst.Tuple | cst.Set) and all(e in self._removed for e in node.elements) and node.elements:
            for element in node.elements:
                self._gone(element)
            if isinstance(node, cst.Tuple):
                return ExpressionText("()", ATOM, fresh=True, target=True)
            return ExpressionText("set()", PRIMARY, fresh=True)
        if isinstance(node, cst.GeneratorExp | cst.ListComp | cst.SetComp | cst.DictComp):
            return self._comprehension(node)
        if isinstance(node, cst.Lambda):
            return replace(own, text=self._lambda(node))
        return replace(own, text=self._splice(node, cuts=self._cuts(node)))

    def _source(self, node: cst.BaseExpression) -> str:
        """A string literal with the changes of the CUDA C++ in it."""
        asked = self._within[node]
        text, misfits = asked[0][1].literal.rewritten([(owner, each.change) for owner, each in asked])
        self.misfits |= misfits
        first, last = self.layout.outer[node]
        begin, end = self.layout.inner[node]
        return self.layout.text[first:begin] + text + self.layout.text[end:last]

    def _kept(self, node: Node, replaced: Node) -> ExpressionText:
        """A node that a template keeps, with what its new place asks about it."""
        if isinstance(node, cst.Expr | cst.Element | cst.Index) or (
            isinstance(node, cst.Arg) and not node.star and node.keyword is None
        ):
            node = node.value
        if not isinstance(node, cst.BaseExpression) or isinstance(node, cst.StarredElement):
            member = _MEMBERS.get(type(node), Member.OTHER)
            return ExpressionText(self._core(node, itself=True), ATOM, fresh=True, member=member)
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

    def _template(self, node: Node) -> ExpressionText:
        """What replaces an expression or a member of a list."""
        owner, by = self._replaced[node]
        with self._applying(owner, node) as possible:
            if not possible:
                return ExpressionText(self._verbatim(node), ATOM, fresh=True)
            return replace(self._filled(by, node, owner), fresh=True)

    def _filled(self, by: Template, node: Node, owner: int) -> ExpressionText:
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
        return ExpressionText(
            out, shape.level, name=shape.name, dotted=shape.dotted, single=shape.single, target=shape.target
        )

    def _field(self, node: cst.FormattedStringExpression) -> str:
        """A changed field of an f-string must do without the string's own quote, backslashes and line ends (PEP 701
        lifts that from Python 3.12 on; candidates run on 3.10 too)."""
        mark = len(self._trace)
        text = self._splice(node)
        if text.startswith("{{"):
            text = f"{{ {text[1:]}"  # two braces would be a brace, not a field
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

    def _comprehension(self, node: cst.GeneratorExp | cst.ListComp | cst.SetComp | cst.DictComp) -> ExpressionText:
        own = ExpressionText("", level(node))
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
            return ExpressionText(f"({self._emit(node.elt)},)", ATOM, fresh=True)
        text = ""
        for clause in left:
            inner = clause.inner_for_in
            text += self._splice(clause, end=None if inner is None else self.layout.outer[inner][0])
        return replace(own, text=self._splice(node, cuts=[(first, last, text)]))

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
        text = self._members(items, left, bracketed=bracketed, lone_comma=lone_comma) if left else empty
        return [(first, last, text)]

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

    def _check_element(self, node: Node, rendered: ExpressionText) -> None:
        """An element that is assigned to gives way only to something that can be."""
        value = node.value if isinstance(node, cst.Element | cst.StarredElement) else node
        if slot(value, self.layout.parents).kind is SlotKind.TARGET and not rendered.target:
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
        for param in node.kwonly_params:
            if param not in gone:
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
