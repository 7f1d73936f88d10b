"""A script whose extension launched a kernel becomes one that compiles this kernel alone and launches it itself.

`torch.cuda._compile_kernel` gives the text to NVRTC: a second, where an extension takes 20 to 60. Of the sources stays
what the kernel leads to, by name. What the binding computed is there as the launch had it: tensors and small integers
as arguments, all else (a float, whose width torch's own launcher decides by its release; a struct) set where the kernel
begins, so that the kernel's body stays as it is.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from shrinkray_gpu.lift.cuda.as_cu import NotPlain, callee, number, plain_source
from shrinkray_gpu.lift.cuda.struct_layout import initialiser
from shrinkray_gpu.lift.inputs import Inputs
from shrinkray_gpu.lift.values import choices, itemsize
from shrinkray_gpu.passes.cuda.cuda_layout import tidy
from shrinkray_gpu.reduction.native.literal import Literal
from shrinkray_gpu.reduction.native.native_tree import Node, parse
from shrinkray_gpu.runner.inside.cuda_cpp.host_code import plain_name
from shrinkray_gpu.source.cuda import Source, declarator_name, function_of, words

AGAIN = 8
"""Launches of a kernel whose fault hangs on what was there before it: shared memory keeps what a block left in it."""
WIDTH = 80
"""Characters of a list of parameters; a longer one has a line for each."""
FREE_SHARED = 48 << 10
"""Bytes a block may have without asking for more."""
_HOSTS = re.compile(
    r"^[ \t]*#\s*include\s*[<\"](?:[a-z_]+|(?:std\w+|math|float|limits|assert|string|inttypes|time)\.h"
    r"|cuda(?:_runtime(?:_api)?|_profiler_api)?\.h|device_launch_parameters\.h)[>\"][^\n]*\n?",
    re.MULTILINE,
)
"""Headers that NVRTC has none of, or that say what it knows already."""
_WHOLE = {
    "int8_t": "signed char", "uint8_t": "unsigned char", "int16_t": "short", "uint16_t": "unsigned short",
    "int32_t": "int", "uint32_t": "unsigned int", "int64_t": "long long", "uint64_t": "unsigned long long",
    "uintptr_t": "unsigned long long", "intptr_t": "long long", "uint": "unsigned int",
}  # fmt: skip
_NUMBERS = {
    "INFINITY": "__int_as_float(0x7f800000)", "NAN": "__int_as_float(0x7fffffff)", "FLT_MAX": "3.402823466e+38f",
    "FLT_MIN": "1.175494351e-38f", "FLT_EPSILON": "1.192092896e-7f", "INT_MAX": "2147483647",
    "UINT_MAX": "4294967295u", "M_PI": "3.14159265358979323846",
}  # fmt: skip
"""What the headers of the host say, for whoever has none."""
_BY_VALUE = frozenset(
    {"bool", "char", "signed char", "unsigned char", "short", "unsigned short", "int", "unsigned int"}
)
"""What a Python integer may be given for: torch passes four bytes."""
_NEEDS = (("cuda_fp16.h", r"\b(?:__)?half2?\b"), ("cuda_bf16.h", r"\b__nv_bfloat16"), ("mma.h", r"\bwmma::"))
_OPTIONS = re.compile(
    r"-D.|-U(?!__CUDA_NO_)|-std=|--std=|--?use_fast_math|--?(?:ftz|fmad|prec-div|prec-sqrt|maxrregcount)\b|-lineinfo"
    r"|--generate-line-info|-G\Z|-Xptxas=|--ptxas-options="
)
"""What nvcc was told and NVRTC may be told too."""

Call = Mapping[str, Any]


def script_texts(literals: Iterable[Literal], calls: Sequence[Call], flags: Sequence[str]) -> list[str]:
    """The scripts to try, the simplest first: each launch that differs from the one before once, then again and again.
    Raises NotPlain where none can be written."""
    sources = [Source(each) for each in literals]
    once, again, why = [], [], NotPlain("its host code launches no kernel")
    for call in distinct(calls):
        try:
            once.append(_script(sources, call, flags))
            again.append(_script(sources, call, flags, times=AGAIN))
        except NotPlain as reason:
            why = reason
    if not once:
        raise why
    return list(dict.fromkeys([*once, *again]))


def distinct(calls: Sequence[Call]) -> list[Call]:
    """Without those that were there before: of tensors that other ones replaced since only the address differs."""
    found: dict[str, Call] = {}
    for call in calls:
        told = re.sub(r"'(?:tensor|address|storage)': \d+", "", repr(call))
        found.setdefault(told, call)
    return list(found.values())


def _script(sources: Sequence[Source], call: Call, flags: Sequence[str], times: int = 1) -> str:
    name = plain_name(call["kernel"])
    text = "\n".join(filter(None, (plain_source(each, set(words(callee(call["kernel"])))) for each in sources)))
    inputs = _inputs(call)
    given: list[str] = []
    text = _flat(_alone(text, name, call, inputs, given))
    text = _includes(flags, text) + tidy(_HOSTS.sub("", text)).strip()
    if not re.search(rf"\b{name}\b", text) or '"""' in text:
        raise NotPlain(f"the source of its kernel {name} is not in the script, or needs torch")
    options = [flag for flag in _joined(flags) if _OPTIONS.match(flag)]
    said = f", nvcc_options={options!r}".replace("'", '"') if options else ""
    shared = call["shared"]
    more = f"kernel.set_shared_memory_config({shared})\n" if shared >= FREE_SHARED else ""
    sizes = f"({', '.join(map(str, call['grid']))}), ({', '.join(map(str, call['block']))})"
    asked = f", shared_mem={shared}" if shared else ""
    launch = f"kernel({sizes}, [{', '.join(given)}]{asked})\n"
    if times > 1:
        launch = f"for _ in range({times}):\n    {launch}"
    made = "".join([inputs.seed, *inputs.lines])
    return (
        f'import torch\n\nSOURCE = r"""\n{text}\n"""\n\n'
        f'kernel = torch.cuda._compile_kernel(SOURCE, "{name}"{said})\n{more}{made}{launch}torch.cuda.synchronize()\n'
    )


def _inputs(call: Call) -> Inputs:
    every = [about for argument in call["args"] for about in _tensors(argument)]
    choice = choices([about["seen"] for about in every])[0] if every else (lambda tensor: {"kind": "zeros"})
    inputs = Inputs(choice, {"torch", "kernel", "SOURCE", "range", *keyword.kwlist})
    inputs.plan([{"kind": "tensor", **about["seen"]} for about in every])
    return inputs


def _tensors(argument: Call) -> Iterator[Call]:
    if argument.get("tensor"):
        yield argument
    yield from argument.get("pointers", {}).values()


def _alone(text: str, name: str, call: Call, inputs: Inputs, given: list[str]) -> str:
    """The source with a kernel that is no template, and takes what Python can give it."""
    source = parse(text)
    found = [node for node in source.nodes("function_definition") if _is_kernel(source.text, node, name)]
    declarator = function_of(found[0]) if len(found) == 1 else None
    listed = declarator.child("parameters") if declarator is not None else None
    body = found[0].child("body") if found else None
    if listed is None or body is None:
        raise NotPlain(f"the source of its kernel {name} is not in the script, or needs torch")
    if len(listed.members) != len(call["args"]):
        raise NotPlain(f"kernel {name} takes {len(call['args'])} arguments, and its source names {len(listed.members)}")
    edits = [(found[0].first, found[0].first, "")]
    if (template := found[0].parent) is not None and template.kind == "template_declaration":
        header = _without_template(source.text, template, callee(call["kernel"]))
        edits = [(template.first, found[0].first, header)]
    parameters, begin = [], []
    taken = {text[node.first : node.last] for node in found[0].walk() if node.kind == "identifier"}
    for parameter, argument in zip(listed.members, call["args"]):
        declared = _declaration(text, parameter)
        if "tensor" in argument:
            if argument["tensor"]:
                parameters.append(declared)
                given.append(_place(argument, _word(text, parameter), inputs))
            else:
                begin.append(f"{declared} = nullptr;")
        elif argument["type"] in _BY_VALUE and argument["bytes"]:
            parameters.append(declared)
            given.append(str(_whole(argument)))
        elif "raw" in argument:
            made = initialiser(parse(text), argument, taken)
            for kind, wish, about in made.pointers:
                parameters.append(kind)
                given.append(_place(about, wish, inputs))
            begin.append(f"{declared} = {made.text};")
        else:
            begin.append(f"{declared} = {number(argument, call)};")
    listing = ", ".join(parameters)
    if len(listing) > WIDTH:
        listing = "\n    " + ",\n    ".join(parameters)
    edits.append((listed.first, listed.last, f"({listing})"))
    edits.append((body.first + 1, body.first + 1, "".join(f"\n  {line}" for line in begin)))
    for first, last, new in sorted(edits, reverse=True):
        text = text[:first] + new + text[last:]
    return text


def _is_kernel(text: str, node: Node, name: str) -> bool:
    own = declarator_name(function_of(node))
    if own is None or text[own.first : own.last] != name or node.child("body") is None:
        return False
    return "__global__" in text[node.first : own.first]


def _without_template(text: str, template: Node, called: str) -> str:
    """What the parameters of a template stand for, said before its one instance."""
    listed = template.child("parameters")
    head, found, rest = called.partition("<")
    values = list(_split(rest.rstrip().removesuffix(">"))) if found else []
    lines = []
    for at, parameter in enumerate(listed.members if listed is not None else ()):
        own = declarator_name(parameter) if parameter.kind == "parameter_declaration" else None
        if parameter.kind in ("optional_parameter_declaration", "optional_type_parameter_declaration"):
            own = parameter.child("declarator") or parameter.child("name")
        if parameter.kind == "type_parameter_declaration":
            own = next((each for each in parameter.members if each.kind == "type_identifier"), None)
        if own is None or at >= len(values):
            raise NotPlain(f"its kernel {head} is a template of a kind that is not known here")
        if "type_parameter" in parameter.kind:
            lines.append(f"using {text[own.first : own.last]} = {values[at]};\n")
        else:
            kind = parameter.child("type")
            typed = text[kind.first : kind.last] if kind is not None else "auto"
            lines.append(f"constexpr {typed} {text[own.first : own.last]} = {values[at]};\n")
    return "".join(lines)


def _split(listed: str) -> Iterator[str]:
    """`A<1, 2>` and `3` of `A<1, 2>, 3`."""
    depth, last = 0, 0
    for at, letter in enumerate(listed):
        depth += (letter in "(<[") - (letter in ")>]")
        if letter == "," and depth == 0:
            yield listed[last:at].strip()
            last = at + 1
    if rest := listed[last:].strip():
        yield rest


def _declaration(text: str, parameter: Node) -> str:
    return re.sub(r"\s*\b__grid_constant__\b", "", text[parameter.first : parameter.last])


def _word(text: str, parameter: Node) -> str:
    own = declarator_name(parameter.child("declarator"))
    return text[own.first : own.last] if own is not None else "x"


def _place(argument: Call, wish: str, inputs: Inputs) -> str:
    """A tensor whose first byte is what the kernel was given, in Python."""
    seen, into = argument["seen"], argument["into"]
    name = inputs.text({"kind": "tensor", "name": wish, **seen})
    if name is None:
        raise NotPlain("one of its tensors cannot be written down")
    if not into:
        return name
    size = itemsize(seen["dtype"])
    return f"{name}.flatten()[{into // size}:]" if into % size == 0 else f"{name}.view(torch.uint8).flatten()[{into}:]"


def _whole(argument: Call) -> int:
    unsigned = argument["type"].startswith("unsigned") or argument["type"] == "bool"
    return int.from_bytes(bytes.fromhex(argument["bytes"]), "little", signed=not unsigned)


def _flat(text: str) -> str:
    """Without the namespaces that it opens itself: Python then names the kernel by one word."""
    edits: list[tuple[int, int]] = []
    names = set()
    for node in parse(text).nodes("namespace_definition"):
        body, own = node.child("body"), node.child("name")
        if body is None or (own is not None and own.kind != "namespace_identifier"):
            continue
        if own is not None:
            names.add(text[own.first : own.last])
        edits += [(node.first, body.first + 1), (body.last - 1, body.last)]
    for first, last in sorted(edits, reverse=True):
        text = text[:first] + text[last:]
    for name in names:
        text = re.sub(rf"\busing\s+namespace\s+{name}\s*;", "", text)
        text = re.sub(rf"(?<![\w:])(?:::)?{name}::", "", text)
    text = re.sub(r"\(anonymous namespace\)::", "", text)
    spoken = {**_WHOLE, **_NUMBERS}
    return re.sub(rf"\b(?:std::)?({'|'.join(spoken)})\b", lambda found: spoken[found[1]], text)


def _includes(flags: Sequence[str], text: str) -> str:
    """What must be said first: torch's launcher forbids what an extension may undo by a flag."""
    undone = [f"#undef {flag[2:]}\n" for flag in flags if flag.startswith("-U__CUDA_NO_")]
    for header, word in _NEEDS:
        if re.search(word, text) and header not in text:
            undone.append(f"#include <{header}>\n")
    return "".join(undone)


def _joined(flags: Sequence[str]) -> Iterator[str]:
    """`-Xptxas -O1` is one flag to NVRTC, and what only tells statistics is none."""
    waiting = ""
    for flag in flags:
        if waiting:
            if flag not in ("-v", "--verbose"):
                yield f"{waiting}={flag}"
            waiting = ""
        elif flag in ("-Xptxas", "--ptxas-options"):
            waiting = flag
        else:
            yield flag
