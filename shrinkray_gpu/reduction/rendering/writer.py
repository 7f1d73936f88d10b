"""Writes the text of a Program with some changes made: one recursion over the nodes that hold a change.

What depends on the other changes of the subset is decided in this class and its bases, and only here: `pass`, commas,
parentheses, `elif` or `if`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias, cast

import libcst as cst

from shrinkray_gpu.reduction.edit import Template
from shrinkray_gpu.reduction.rendering.joining import join
from shrinkray_gpu.reduction.rendering.phrases import Phrases
from shrinkray_gpu.reduction.rendering.slots import YIELD, Member, Slot
from shrinkray_gpu.reduction.rendering.splicer import Cut, Node, sort_of
from shrinkray_gpu.reduction.rendering.template import Hole, Margin, skeleton, statement_shape

Chunk: TypeAlias = tuple[bool, str]
"""Rendered statement: whether it is whole lines (or fits beside others on a line), and the text."""

_MARK = re.compile(r"[ \t]*#\s*shrink: keep-")


class StatementWriter(Phrases):
    """Writes statements and blocks."""

    def _emit(self, node: Node) -> str:
        if node not in self._dirty:
            return self._verbatim(node)
        sort = sort_of(node)
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
            if before := self._inserts(small, indent):
                out.append((True, before))
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
                return None if self._none_left(node.names) else self._list_cut(node.names, bracketed=False)
            case cst.ImportFrom() if not isinstance(node.names, cst.ImportStar):
                return None if self._none_left(node.names) else self._list_cut(node.names, bracketed=bool(node.lpar))
            case cst.Del() if isinstance(node.target, cst.Tuple) and node.target not in self._replaced:
                return None if node.target.elements and self._none_left(node.target.elements) else []
            case cst.Assign():
                return [(*outer[target], "") for target in node.targets if self._gone(target)]
            case cst.AnnAssign() if self._gone(node.annotation):
                if node.value is None or self._gone(node.value):
                    return None
                return [(*outer[node.annotation], "")]
        return self._optional_cuts(node)

    def _none_left(self, items: Sequence[Node]) -> bool:
        return all(item in self._removed for item in items) and all(self._gone(item) for item in items)

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
