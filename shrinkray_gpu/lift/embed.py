"""Sources in files of their own become part of the script: `load(sources=["k.cu"])` is written as `load_inline(...)`.

Then they are reduced with it, and the repro is one file. Quoted includes of files beside a source are put in their
place: once in all that nvcc compiles, once in all that the host's compiler does, and once at all where the script would
come to more than all files together. A call whose sources are not plainly there (a computed list, a file that is
missing) stays as it is.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

import libcst as cst

from shrinkray_gpu.reduction.edit import Change, Edit, Replace
from shrinkray_gpu.reduction.native.code import amount
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.rendering.render import render
from shrinkray_gpu.source.tree import dotted_text

MODULE = "torch.utils.cpp_extension"
CALL = 4
"""Tokens that a source in the call takes more than a file's name."""
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"[^\n]*$', re.MULTILINE)


@dataclass(frozen=True)
class EmbeddedProgram:
    """The script with its sources in it, and the files that they were in."""

    program: Program
    files: tuple[Path, ...] = ()


def embed(program: Program, path: Path, cwd: Path) -> EmbeddedProgram:
    """The program with the sources that it loads in it; the same program where there are none."""
    if MODULE not in program.text or "load" not in program.text:
        return EmbeddedProgram(program)
    found = _embedded(program, path, cwd, once=False)
    return _embedded(program, path, cwd, once=True) if _grows(program, found) else found


def _grows(program: Program, found: EmbeddedProgram) -> bool:
    """Whether the script has come to more than all files together, but for the words of the calls."""
    files = sum(amount(each.read_text(encoding="utf-8", errors="replace")).tokens for each in found.files)
    return found.program.size.tokens > program.size.tokens + files + CALL * len(found.files)


def _embedded(program: Program, path: Path, cwd: Path, *, once: bool) -> EmbeddedProgram:
    changes: list[Change] = []
    files: list[Path] = []
    for node in program.layout.outer:
        if isinstance(node, cst.Call) and _is_load(node.func):
            found = _written(program, node, path.parent, cwd, once=once)
            if found is not None:
                text, used = found
                changes.append(Replace(node, (text,)))
                files += used
        elif isinstance(node, cst.ImportFrom) and dotted_text(node.module) == MODULE:
            for alias in node.names if not isinstance(node.names, cst.ImportStar) else ():
                if alias.evaluated_name == "load" and alias.asname is None:
                    changes.append(Replace(alias.name, ("load_inline",)))
    if not files:
        return EmbeddedProgram(program)
    return EmbeddedProgram(render(program, [Edit("embed sources", tuple(changes))]), tuple(dict.fromkeys(files)))


def _is_load(func: cst.BaseExpression) -> bool:
    return dotted_text(func) in ("load", "cpp_extension.load", f"{MODULE}.load")


def _written(program: Program, call: cst.Call, folder: Path, cwd: Path, *, once: bool) -> tuple[str, list[Path]] | None:
    """The call as `load_inline`, and the files that went into it. `once`: no header twice, be it that both compilers
    read it."""
    parts: list[str] = []
    sources: list[Path] | None = None
    for index, arg in enumerate(call.args):
        keyword = arg.keyword.value if arg.keyword else ("name", "sources")[index] if index < 2 else ""
        first, last = program.layout.outer[arg.value]
        if not keyword or arg.star:
            return None
        if keyword == "sources":
            sources = _files(arg.value, folder, cwd)
        else:
            parts.append(f"{keyword}={program.text[first:last]}")
    if not sources:
        return None
    used: list[Path] = []
    of_nvcc = used if once else []
    texts = {source: with_includes(source, of_nvcc if source.suffix == ".cu" else used) for source in sources}
    cuda = [_literal(text) for source, text in texts.items() if source.suffix == ".cu"]
    cpp = [_literal(text) for source, text in texts.items() if source.suffix != ".cu"]
    if not cuda or None in (*cuda, *cpp):
        return None
    listed = [f"cpp_sources=[{', '.join(map(str, cpp))}]", f"cuda_sources=[{', '.join(map(str, cuda))}]"]
    name = dotted_text(call.func)
    return f"{name}_inline({', '.join([*parts[:1], *listed, *parts[1:]])})", [*dict.fromkeys([*of_nvcc, *used])]


def _files(node: cst.BaseExpression, folder: Path, cwd: Path) -> list[Path] | None:
    """`["a.cu", os.path.join(here, "b.cpp")]`: by their names, below the working folder or beside the script."""
    if not isinstance(node, cst.List | cst.Tuple):
        return None
    out: list[Path] = []
    for element in node.elements:
        named = [each for each in _strings(element.value) if Path(each).suffix in (".cu", ".cpp", ".cc", ".cxx")]
        places = [place / named[-1] for place in (cwd, folder)] if named else []
        found = next((place for place in places if place.is_file()), None)
        if found is None:
            return None
        out.append(found)
    return out


def _strings(node: cst.BaseExpression) -> list[str]:
    if isinstance(node, cst.SimpleString):
        return [str(ast.literal_eval(node.value))]
    if isinstance(node, cst.Call):
        return [text for arg in node.args for text in _strings(arg.value)] + _strings(node.func)
    if isinstance(node, cst.BinaryOperation):
        return _strings(node.left) + _strings(node.right)
    return []


def with_includes(path: Path, used: list[Path]) -> str:
    """The text, each file beside it that it includes in its place, once."""
    used.append(path)

    def included(found: re.Match[str]) -> str:
        inner = path.parent / found[1]
        if not inner.is_file():
            return found.group()
        return "" if inner in used else with_includes(inner, used)

    text = path.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n")
    return _INCLUDE.sub(included, re.sub(r"^[ \t]*#[ \t]*pragma[ \t]+once[^\n]*\n", "", text, flags=re.MULTILINE))


def _literal(text: str) -> str | None:
    for quote in ('"""', "'''"):
        if quote not in text and not text.rstrip().endswith(("\\", quote[0])):
            return f"r{quote}\n{text.strip()}{quote}"
    return None
