"""From a captured launch to a script: imports, kernel, inputs by a simple recipe, launch, synchronise.

A kernel that was compiled and not launched becomes one `triton.compile`, or one `warmup`: what the compiler sees stays
as it was, and the script needs a GPU only where the program did.
"""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from collections.abc import Mapping, Sequence

from shrinkray_gpu.lift.inputs import Inputs, modules, more_behind, share_memory, tensors
from shrinkray_gpu.lift.values import ZEROS, Choice, Content, choices, itemsize, tuple_text
from shrinkray_gpu.runner.inside.capture.live_values import INSTALLED
from shrinkray_gpu.runner.inside.capture.schema import Argument, CompileSource, Definition, LaunchRecord

WIDTH = 110
ALLOCATOR = 'triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))\n'
DEFAULTS = {
    "num_warps": "4",
    "num_ctas": "1",
    "maxnreg": "None",
    "debug": "False",
    "launch_cooperative_grid": "False",
    "launch_pdl": "False",
    # What an autotuner's config of Triton 3.2 says, and no other release knows.
    "num_consumer_groups": "0",
    "num_buffers_warp_spec": "0",
    "reg_dec_producer": "0",
    "reg_inc_consumer": "0",
}
"""Launch options that say nothing on any GPU. Each backend has a `num_stages` of its own: a record leaves out its."""
LIBRARIES = INSTALLED | sys.stdlib_module_names
"""All that a lifted script may import: whoever is to debug the kernel has these, and no generator of kernels."""
_ORIGIN = re.compile(r"^[ \t]*# src\[[^\]\n]*\]:.*\n", re.MULTILINE)
"""Helion's comments on where a line comes from: a file that a lifted script knows nothing of."""


def lift(launch: LaunchRecord) -> str | None:
    """The simplest script, or None where the launch cannot be written down."""
    return next(iter(lifts(launch)), None)


def lifts(launch: LaunchRecord) -> tuple[str, ...]:
    """Few scripts of one launch, the likeliest and simplest first; none where it cannot be written down.

    First the ways to fill its tensors. Then, for the first of these, memory that other arguments shared taken apart,
    and memory that went on after a view: a script without the one may still fault, and one with less of the other
    may fault for a reason of its own, which the original's fault is compared with.
    """
    if obstacle(launch):
        return ()
    if "source" in launch:
        text = _compiled(launch, launch["source"])
        return (text,) if text is not None else ()
    if launch.get("how") == "warmup":
        # As a launch it compiles alike, and more can be seen of it.
        return tuple(text for text in (_emit(launch, _zeros, warmup=True), _emit(launch, _zeros)) if text is not None)
    every = [t for argument in launch["arguments"] for t in tensors(argument)]
    found = choices(every)
    texts = [_emit(launch, choice) for choice in found]
    if share_memory(every):
        texts.append(_emit(launch, found[0], apart=True))
    if any(map(more_behind, every)):
        texts.append(_emit(launch, found[0], whole=True))
    return tuple(dict.fromkeys(text for text in texts if text is not None))


def obstacle(launch: LaunchRecord) -> str:
    """Why no script can be made of this launch; empty if one can."""
    if launch["trouble"]:
        return str(launch["trouble"])
    if launch["grid"] is None:
        return "its grid is not known"
    for option in launch["options"]:
        if option["name"].startswith("_"):
            return (
                f"it is launched with {option['name']}, which a generator of kernels keeps for itself (work across "
                "GPUs, or state between launches) and Triton knows nothing of"
            )
        if _text(option) is None and option["name"] not in DEFAULTS:
            return f"its option {option['name']} cannot be written down"
    for argument in launch["arguments"]:
        if argument["kind"] == "unknown":
            return f"its argument {argument['name']} is {argument.get('text', 'of a kind that cannot be written down')}"
        if strange := sorted({module.partition(".")[0] for module in modules(argument)} - INSTALLED):
            return f"its argument {argument['name']} is of a type of {', '.join(strange)}, which a script cannot import"
    strange = sorted({name for d in launch["definitions"] for name in _imported(d["text"])} - LIBRARIES)
    if strange:
        return f"it needs {', '.join(strange)}, and a lifted script may import {', '.join(sorted(INSTALLED))} only"
    return ""


def _imported(text: str) -> list[str]:
    """The top-level packages that a definition imports."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found += [alias.name.partition(".")[0] for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.append(node.module.partition(".")[0])
    return found


def _emit(
    launch: LaunchRecord, choice: Choice, *, apart: bool = False, whole: bool = False, warmup: bool = False
) -> str | None:
    definitions = launch["definitions"]
    inputs = Inputs(choice, reserved_names(definitions), apart=apart, whole=whole)
    inputs.plan(launch["arguments"])
    types = _types(launch) if warmup else {}
    values = {a["name"]: types.get(a["name"]) or inputs.text(a) for a in launch["arguments"]}
    options = telling_options(launch)
    if None in values.values() or None in options.values():
        return None
    if warmup:
        return script(definitions, inputs.imports, "".join([*inputs.lines, call(launch, values, options, warmup=True)]))
    allocator = ALLOCATOR if launch["allocator"] else ""
    steps = [allocator, inputs.seed, *inputs.lines, call(launch, values, options), "torch.cuda.synchronize()\n"]
    return script(definitions, inputs.imports, "".join(steps))


def _zeros(tensor: Mapping[str, object]) -> Content:
    return ZEROS


def _types(launch: LaunchRecord) -> dict[str, str]:
    """The types of tensors that `warmup` takes in their place: those given by position, that begin where 16 divides."""
    found = {}
    for argument in launch["arguments"][: _leading(launch)]:
        if (
            argument["kind"] == "tensor"
            and not (argument["offset"] * itemsize(argument["dtype"]) + argument["residue"]) % 16
        ):
            found[argument["name"]] = f"torch.{argument['dtype']}"
    return found


def _compiled(launch: LaunchRecord, source: CompileSource) -> str | None:
    """`triton.compile(ASTSource(kernel, types, constants, attributes), target=..., options=...)`, or of a file."""
    given = ["None" if source[key] == "{}" else source[key] for key in ("constants", "attributes")]
    while given and given[-1] == "None":
        given.pop()
    given = [launch["kernel"], source["signature"], *given]
    imports = [f"from {source['home']} import {source['maker']}\n"] if not source["file"] else []
    words = []
    if source["target"]:
        imports.append("from triton.backends.compiler import GPUTarget\n")
        words.append(f"target={source['target']}")
    if source["options"] != "{}":
        words.append(f"options={source['options']}")
    made = source["file"] or f"{source['maker']}({', '.join(given)})"
    line = f"triton.compile({', '.join([made, *words])})\n"
    if len(line) > WIDTH and not source["file"]:
        line = f"source = {source['maker']}(\n{_filled(given)})\ntriton.compile({', '.join(['source', *words])})\n"
    return script(launch["definitions"], imports, line)


def reserved_names(definitions: Sequence[Definition]) -> set[str]:
    """Names that no tensor may have: those of the script, and what a kernel may look up, or a builtin that the script
    calls. A tensor named `max` is not what a kernel means by it."""
    own = {"torch", "triton", "tl", "TensorDescriptor", "Path", "float", "range"}
    return own | {name for d in definitions for name in (d["name"], *_read(d["text"]))}


def _read(text: str) -> set[str]:
    """The names that a definition reads, its parameters and variables aside."""
    names = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)]
    arguments = {node.arg for node in ast.walk(ast.parse(text)) if isinstance(node, ast.arg)}
    stored = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    return {node.id for node in names} - stored - arguments


def script(definitions: Sequence[Definition], more: Sequence[str], steps: str) -> str | None:
    """Imports (those of the definitions, and `more`), definitions, steps. None where that is no Python: no script is
    better than one that nobody can read."""
    constants = "".join(d["text"] for d in definitions if d["kind"] == "constant")
    functions = [_ORIGIN.sub("", d["text"]) for d in definitions if d["kind"] == "function"]
    code = "\n\n".join([*([constants] if constants else []), *functions, steps])
    text = f"{imports(code, definitions, more)}\n{'' if constants else chr(10)}{code}"
    try:
        ast.parse(text)
    except SyntaxError:
        return None
    return text


def telling_options(launch: LaunchRecord) -> dict[str, str | None]:
    """The launch options that say something."""
    return {o["name"]: text for o in launch["options"] if DEFAULTS.get(o["name"]) != (text := _text(o))}


def _text(option: Argument) -> str | None:
    text = option.get("text")
    return text if isinstance(text, str) and option["kind"] != "unknown" else None


def imports(code: str, definitions: Sequence[Definition], more: Sequence[str]) -> str:
    usual = {"torch": "import torch\n", "triton": "import triton\n", "tl": "import triton.language as tl\n"}
    lines = [line for name, line in usual.items() if re.search(rf"\b{name}\b", code)]
    own = [d["text"] for d in definitions if d["kind"] == "import"]
    every = dict.fromkeys([*lines, *own, *more])
    return "".join(sorted(every, key=lambda line: (line.startswith("from "), line)))


def _leading(launch: LaunchRecord) -> int:
    """How many arguments come before the first constexpr, or gap, where a default stands."""
    pairs = zip(launch["arguments"], _parameters(launch))
    return next(
        (at for at, (a, name) in enumerate(pairs) if a["constexpr"] or a["name"] != name), len(launch["arguments"])
    )


def call(
    launch: LaunchRecord,
    values: Mapping[str, str | None],
    options: Mapping[str, str | None],
    *,
    warmup: bool = False,
) -> str:
    """Leading arguments by position; the others by name."""
    leading = _leading(launch)
    names = [argument["name"] for argument in launch["arguments"]]
    words = [*(str(values[name]) for name in names[:leading]), *(f"{name}={values[name]}" for name in names[leading:])]
    words += [f"{name}={value}" for name, value in options.items()]
    grid = list(launch["grid"] or ())  # a launch without one is an obstacle
    while len(grid) > 1 and grid[-1] == 1:
        grid.pop()
    sizes = tuple_text(grid)
    head = f"{launch['kernel']}[{sizes}]"
    if warmup:
        head, words = f"{launch['kernel']}.warmup", [*words, f"grid={sizes}"]
    line = f"{head}({', '.join(words)})\n"
    if len(line) <= WIDTH:
        return line
    return f"{head}(\n{_filled(words)})\n"


def _filled(words: Sequence[str]) -> str:
    lines, line = [], ""
    for word in words:
        if line and len(line) + len(word) + 6 > WIDTH:
            lines.append(line)
            line = ""
        line += f"{' ' if line else ''}{word},"
    return textwrap.indent("\n".join([*lines, line]) + "\n", "    ")


def _parameters(launch: LaunchRecord) -> list[str]:
    """The kernel's parameters, in order."""
    source = next(d["text"] for d in launch["definitions"] if d["name"] == launch["kernel"])
    function = ast.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    return [a.arg for a in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
