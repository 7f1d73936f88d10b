"""Runs one script as `python FILE ARGS...` would: a real `__main__`, its own argv, its source for inspect."""

from __future__ import annotations

import atexit
import builtins
import contextlib
import linecache
import os
import sys
import threading
import traceback
import types
from typing import Any, Callable

from . import own_bug
from .patches import Patches

BUILTINS = dict(vars(builtins))
_patches = Patches()
"""Of `multiprocessing.spawn`, while one candidate runs."""


def nothing() -> None:
    pass


def perform(
    source: str, path: str, argv: list[str], *, asserts: bool = True, at_end: Callable[[], None] = nothing
) -> tuple[int, dict[str, Any] | None, str]:
    """Execute `source` as the script at `path`. Returns the exit status, the uncaught exception as a Failure dict, and
    why that is a bug of ours; empty where it is the script's own.

    The text need not be the file's: Triton and inspect read it from linecache, where an entry without a time stamp is
    never checked against the disk. `asserts=False` lets every assert hold, for runs whose values are not real. `at_end`
    is called where no exception ends it, and may raise one.
    """
    linecache.cache[path] = (len(source), None, source.splitlines(True), path)
    main = types.ModuleType("__main__")
    main.__file__ = path
    main.__dict__["__builtins__"] = __builtins__
    main.__dict__["__annotations__"] = {}
    sys.modules["__main__"] = main
    sys.argv = [path, *argv]
    folder = os.path.dirname(path)
    if not sys.path or sys.path[0] != folder:
        sys.path.insert(0, folder)
    status, failure, bug = 0, None, ""
    _patches.undo()  # the text of the candidate before this one is gone, with its temporary folder
    if "multiprocessing" in source:
        _give_to_children(source, path)
    if not asserts:
        from .asserts import compile_without_asserts, ignore_asserts  # which take 3 ms
    try:
        whole = asserts or "assert" not in source
        code = compile(source, path, "exec", dont_inherit=True) if whole else compile_without_asserts(source, path)
        with contextlib.nullcontext() if asserts else ignore_asserts():
            try:
                exec(code, main.__dict__)
            except SystemExit as stop:
                status = _status(stop.code)
            finally:
                builtins.__dict__.update(BUILTINS)  # a candidate that replaced `len` must not garble our report
        at_end()
    except BaseException as error:
        status, failure, bug = 1, _failure(error, path), own_bug.words(error)
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    try:
        atexit._run_exitfuncs()
    except BaseException as error:
        _say("".join(traceback.format_exception(type(error), error, error.__traceback__)))
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not getattr(stream, "closed", False):
                stream.flush()
        except Exception:
            status = 120  # as Python ends then
    return status, failure, bug


def _give_to_children(source: str, path: str) -> None:
    """A spawned child imports the main module from its file: let that be the candidate's text, not the original's."""
    import multiprocessing.spawn as spawn
    import tempfile

    file = os.path.join(tempfile.mkdtemp(), os.path.basename(path))
    with open(file, "w", encoding="utf-8") as f:
        f.write(source)

    def prepare(original: Any) -> Any:
        def get_preparation_data(name: str) -> "dict[str, Any]":
            data: "dict[str, Any]" = original(name)
            if data.get("init_main_from_path") == path:
                data["init_main_from_path"] = file
            return data

        return get_preparation_data

    _patches.wrap(spawn, "get_preparation_data", prepare)


def _status(code: object) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    _say(f"{code}\n")
    return 1


NAME = 400
"""Characters of a class's name that are told."""


def _say(text: str) -> None:
    """On stderr, which the script may have closed or replaced: then nobody hears it, as with Python's own words."""
    with contextlib.suppress(Exception):
        sys.stderr.write(text)


def _failure(error: BaseException, path: str) -> dict[str, Any]:
    """Describe and print the exception without the frames of the worker itself."""
    frame = error.__traceback__
    while frame is not None and frame.tb_frame.f_code.co_filename != path:
        frame = frame.tb_next
    error = error.with_traceback(frame or error.__traceback__)
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    _say(text)
    lines = [entry.lineno for entry in traceback.extract_tb(error.__traceback__) if entry.filename == path]
    return {
        "type": _name(type(error)),
        "text": _text(error),
        "bases": [_name(base) for base in type(error).__mro__[1:] if base is not object],
        "line": lines[-1] if lines else None,
        "traceback": text[-8000:],
    }


def _text(error: BaseException) -> str:
    try:
        return str(error)[:8000]
    except Exception:  # an exception whose __str__ fails still is the one we saw
        return ""


def _name(kind: type) -> str:
    plain = kind.__module__ in ("builtins", "__main__")
    name = kind.__qualname__ if plain else f"{kind.__module__}.{kind.__qualname__}"
    return name[:NAME]
