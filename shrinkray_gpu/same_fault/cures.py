"""Cures: one small edit of a kernel that ends an error of Triton's front end, tried at each place that it fits.

Such an error names two types or two shapes that do not go together, and says nothing of where the wrong one was made.
`x + 0.0` for `x + offsets.to(tl.float32)` keeps each word of it. So what mends the original must mend each step: the
edit of the same kind, at whichever place of the step is left, after which the program runs to a healthy end.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.source.kernels import in_kernel
from shrinkray_gpu.source.tree import dotted_text

MOST = 12
"""Places at which an edit is tried."""
REDUCTIONS = frozenset({"sum", "max", "min", "argmax", "argmin", "cumsum", "cumprod", "reduce", "xor_sum", "sort"})
MADE = {"zeros": 1, "full": 2, "zeros_like": 1}
"""What makes a tensor of a type, and which argument that is."""
_BOUND = (cst.Assign, cst.AugAssign)
_SHOWN = re.compile(r"^(.*\S.*)\n[ \t]*\^", re.MULTILINE)
_DTYPE = re.compile(r"(?:bfloat16|float\d\w*|u?int\d+)")


@dataclass(frozen=True)
class Cured:
    """A program after the edit, and what the edit was."""

    text: str
    edit: str
    line: int
    """Of the program before it."""
    in_kernel: bool
    """Whether it changes a kernel; else what launches one."""


def cured(program: Program, shown: cst.CSTNode, changes: Sequence[tuple[int, int, str]], told: str = "") -> Cured:
    """The program with these stretches replaced, all of which lie in the node that is shown, unless it is told."""
    text = new = program.text
    grouped = isinstance(shown, cst.BaseExpression) and shown.lpar
    begin, end = program.layout.outer[shown] if grouped else program.spans[shown]
    end = max(end, *(last for _, last, _ in changes))  # a parameter's annotation is beside it
    for first, last, other in sorted(changes, reverse=True):
        new = new[:first] + other + new[last:]
    line = text.count("\n", 0, min(first for first, _, _ in changes)) + 1
    edit = told or f"{new[begin : end + len(new) - len(text)]} for {text[begin:end]}"
    return Cured(new, " ".join(edit.split()), line, in_kernel(program, shown))


def of_patch(name: str, before: str, after: str) -> Cured:
    """What a patch of the user's makes of a program, as an edit."""
    same = next((at for at, (one, other) in enumerate(zip(before, after)) if one != other), 0)
    return Cured(after, f"the patch {name}", before.count("\n", 0, same) + 1, in_kernel=False)


def refused_line(run: Run) -> str:
    """The line of a kernel at which Triton's front end stopped, as it shows it; empty where it did not."""
    failures = [compile.failure.text for compile in run.compiles if compile.failure is not None]
    found = _SHOWN.search("\n".join(failures))
    return found[1].strip() if found else ""


Code = Callable[[cst.CSTNode], str]
Offers = Iterator[tuple[cst.CSTNode, str]]
"""Parts of a node, and what may stand in their place."""


@dataclass(frozen=True)
class Cure:
    """One kind of edit. `offers`: what it may change of a node, given the text of any part of it."""

    name: str
    offers: Callable[[cst.CSTNode, Code], Offers]

    def apply(self, text: str, refused: str = "") -> Iterator[Cured]:
        """The program after each edit of this kind. What made an error is not far before the line that is refused, else
        not far from the program's end: from there back, then the places behind it."""
        at = text.rfind(refused) + len(refused) if refused in text else len(text)
        return itertools.islice(self._edits(Program.from_text(text), at), MOST)

    def alike(self, text: str, edit: str) -> Iterator[Cured]:
        """The program after this very edit, at each place of it."""
        return (each for each in self._edits(Program.from_text(text), len(text)) if each.edit == edit)

    def _edits(self, program: Program, at: int) -> Iterator[Cured]:
        text = program.text

        def code(node: cst.CSTNode) -> str:
            first, last = program.spans[node]
            return text[first:last]

        nodes = program.layout.nodes(cst.Call, cst.Subscript)
        of_kernels = [each for each in program.layout.nodes(cst.Param, *_BOUND) if in_kernel(program, each)]
        names = Counter(name for each in of_kernels if (name := _bound_name(each)))
        again = [each for each in of_kernels if isinstance(each, cst.Param) or names[_bound_name(each)] > 1]
        ends = {node: program.spans[node][1] for node in [*nodes, *again]}
        for node in sorted(ends, key=lambda each: (ends[each] > at, -ends[each])):
            for part, other in self.offers(node, code):
                yield cured(program, node, [(*program.spans[part], other)])


def _without_cast(node: cst.CSTNode, code: Code) -> Offers:
    """But for those to a pointer: without one `address + 0.0` is a sum of two numbers, whatever made the index."""
    if isinstance(node, cst.Call) and node.args and "pointer_type" not in code(node.args[-1]):
        if isinstance(node.func, cst.Attribute) and node.func.attr.value == "to":
            yield node, _alone(node.func.value, code)
        elif dotted_text(node.func).endswith(".cast"):
            yield node, _alone(node.args[0].value, code)


def _other_expansion(node: cst.CSTNode, code: Code) -> Offers:
    if isinstance(node, cst.Subscript) and len(node.slice) == 2:
        one, other = (code(each.slice) for each in node.slice)
        if sorted((one, other)) == [":", "None"]:
            yield node, f"{_alone(node.value, code)}[{other}, {one}]"


def _transposed(node: cst.CSTNode, code: Code) -> Offers:
    """An operand of a product."""
    if isinstance(node, cst.Call) and dotted_text(node.func).endswith(".dot") and len(node.args) > 1:
        transpose = code(node.func).removesuffix("dot") + "trans"
        for operand in (arg.value for arg in node.args[:2]):
            before = _before_transposition(operand)
            yield operand, f"{transpose}({code(operand)})" if before is None else _alone(before, code)


def _before_transposition(node: cst.BaseExpression) -> cst.BaseExpression | None:
    if isinstance(node, cst.Attribute) and node.attr.value == "T":
        return node.value
    if isinstance(node, cst.Call) and _method(node) == "trans":
        if len(node.args) == 1:
            return node.args[0].value
        if not node.args and isinstance(node.func, cst.Attribute):
            return node.func.value
    return None


def _type_of_other(node: cst.CSTNode, code: Code) -> Offers:
    """An operand of a product, cast to what the other one has."""
    if isinstance(node, cst.Call) and dotted_text(node.func).endswith(".dot") and len(node.args) > 1:
        one, other = (arg.value for arg in node.args[:2])
        yield one, f"{_owner(one, code)}.to({_owner(other, code)}.dtype)"
        yield other, f"{_owner(other, code)}.to({_owner(one, code)}.dtype)"


def _other_axis(node: cst.CSTNode, code: Code) -> Offers:
    if isinstance(node, cst.Call) and _method(node) in REDUCTIONS:
        for arg in node.args:
            if code(arg.value) in ("0", "1") and (arg.keyword is None or arg.keyword.value in ("axis", "dim")):
                yield arg.value, str(1 - int(code(arg.value)))


def _other_type(node: cst.CSTNode, code: Code) -> Offers:
    """For one that is named, taken from another tensor, or chosen."""
    if isinstance(node, cst.Call) and _method(node) in MADE:
        language = code(node.func).removesuffix(_method(node))
        for dtype in _dtypes(node):
            named = isinstance(dtype, cst.Attribute) and _DTYPE.fullmatch(dtype.attr.value)
            for other in ("float32", "int32", "int64", "float16"):
                if named and other != dtype.attr.value:  # type: ignore[attr-defined]
                    yield dtype.attr, other  # type: ignore[attr-defined]
                elif not named:
                    yield dtype, language + other


def _dtypes(call: cst.Call) -> Iterator[cst.BaseExpression]:
    """The type that a tensor is made with."""
    for at, arg in enumerate(call.args):
        if arg.keyword.value == "dtype" if arg.keyword is not None else at == MADE[_method(call)]:
            yield arg.value


def _other_number(node: cst.CSTNode, code: Code) -> Offers:
    """Of a variable that is bound again, as in a loop: `total = 0.0` for `total = 0`."""
    if isinstance(node, cst.Assign) and isinstance(node.value, (cst.Integer, cst.Float)):
        value = float(node.value.evaluated_value)
        if isinstance(node.value, cst.Integer) or value.is_integer():
            yield node.value, str(value if isinstance(node.value, cst.Integer) else int(value))


def _bound_name(node: cst.CSTNode) -> str:
    """The one variable that an assignment binds; empty for what is none."""
    if isinstance(node, cst.Assign) and len(node.targets) > 1:
        return ""
    target = node.targets[0].target if isinstance(node, cst.Assign) else getattr(node, "target", None)
    return target.value if isinstance(target, cst.Name) else ""


def _other_extent(node: cst.CSTNode, code: Code) -> Offers:
    if isinstance(node, cst.Call) and dotted_text(node.func).endswith("arange") and len(node.args) == 2:
        end = node.args[1].value
        if isinstance(end, cst.BinaryOperation):
            yield end, _alone(end.left, code)
        elif isinstance(end, cst.Integer):
            yield end, str(int(end.value) - 1)


def _constexpr(node: cst.CSTNode, code: Code) -> Offers:
    """In quotes, since `triton.language` may have any name."""
    if isinstance(node, cst.Param) and not node.star:
        if node.annotation is None:
            yield node.name, f"{code(node.name)}: 'constexpr'"
        elif "constexpr" not in code(node.annotation.annotation):
            yield node.annotation.annotation, "'constexpr'"


def _method(node: cst.Call) -> str:
    return node.func.attr.value if isinstance(node.func, cst.Attribute) else ""


def _alone(node: cst.BaseExpression, code: Code) -> str:
    """The text of an expression for any place: what is taken out of parentheses gets them again."""
    return f"({code(node)})" if node.lpar else code(node)


def _owner(node: cst.BaseExpression, code: Code) -> str:
    """The text of an expression before a dot."""
    return code(node) if isinstance(node, (cst.Name, cst.Attribute, cst.Call, cst.Subscript)) else f"({code(node)})"


CURES = (
    Cure("without a cast", _without_cast),
    Cure("expanded the other way", _other_expansion),
    Cure("along the other axis", _other_axis),
    Cure("transposed", _transposed),
    Cure("of the other's type", _type_of_other),
    Cure("of another type", _other_type),
    Cure("begun with another number", _other_number),
    Cure("of another extent", _other_extent),
    Cure("a constexpr", _constexpr),
)
