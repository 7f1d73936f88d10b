"""Attributes replaced for a while, and put back in reverse order."""

from __future__ import annotations

import functools
import sys
from typing import Any, Callable, List, Tuple

from . import import_hook

_ABSENT = object()
_CALL = object()


class Patches:
    def __init__(self) -> None:
        self.over = False
        """Whether all was put back."""
        self._undo: List[Tuple[Any, str, Any]] = []

    def set(self, owner: Any, name: str, value: Any) -> None:
        """Replace an attribute that may or may not be there."""
        before = vars(owner).get(name, _ABSENT) if isinstance(owner, type) else getattr(owner, name, _ABSENT)
        self._undo.append((owner, name, before))
        setattr(owner, name, value)

    def wrap(self, owner: Any, name: str, make: Callable[[Any], Callable[..., Any]]) -> None:
        """Replace a function by what `make` makes of it, under the same name and documentation."""
        original = getattr(owner, name)
        self.set(owner, name, functools.wraps(original)(make(original)))

    def answer(self, owner: Any, name: str, call: Callable[..., Any]) -> None:
        """Replace a function by one of the same name: torch and dynamo look functions up by it."""

        def function(*args: Any, **kwargs: Any) -> Any:
            return call(*args, **kwargs)

        function.__name__ = function.__qualname__ = name
        function.__module__ = getattr(owner, "__name__", "torch")
        self.set(owner, name, function)

    def on_import(self, name: str, change: Callable[[Any], None]) -> None:
        """Have the module changed once the script has imported it, unless all is put back by then."""
        import_hook.when_imported(name, lambda: None if self.over else change(sys.modules[name]))

    def on_undo(self, call: Callable[[], Any]) -> None:
        """Something else to do at the end."""
        self._undo.append((call, "", _CALL))

    def undo(self) -> None:
        self.over = True
        while self._undo:
            owner, name, before = self._undo.pop()
            if before is _CALL:
                owner()
            elif before is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, before)
