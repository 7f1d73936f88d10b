"""What the `libtriton` of this interpreter has: its context, and the passes that it can run, by their names in MLIR.

No list of passes is kept here. Each `add_...` is put into a pass manager, which then says what the pass is called. An
argument's option is found by changing the argument: the option that changes with it is its own.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from typing import Any, Optional

from . import module_text

ANY = re.compile(r"^any\((.*)\)$", re.S)
_NESTED = re.compile(r"^([\w.]+)\((.*)\)$", re.S)
_PASS = re.compile(r"^([\w.-]+)(?:\{(.*)\})?$", re.S)
_PIPELINE = re.compile(r'pipeline: "((?:[^"\\]|\\.)*)"')
_ARGUMENT = re.compile(r"arg\d+: ([^,)]+)")
_FIRST: dict[str, Any] = {"str": "cuda:90", "bool": False, "int": 4}
_SECOND: dict[str, Any] = {"str": "cuda:80", "bool": True, "int": 8}


def libtriton() -> Any:
    """The compiled module of Triton. Raises ImportError."""
    from triton._C import libtriton as found

    return found


def context() -> Any:
    """A context that knows the dialects of Triton and of all its vendors."""
    lib = libtriton()
    made = lib.ir.context()
    lib.ir.load_dialects(made)
    for vendor in vendors(lib):
        getattr(lib, vendor).load_dialects(made)
    return made


def vendors(lib: Any) -> list[str]:
    return [name for name in dir(lib) if hasattr(getattr(lib, name), "load_dialects") and name != "ir"]


def adders(lib: Any) -> Iterator[tuple[str, str]]:
    """Each function that adds a pass, as the dotted name of its module below libtriton and its own."""
    roots = ["passes", *(f"{vendor}.passes" for vendor in vendors(lib) if hasattr(getattr(lib, vendor), "passes"))]
    for root in roots:
        for name in _public(_below(lib, root)):
            place = f"{root}.{name}"
            for function in _public(_below(lib, place)):
                if callable(getattr(_below(lib, place), function)) and function != "print_ir":
                    yield place, function


def adder(lib: Any, place: str, function: str) -> Any:
    return getattr(_below(lib, place), function)


def described(lib: Any, ctx: Any, place: str, function: str) -> Optional[dict[str, Any]]:
    """What the pass that it adds is called, and what each argument sets; None if it adds no pass that can be named."""
    add = adder(lib, place, function)
    said = (add.__doc__ or "").split("\n", 1)[0]
    kinds = [_kind(word) for word in _ARGUMENT.findall(said)[1:]]
    first = [_FIRST[kind] for kind in kinds]
    try:
        found = _added(lib, ctx, add, first)
        if found is None:
            return None
        name, nested, options = found
        parameters = []
        for at, kind in enumerate(kinds):
            other = _added(lib, ctx, add, [*first[:at], _SECOND[kind], *first[at + 1 :]])
            after = other[2] if other else {}
            changed = [option for option, value in after.items() if options.get(option) != value]
            parameters.append({"kind": kind, "option": changed[0] if changed else ""})
    except (TypeError, RuntimeError):  # a function that takes something else
        return None
    return {"name": name, "nested": nested, "place": place, "function": function, "parameters": parameters}


def _added(lib: Any, ctx: Any, add: Any, arguments: list[Any]) -> Optional[tuple[str, str, dict[str, str]]]:
    manager = lib.ir.pass_manager(ctx)
    add(manager, *arguments)
    told = manager.get_pipeline_str() if hasattr(manager, "get_pipeline_str") else _reproduced(lib, ctx, manager)
    return one_pass(told)


def _reproduced(lib: Any, ctx: Any, manager: Any) -> str:
    """What releases before 3.3 say of a manager: the pipeline of the reproducer that they write before they run it. An
    empty module is run, in a process of its own, since some passes crash on it."""
    with tempfile.TemporaryDirectory() as folder:
        written = os.path.join(folder, "reproducer.mlir")
        pid = os.fork()
        if not pid:
            try:
                os.environ["TRITON_REPRODUCER_PATH"] = written
                manager.run(module_text.parsed(lib, ctx, "module {}", folder))
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
        try:
            with open(written, encoding="utf-8") as file:
                return pipeline_in(file.read())
        except OSError:
            return ""


def pipeline_in(reproducer: str) -> str:
    """The pipeline that a reproducer names; empty where it names none. Its anchor is the module, or anything."""
    found = _PIPELINE.search(reproducer)
    return found[1].replace('\\"', '"') if found else ""


def one_pass(text: str) -> Optional[tuple[str, str, dict[str, str]]]:
    """A pipeline of one pass as its name, the operation that it runs on within the module, and its options."""
    whole = ANY.match(text)
    inner, nested = (whole[1] if whole else text), ""
    while (deeper := _NESTED.match(inner)) and "{" not in deeper[1]:
        nested, inner = deeper[1], deeper[2]
    found = _PASS.match(inner)
    if found is None:
        return None
    options = dict(word.partition("=")[::2] for word in (found[2] or "").split())
    return found[1], nested, options


def _kind(word: str) -> str:
    return "str" if word.startswith("str") else "bool" if word.startswith("bool") else "int"


def _public(thing: Any) -> list[str]:
    return [name for name in dir(thing) if not name.startswith("_")]


def _below(lib: Any, dotted: str) -> Any:
    for name in dotted.split("."):
        lib = getattr(lib, name)
    return lib
