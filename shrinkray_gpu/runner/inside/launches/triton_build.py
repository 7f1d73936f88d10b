"""The name of Triton's build, by which it finds kernels on disk: it reads hundreds of MB for that, 0.35 s in each
process. The first process of a reduction leaves it in the scratch folder for the others.

The file is found by the size and the time of each file of the installation, so that another build has another one.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from typing import Any, Callable, Iterator

from ..process import import_hook

_MODULES = ("triton.runtime.cache", "triton.compiler.compiler")
"""Where it is computed: the latter before Triton 3.5."""


def share(folder: str) -> None:
    """From its import on, Triton takes the name from a file of this folder, or leaves it there."""
    for name in _MODULES:
        import_hook.when_imported(name, functools.partial(_wrap, name, folder))


def _wrap(name: str, folder: str) -> None:
    module: Any = sys.modules[name]
    original: Any = getattr(module, "triton_key", None)
    if getattr(original, "__module__", "") == name and hasattr(original, "cache_info"):
        module.triton_key = functools.lru_cache()(functools.partial(_known, original, folder))


def _known(compute: Callable[[], str], folder: str) -> str:
    package = os.path.dirname(os.path.abspath(str(sys.modules["triton"].__file__)))
    table = "\n".join(sorted(_files(package)))
    file = os.path.join(folder, "triton-" + hashlib.sha256(table.encode()).hexdigest())
    try:
        with open(file, encoding="utf-8") as known:
            return known.read()
    except OSError:
        key = compute()
    try:
        with open("%s.%d" % (file, os.getpid()), "x", encoding="utf-8") as made:
            made.write(key)
        os.replace(made.name, file)
    except OSError:  # each process computes it then
        pass
    return key


def _files(folder: str) -> Iterator[str]:
    for entry in os.scandir(folder):
        if entry.is_dir():
            yield from _files(entry.path)
        elif entry.name.endswith((".py", ".so")):
            about = entry.stat()
            yield "%s %d %d" % (entry.path, about.st_size, about.st_mtime_ns)
