"""Passes by name: a pipeline's text, a `RUN:` line, and the functions of the binding that add the same passes."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shrinkray_gpu.errors import UsageError

_NAME = re.compile(r"[\w.-]+")
_DEFAULTS = {
    "num-stages": "3",
    "num_stages": "3",
    "num-warps": "4",
    "num-ctas": "1",
    "compute-capability": "90",
    "ptx-version": "80",
    "kPack": "1",
}
"""What a `RUN:` line means that leaves such an option out."""
_ARCHES = ("arch-generation-name", "arch", "gfx-arch", "target")
"""Options that name the architecture."""


@dataclass(frozen=True)
class PassCall:
    """A pass of a pipeline with the options that are written there."""

    name: str
    options: Mapping[str, str] = field(default_factory=dict)

    def flag(self) -> str:
        """As `triton-opt` takes it: `-canonicalize`, `-tritongpu-pipeline="num-stages=3"`."""
        said = " ".join(f"{name}={value}" for name, value in self.options.items())
        return f'-{self.name}="{said}"' if said else f"-{self.name}"


@dataclass(frozen=True)
class PassTable:
    """The passes of one release of Triton, as its own binding calls them."""

    known: Mapping[str, Mapping[str, Any]]
    """Each description by the name of its pass; see `runner/inside/intermediate/binding.py`."""

    @staticmethod
    def of(described: Sequence[Mapping[str, Any]]) -> PassTable:
        found: dict[str, Mapping[str, Any]] = {}
        for each in described:
            found.setdefault(each["name"], each)
        return PassTable(found)

    def step(self, call: PassCall, arch: str) -> tuple[str, str, tuple[Any, ...]]:
        """The function that adds the pass, and its arguments. Raises UsageError for a name that is not there."""
        entry = self.known.get(call.name)
        if entry is None:
            near = difflib.get_close_matches(call.name, self.known, n=1)
            hint = f": did you mean {near[0]}?" if near else ""
            raise UsageError(f"this Triton has no pass {call.name} that its Python binding can run{hint}")
        arguments = []
        for parameter in entry["parameters"]:
            said = call.options.get(parameter["option"])
            if said is None:
                # Releases call the architecture's option by several names.
                named = next((call.options[name] for name in _ARCHES if name in call.options), arch)
                said = _default(parameter, named.rpartition(":")[2])
            arguments.append(_value(said, parameter["kind"], call))
        return entry["place"], entry["function"], tuple(arguments)

    def call(self, step: tuple[str, str, tuple[Any, ...]]) -> PassCall:
        """The name and options of what such a function adds, for a pipeline's text."""
        place, function, arguments = step
        for name, entry in self.known.items():
            if (entry["place"], entry["function"]) == (place, function):
                said = zip(entry["parameters"], arguments)
                return PassCall(name, {each["option"]: _text(value) for each, value in said if each["option"]})
        return PassCall(f"{place}.{function}")

    def told(self, call: PassCall) -> PassCall:
        """The pass with those of its options that the binding can set; the others have their defaults there."""
        own = {each["option"] for each in self.known.get(call.name, {"parameters": ()})["parameters"]}
        return PassCall(call.name, {name: value for name, value in call.options.items() if name in own})


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _default(parameter: Mapping[str, str], arch: str) -> str:
    option = parameter["option"]
    if option in _ARCHES and arch:
        if option != "target":
            return arch
        return f"hip:{arch}" if arch.startswith("gfx") else f"cuda:{arch.removeprefix('sm_')}"
    if option == "threads-per-warp":
        return "64" if arch.startswith("gfx9") else "32"
    if option == "compute-capability" and arch.startswith("sm_"):
        return arch.removeprefix("sm_").rstrip("a")
    return _DEFAULTS.get(option, {"str": "", "bool": "false"}.get(parameter["kind"], "0"))


def _value(said: str, kind: str, call: PassCall) -> Any:
    if kind == "bool":
        return said.lower() in ("true", "1")
    if kind == "int":
        try:
            return int(said)
        except ValueError as error:
            raise UsageError(f"the pass {call.name} takes a number, and the pipeline says {said!r}") from error
    return said


def read_pipeline(text: str) -> tuple[PassCall, ...]:
    """The passes of `builtin.module(a, tt.func(b{x=1}), c)`, in order, wherever they are nested.

    Raises UsageError for brackets that do not match.
    """
    found: list[PassCall] = []
    at, depth = 0, 0
    while at < len(text):
        if text[at] in " ,\n\t":
            at += 1
        elif text[at] == ")":
            depth, at = depth - 1, at + 1
        elif name := _NAME.match(text, at):
            at = name.end()
            if text[at : at + 1] == "(":
                depth, at = depth + 1, at + 1
            elif text[at : at + 1] == "{":
                end = _closing(text, at)
                found.append(PassCall(name[0], _options(text[at + 1 : end])))
                at = end + 1
            else:
                found.append(PassCall(name[0]))
        else:
            raise UsageError(f"this is no pipeline of passes: {text[at : at + 40]!r}")
    if depth:
        raise UsageError("the pipeline of passes is cut short")
    return tuple(found)


def _closing(text: str, at: int) -> int:
    depth = 0
    for place in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if not depth:
            return place
    raise UsageError("the pipeline of passes is cut short")


def _options(text: str) -> dict[str, str]:
    return dict(word.partition("=")[::2] for word in text.split() if "=" in word)


_NOT_PASSES = re.compile(
    r"split-input-file|verify-diagnostics|allow-unregistered-dialect|o|mlir-.*|debug.*|verify-each.*|no-implicit-module"
)
_PIPELINE = "pass-pipeline"
_TOOL = "triton-opt"
_BEFORE_TOOL = re.compile(r"not|--crash|env|\w+=.*")
"""What may stand before a tool that a line runs."""
_NEXT = re.compile(r";|&&|\|\||&")


def read_run_line(line: str) -> tuple[tuple[PassCall, ...], ...]:
    """The passes of each command in `triton-opt %s -a --b="x=1" | FileCheck %s` that runs passes. Two `triton-opt`
    with a pipe between them are one command. Raises UsageError."""
    if _TOOL not in line:
        return ()
    words = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    words.whitespace_split, words.commenters = True, ""
    commands: list[list[PassCall]] = [[]]
    tool = ""
    try:
        for word in words:
            if _NEXT.fullmatch(word):
                commands.append([])
            if _NEXT.fullmatch(word) or word in ("|", "|&"):
                tool = ""
            elif not tool:
                tool = "" if _BEFORE_TOOL.fullmatch(word) else word.rpartition("/")[2]
            elif tool == _TOOL and word.startswith("-"):
                commands[-1] += _of_flag(word.lstrip("-"))
    except ValueError as error:
        raise UsageError(f"the RUN: line cannot be read ({error}): {line.strip()[:80]}") from error
    return tuple(tuple(command) for command in commands if command)


def read_pass(word: str) -> tuple[PassCall, ...]:
    """`NAME`, or `NAME=option=value other=value`. Raises UsageError for other words."""
    name, _, said = word.lstrip("-").partition("=")
    said = said.strip("\"'")
    if name == _PIPELINE:
        return read_pipeline(said)
    if unfit := next((each for each in said.split() if "=" not in each), None):
        raise UsageError(f"--pass {word}: {unfit} is no option=value: write NAME, or NAME=option=value as one word")
    return (PassCall(name, _options(said)),)


def _of_flag(flag: str) -> tuple[PassCall, ...]:
    name, _, said = flag.partition("=")
    if not name or _NOT_PASSES.fullmatch(name):
        return ()
    return read_pipeline(said) if name == _PIPELINE else (PassCall(name, _options(said)),)
