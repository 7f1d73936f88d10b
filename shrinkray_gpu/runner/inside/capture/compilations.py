"""Kernels that a script compiles and does not launch: `triton.compile(ASTSource(...), target=..., options=...)`.

All that the compiler is given is written down as it is given: types, constants, what is divisible by 16, target. The
compilation for a launch is none of these, nor is Inductor's: those are on record by their launches. `kernel.warmup` is
on record as a call, unless the script answers for the GPU itself: then the target is its own, and is written down.

Of `triton.compile("kernel.ttgir", ...)` the file is copied: the script may have written it, and may take it away.
"""

from __future__ import annotations

import hashlib
import os
import sys
from typing import Any, Callable, Dict

from ..process.trouble import note_trouble
from .contents import beside
from .specialisation import divisible_of

Record = Dict[str, Any]

HOW = "compile"
ONLY_COMPILED = frozenset({HOW, "warmup"})
"""Doors by which nothing is launched."""
_MODULES = ("triton.compiler.compiler", "triton.compiler", "triton")
_OWN = __name__.partition(".capture")[0]


def install(capture: Any) -> None:
    def wrap(_: Any) -> None:
        for path in _MODULES:
            capture.patches.wrap(sys.modules[path], "compile", lambda original: _watched(capture, original))

    capture.patches.on_import("triton", wrap)


def script_is_driver() -> bool:
    """Whether the driver at work is one of the script's own, which names a target whatever the machine has."""
    from triton.runtime import driver

    try:
        home = type(driver.active).__module__
    except RuntimeError:  # there is none
        return False
    return not home.startswith(("triton.", _OWN))


def _watched(capture: Any, original: Callable[..., Any]) -> Callable[..., Any]:
    def compile(src: Any, target: Any = None, options: Any = None, *args: Any, **kwargs: Any) -> Any:
        go = lambda: original(src, target, options, *args, **kwargs)  # noqa: E731
        fn = IRFile(src) if isinstance(src, str) else getattr(src, "fn", None)
        if not capture.at_work or capture.busy or fn is None:
            return go()
        record = capture.record(fn, HOW)
        record.update(grid=[1], arguments=[], options=[])
        with note_trouble(record):
            told = _of_file(fn, beside(capture.box.folder)) if isinstance(fn, IRFile) else _of_source(src)
            record["source"] = {**told, **_asked(target, options)}
        return capture.compile(record, go)

    return compile


class IRFile:
    """In a kernel's place, a file with its IR."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.__name__ = os.path.basename(path)


def _of_file(file: IRFile, folder: str) -> Record:
    with open(file.path, "rb") as f:
        data = f.read()
    os.makedirs(folder, exist_ok=True)
    stem, suffix = os.path.splitext(file.__name__)
    copy = os.path.join(folder, "%s_%s%s" % (stem, hashlib.sha256(data).hexdigest()[:12], suffix))
    with open(copy, "wb") as f:
        f.write(data)
    return {"maker": IRFile, "file": copy}


def _of_source(src: Any) -> Record:
    names = list(src.fn.arg_names)
    attributes = getattr(src, "attrs", None) or {}
    if not isinstance(attributes, dict):  # an AttrsDescriptor, up to Triton 3.2
        if divisible_of(src.fn, {"signature": src.signature, "configs": [attributes]}):
            raise TypeError("what is divisible by 16 is told by an %s" % type(attributes).__name__)
        attributes = {}
    return {
        "maker": type(src),
        "file": "",
        "signature": {_by_name(key, names): kind for key, kind in src.signature.items()},
        "constants": {_by_name(key, names): value for key, value in src.constants.items()},
        "attributes": {key: value for key, value in attributes.items() if value},
    }


def _asked(target: Any, options: Any) -> Record:
    """The target is left out where it is that of the machine."""
    from triton.runtime import driver

    named = target is not None or script_is_driver()
    target = target if target is not None else driver.active.get_current_target()
    return {
        "options": _telling(dict(options or {}), target),
        "target": [target.backend, target.arch, target.warp_size] if named else [],
    }


def _by_name(key: Any, names: Any) -> Any:
    """A parameter's name for its position; the path of an item in a tuple stays."""
    if isinstance(key, tuple) and len(key) == 1:
        key = key[0]
    return names[key] if isinstance(key, int) else key


def _telling(options: Record, target: Any) -> Record:
    """The options that are not as by default: a caller may give all of them."""
    from triton.compiler.compiler import make_backend

    usual = vars(make_backend(target).parse_options({}))
    return {name: value for name, value in options.items() if not (name in usual and usual[name] == value)}


def in_words(sources: Any, source: Record) -> Dict[str, str]:
    """The record's `source` in the words of `schema.CompileSource`."""
    maker = source["maker"]
    home = "triton.compiler" if maker.__module__ == "triton.compiler.compiler" else maker.__module__
    tables = ("signature", "constants", "attributes", "options")
    texts = {name: _dict(sources, source.get(name, {})) for name in tables}
    target = "GPUTarget(%s)" % ", ".join(_text(sources, each) for each in source["target"]) if source["target"] else ""
    if source["file"]:
        return {"file": _text(sources, source["file"]), "home": "", "maker": "", "target": target, **texts}
    return {"file": "", "home": home, "maker": maker.__name__, "target": target, **texts}


def _dict(sources: Any, values: Record) -> str:
    return "{%s}" % ", ".join("%s: %s" % (_text(sources, key), _text(sources, value)) for key, value in values.items())


def _text(sources: Any, value: Any) -> str:
    """The literal, with double quotes around plain words: that is how such tables are written."""
    text: str = sources.literal(value)
    return '"%s"' % value if isinstance(value, str) and text == "'%s'" % value else text
