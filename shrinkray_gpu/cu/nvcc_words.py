"""What the compilers behind nvcc say, as messages that can be compared: who says what, of which construct.

Numbers, arguments of templates and qualifiers in the words may change while a program is reduced. What a message points
at may not: the word above the caret of the front end, the opcode in the PTX, the line of a header that is not ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shrinkray_gpu.runner.inside.cuda_cpp.host_code import demangle, plain_name

_FORMS = (
    ("front end", re.compile(
        r"^(?P<file>[^\n()]+)\((?P<line>\d+)\): (?P<level>catastrophic error|error|warning)(?: #(?P<number>\d+)-D)?: "
        r"(?P<words>[^\n]*)"
    )),
    ("cicc", re.compile(
        r"^(?P<level>warning|error): (?P<file>[^\n()]+)\((?P<line>\d+)\): (?:Warning|Error): (?P<words>[^\n]*)"
    )),
    ("ptxas", re.compile(
        r"^ptxas (?:[^\n]*?, line (?P<line>\d+); *)?(?P<level>error|fatal|warning|info)\s*: (?P<words>[^\n]*)"
    )),
    ("nvcc", re.compile(r"^(?:nvcc|nvlink|collect2)(?::)? *(?P<level>error|fatal)\s*: (?P<words>[^\n]*)")),
    ("g++", re.compile(
        r"^(?P<file>[^\n:]+):(?P<line>\d+):\d+: (?P<level>fatal error|error|warning): (?P<words>[^\n]*)"
    )),
    ("ld", re.compile(r"^[^\n]*(?P<words>undefined reference to [^\n]*)")),
)  # fmt: skip
_ERRORS = ("catastrophic error", "fatal error", "fatal")
_ECHO = re.compile(r"Ptx assembly aborted due to errors|ld returned \d+ exit status")
"""What is said of any error, behind the words that tell why."""
_CARET = re.compile(r"^( *)\^\s*$")
_WORD = re.compile(r"[A-Za-z_]\w*|[0-9.]+|\S")
_MANGLED = re.compile(r"_Z\w+")
_WITH = re.compile(r"\s*\[with [^\]]*\]")
_QUALIFIER = re.compile(r"\b(?:\w+::)+|\(anonymous namespace\)::")
_NUMBER = re.compile(r"'\d+'|\b(?:0x[0-9a-fA-F]+|\d[\w.]*)\b")
"""One in quotes is a value of the program's that the message is about, and stays (`unexpected value '8'`)."""
_INSTANCE = re.compile(r"^\s*detected during")
_OPCODE = re.compile(r"^\s*(?:@!?%?\w+\s+)?([a-z][\w.]*)")
_ENTRY = re.compile(r"^[^\n]*\.(?:entry|func)\b[^\n]*?([\w$]+)\s*\(?\s*$")
_ENTRY_OF = re.compile(r"(?:Entry function|function) '(\w+)'")


@dataclass(frozen=True)
class NvccMessage:
    """One message. Equal are those that tell of the same fault."""

    who: str
    """`front end`, `cicc`, `ptxas`, `nvcc`, `g++`, `ld`."""
    level: str
    """`error`, `warning`, `info`."""
    words: str
    construct: str = ""
    """What it points at."""
    instance: bool = False
    """Whether it is told of the instance of a template."""

    def __str__(self) -> str:
        at = f" [at {self.construct}]" if self.construct else ""
        return f"{self.who} {self.level}: {self.words}{at}"


@dataclass(frozen=True)
class SaidMessage:
    """A message where it was said."""

    message: NvccMessage
    raw: str
    """With the lines that belong to it."""
    kernel: str = ""
    """The function of the device that it tells of, by its plain name; empty where it tells of none."""
    number: str = ""
    """Of a warning of the front end, `549`."""


def messages(said: str, name: str, ptx: str = "") -> list[SaidMessage]:
    """All that was said, in order. `name`: of the source; `ptx`: the text that ptxas got."""
    return list(_messages(said.splitlines(), name, ptx.splitlines()))


def loose(words: str) -> str:
    """Without what may change."""
    words = _MANGLED.sub(lambda found: plain_name(demangle(found.group().encode())), words)
    words = _WITH.sub("", words)
    while (shorter := re.sub(r"(?<=\w)<[^<>]*>", "", words)) != words:
        words = shorter
    words = _QUALIFIER.sub("", words)
    return _NUMBER.sub(lambda found: found[0] if found[0].startswith("'") else "N", words).strip()


def _messages(lines: Sequence[str], name: str, ptx: Sequence[str]) -> Iterator[SaidMessage]:
    found = [(at, *form) for at, line in enumerate(lines) if (form := _form(line)) is not None]
    ends = [*(at for at, _, _ in found[1:]), len(lines)]
    for (at, who, match), end in zip(found, ends):
        groups = match.groupdict()
        if _ECHO.search(groups["words"]):
            continue
        rest = lines[at + 1 : end]
        file = groups.get("file") or ""
        construct, kernel = "", ""
        if who == "ptxas":
            construct, kernel = _of_ptx(ptx, int(groups["line"] or 0))
            if told := _ENTRY_OF.search(groups["words"]):
                kernel = plain_name(demangle(told[1].encode()))
        elif file.rpartition("/")[2] == name:
            construct = _above_caret(rest)
        elif file:
            construct = f"{file.rpartition('/')[2]}:{groups['line']}"
        level = groups.get("level") or "error"
        yield SaidMessage(
            NvccMessage(
                who,
                "error" if level in _ERRORS else level,
                loose(groups["words"]),
                construct,
                any(map(_INSTANCE.match, rest)),
            ),
            "\n".join([lines[at], *rest]),
            kernel,
            groups.get("number") or "",
        )


def _form(line: str) -> tuple[str, re.Match[str]] | None:
    return next(((who, match) for who, form in _FORMS if (match := form.match(line))), None)


def _above_caret(rest: Sequence[str]) -> str:
    """The word that the caret is under."""
    for line, below in zip(rest, rest[1:]):
        if found := _CARET.match(below):
            at = len(found[1])
            word = next((each.group() for each in _WORD.finditer(line) if each.end() > at), "")
            return "N" if word[:1].isdigit() else word
    return ""


def _of_ptx(ptx: Sequence[str], line: int) -> tuple[str, str]:
    """The opcode on a line, and the function that it is in."""
    if not 0 < line <= len(ptx):
        return "", ""
    opcode = _OPCODE.match(ptx[line - 1])
    entry = next((found for each in ptx[line - 1 :: -1] if (found := _ENTRY.match(each))), None)
    return opcode[1] if opcode else "", plain_name(demangle(entry[1].encode())) if entry else ""
