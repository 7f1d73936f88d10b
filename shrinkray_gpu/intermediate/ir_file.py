"""A file that holds Triton's IR: is it one, where in it the module stands, and which passes its footer or `RUN:` asks
for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.intermediate.pass_table import PassCall, read_pipeline, read_run_line

SUFFIXES = (".ttir", ".ttgir", ".mlir")
LATER = (".llir", ".ll", ".amdgcn")
"""What a compiler makes behind the passes."""
_OTHERS = (".py", ".ipynb", ".pyi", ".ndjson", ".gz", ".json", ".cu", ".cpp", ".md", ".sh")
"""Never IR, whatever they quote."""
_FOOTER = re.compile(r"\{-#.*?mlir_reproducer.*?#-\}", re.S)
_PIPELINE = re.compile(r'pipeline:\s*"((?:[^"\\]|\\.)*)"')
_RUN = re.compile(r"^\s*//\s*RUN:\s*(.*)$", re.M)
_MODULE = re.compile(r'^\s*(?:module\b.*\{|"builtin\.module"\(.*)$', re.M)
_FUNCTION = re.compile(r'^\s*(?:tt\.func\b|"tt\.func"\()', re.M)
_ALIAS = re.compile(r"^[#!][\w$.-]+ = ")
_LOCATION = re.compile(r"^#loc\w* = loc\(")
_SPLIT = re.compile(r"^// -----[ \t]*$", re.M)
"""What `-split-input-file` takes a file apart at."""
_SNIFFED = 1 << 20
"""Characters in which a module or a footer must begin."""


@dataclass(frozen=True)
class IrFile:
    """A module and what the file says of it."""

    text: str
    passes: tuple[PassCall, ...]
    """Of a footer or a `RUN:` line; empty where the file has neither."""
    kind: str
    """The stage that made it: `ttgir` where tensors have layouts or the module says how many warps, else `ttir`."""


def holds_ir(path: Path) -> bool:
    """Whether a file is to be taken for IR: by its suffix, or by a module or a footer in it."""
    suffix = path.suffix.lower()
    if suffix in (*SUFFIXES, *LATER):
        return True
    if suffix in _OTHERS:
        return False
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read(_SNIFFED)
    except OSError:
        return False
    return last_module(text) >= 0


def last_module(text: str) -> int:
    """Where the last module of Triton's IR begins in a text; -1 where it holds none."""
    return max((each.start() for each in _MODULE.finditer(text)), default=-1) if _FUNCTION.search(text) else -1


def read_ir(path: Path, passes: tuple[PassCall, ...] = ()) -> IrFile:
    """The module in a file; `passes` stand for those that it names. Raises UsageError where the file cannot be read,
    holds no module, several tests, or only a part of a module, or where it names passes in more than one way."""
    return ir_in(read_text(path), path, passes)


def read_text(path: Path) -> str:
    """The text of a file of IR. Raises UsageError where it cannot be read, or holds what comes behind the passes."""
    if path.suffix.lower() in LATER:
        raise UsageError(f"{path} is what a compiler makes behind its passes; give the .ttir or .ttgir before it")
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is no text: its byte {error.start} is not UTF-8. Give MLIR as text") from error


def ir_in(whole: str, path: Path, passes: tuple[PassCall, ...] = ()) -> IrFile:
    """The module in the text of a file, which `path` names in messages. Raises UsageError as `read_ir` does."""
    footers = list(_FOOTER.finditer(whole))
    end = len(whole)
    if footers:
        end = footers[-1].start()
        if not passes and (pipeline := _PIPELINE.search(footers[-1][0])):
            passes = read_pipeline(pipeline[1])
    start = footers[-2].end() if len(footers) > 1 else 0
    tests = [part for part in _SPLIT.split(whole[start:end]) if _MODULE.search(part) or _FUNCTION.search(part)]
    if len(tests) > 1:
        raise UsageError(f"{path} holds {len(tests)} tests, with // ----- between them: split it, and give one of them")
    text = _module(whole[start:end], path)
    if not passes:
        passes = _of_run_lines(whole, path)
    layouts = re.search(r"#(?:ttg|triton_gpu|gluon)\.|\b(?:ttg|triton_gpu)\.num-warps|#blocked", text)
    return IrFile(text, passes, "ttgir" if layouts else "ttir")


def _of_run_lines(whole: str, path: Path) -> tuple[PassCall, ...]:
    """The passes that all its `RUN:` lines ask for. One that ends in a backslash goes on in the next one."""
    lines = "\n".join(_RUN.findall(whole)).replace("\\\n", " ").splitlines()
    asked = [command for line in lines for command in read_run_line(line)]
    if any(command != asked[0] for command in asked):
        raise UsageError(f"{path} has RUN: lines with different passes: name those to run with --pass, in order")
    return asked[0] if asked else ()


def _module(text: str, path: Path) -> str:
    """The last module in the text, with the aliases above and the locations below it."""
    starts = list(_MODULE.finditer(text))
    if not starts:
        if _FUNCTION.search(text):
            return text
        raise UsageError(f"{path} holds no module of Triton's IR: no line begins with module or tt.func")
    start = starts[-1].start() + len(starts[-1][0]) - len(starts[-1][0].lstrip())
    end = _end(text, start)
    if end is None:
        raise UsageError(f"{path} is cut short: its module has no end. Give the whole dump")
    above = text[:start].splitlines()
    aliases: list[str] = []
    while above and (_ALIAS.match(above[-1]) or not above[-1].strip()):
        aliases.insert(0, above.pop())
    below = [line for line in text[end:].splitlines() if _LOCATION.match(line)]
    rest = text[end:].split("\n", 1)[0]
    return "\n".join([*aliases, text[start:end] + rest, *below]) + "\n"


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|[{}]')


def _end(text: str, start: int) -> int | None:
    """Where the brackets of a module that begins at `start` are closed."""
    depth = 0
    if text.startswith('"', start):  # in the generic form the body is in parentheses, attributes come before or behind
        start = text.find("({", start)
    for token in _TOKEN.finditer(text, start):
        if token[0] in "{}":
            depth += 1 if token[0] == "{" else -1
            if not depth and not text[token.end() :].lstrip(" ").startswith("{"):  # attributes, then the body
                return token.end()
    return None
