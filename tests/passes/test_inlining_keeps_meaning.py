"""Inlining may not change what a program does: generated programs print the same after any subset of the Edits."""

from __future__ import annotations

import contextlib
import io
import random

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from shrinkray_gpu.passes import inlining
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.rendering.render import render


def output(text: str) -> str:
    """What the program prints, and the type of the exception that ends it."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(text, "<sample>", "exec"), {"__name__": "__main__"})
        except Exception as error:
            print(type(error).__name__, error)
    return printed.getvalue()


def check(text: str, seed: int = 0, rounds: int = 6) -> int:
    """Each Edit alone, random subsets, then all of them, again and again. Returns how many Edits were offered."""
    expected = output(text)
    rng = random.Random(seed)
    program, offered = Program.from_text(text), 0
    for _ in range(rounds):
        edits = list(inlining.find(program))
        if not edits:
            break
        offered += len(edits)
        subsets = [[each] for each in edits]
        subsets += [rng.sample(edits, rng.randint(1, len(edits))) for _ in range(4)]
        for subset in [*subsets, edits]:
            changed = render(program, subset)
            assert changed.parses, changed.text
            assert output(changed.text) == expected, (
                f"{[each.what for each in subset]}\n{program.text}\n-->\n{changed.text}"
            )
        program = render(program, rng.choice([edits, *subsets]))
    return offered


NAMES = ("a", "b", "x", "total")
START = """\
hooks = []
def note(value, label="note"):
    print(label, value)
    return value
"""


class Maker:
    """Writes one small program, drawing every decision."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.functions: dict[str, list[str]] = {"note": ["value"]}
        self.objects: dict[str, dict[str, int]] = {}
        self.fields: list[str] = []

    def one_of(self, *choices: str) -> str:
        return self.draw(st.sampled_from(choices))

    def number(self) -> int:
        return self.draw(st.integers(0, 3))

    def value(self, known: list[str], depth: int = 2) -> str:
        """An expression over the names that are certainly bound."""
        kinds = ["number", "name", "name", "call", "call", "sum", "field"]
        kinds += ["list", "lambda", "and", "if"] if depth > 1 else []
        kind = self.one_of(*kinds) if depth else "name"
        down = depth - 1
        if kind == "field" and self.fields:
            return self.one_of(*self.fields)
        if kind in ("number", "field") or (kind == "name" and not known):
            return str(self.number())
        if kind == "name":
            return self.one_of(*known)
        if kind == "call":
            return self.call(known, down)
        if kind == "list":
            name = self.one_of(*NAMES)
            return f"sum([{self.value([*known, name], down)} for {name} in [{self.value(known, down)}, 2]])"
        if kind == "lambda":
            name = self.one_of(*NAMES)
            return f"(lambda {name}: {self.value([*known, name], down)})({self.value(known, down)})"
        if kind == "and":
            return f"({self.value(known, down)} and {self.value(known, down)})"
        if kind == "if":
            return f"({self.value(known, down)} if {self.value(known, down)} else {self.value(known, down)})"
        return f"{self.value(known, down)} {self.one_of('+', '-', '*')} {self.value(known, down)}"

    def call(self, known: list[str], depth: int) -> str:
        owner = self.one_of("", *self.objects)
        methods = self.objects[owner] if owner else {name: len(params) for name, params in self.functions.items()}
        name = self.one_of(*methods)
        values = [self.value(known, depth) for _ in range(methods[name])]
        if not owner and values and self.draw(st.booleans()):
            values[-1] = f"{self.functions[name][-1]}={values[-1]}"
        return f"{owner}{'.' if owner else ''}{name}({', '.join(values)})"

    def block(self, known: list[str], indent: str, depth: int = 2) -> list[str]:
        lines: list[str] = []
        for _ in range(self.draw(st.integers(1, 3))):
            kind = self.one_of(
                "assign", "assign", "call", "print", "add", "hook", "two", *(("if", "for") if depth else ())
            )
            name = self.one_of(*NAMES)
            if kind == "assign":
                lines.append(f"{indent}{name} = {self.value(known)}")
                known = [*known, name]
            elif kind == "add" and known:
                local = [each for each in known if each in NAMES]
                if local:
                    lines.append(f"{indent}{local[0]} += {self.value(known)}")
            elif kind == "hook":
                lines.append(f"{indent}hooks.append(lambda: {self.value(known, 1)})")
            elif kind == "two":
                lines.append(f"{indent}a, b = {self.value(known)}, {self.value(known)}")
                known = [*known, "a", "b"]
            elif kind == "call":
                lines.append(f"{indent}{self.call(known, 1)}")
            elif kind == "print":
                lines.append(f"{indent}print({self.value(known)}, {self.value(known)})")
            elif kind == "if":
                lines.append(f"{indent}if {self.value(known)}:")
                lines += self.block(known, indent + "    ", depth - 1)
            elif kind == "for":
                lines.append(f"{indent}for {name} in [{self.value(known)}, 1]:")
                lines += self.block([*known, name], indent + "    ", depth - 1)
        return lines or [f"{indent}pass"]

    def function(self, name: str, indent: str = "", first: tuple[str, ...] = ()) -> list[str]:
        params = self.draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=3))
        head = ", ".join([*first, *params])
        lines = [f"{indent}def {name}({head}):"]
        body = self.block(list(params), indent + "    ") if self.draw(st.booleans()) else []
        if self.draw(st.booleans()) or not body:
            known = list(params)
            for line in body:  # assigned for certain, at the top of the function
                words = line.split(" = ")
                if len(words) == 2 and words[0].startswith(indent + "    ") and words[0].strip() in NAMES:
                    if len(words[0]) - len(words[0].lstrip()) == len(indent) + 4:
                        known.append(words[0].strip())
            body = [*body, f"{indent}    return {self.value(known)}"]
        if not indent:
            self.functions[name] = params
        return lines + body

    def program(self) -> str:
        text = [START]
        for number in range(self.draw(st.integers(1, 2))):
            made = self.function(f"f{number}")
            text += made
        if self.draw(st.booleans()):
            text += ["class Thing:", f"    size = {self.number()}", "    def __init__(self, a, b=2):"]
            self.fields = ["self.a", "self.size"]
            text += ["        self.a = a", f"        self.b = {self.value(['a', 'b'])}"]
            self.fields = ["self.a", "self.b", "self.size"]
            method = self.function("run", "    ", ("self",))
            params = method[0].count(",")
            text += method
            self.fields = []
            text += [f"thing = Thing({self.value([])})"]
            self.objects = {"thing": {"run": params}}
            self.fields = ["thing.a", "thing.b", "thing.size"]
        if self.draw(st.booleans()):
            text += ["def main():", *self.block([], "    "), "main()"]
        text += [*self.block([], ""), "print([hook() for hook in hooks])"]
        return "\n".join(text) + "\n"


@st.composite
def programs(draw: st.DrawFn) -> str:
    return Maker(draw).program()


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs(), st.integers(0, 1000))
def test_generated_programs_print_the_same(text: str, seed: int) -> None:
    assume("Error" not in output(text))
    check(text, seed, rounds=4)
