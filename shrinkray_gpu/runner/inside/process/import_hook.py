"""Does something to a module as soon as the script has imported it; nothing is imported before its time.

Importing Triton ahead of a script is not innocent: the script may first set the environment that Triton reads, or the
path that it is found on.
"""

from __future__ import annotations

import importlib.util
import sys
import threading
from typing import Any, Callable, Dict, List, Optional, Sequence

_awaited: Dict[str, List[Callable[[], None]]] = {}
_asking = threading.local()


def when_imported(name: str, call: Callable[[], None]) -> None:
    """Call at once if the module `name` is there already, else once its import is complete, in order."""
    if name in sys.modules:
        call()
        return
    _awaited.setdefault(name, []).append(call)
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder:
    """Finds nothing itself: takes what the others find, and has its loader tell when it is done."""

    def find_spec(self, name: str, path: Optional[Sequence[str]] = None, target: Any = None) -> Any:
        if name not in _awaited or getattr(_asking, "now", False):
            return None
        _asking.now = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            _asking.now = False
        if spec is None or spec.loader is None or not hasattr(spec.loader, "exec_module"):
            return None
        loader: Any = spec.loader
        execute = loader.exec_module

        def exec_module(module: Any) -> None:
            execute(module)
            for call in _awaited.pop(name, ()):
                call()

        loader.exec_module = exec_module  # on this one loader object, which is made for each import
        return spec
