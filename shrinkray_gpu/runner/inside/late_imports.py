"""What torch imports by itself at some operations, up to two seconds each, and most scripts never need.

The first lane in which that happens tells its fork server, through a byte that both see. The server then imports it
for all later lanes.
"""

from __future__ import annotations

import importlib
import mmap
import sys
from typing import List

from .process import import_hook

SYMBOLS = "torch.fx.experimental.symbolic_shapes"
"""With sympy, for a backward pass from a gradient that is given."""
DYNAMO = "torch._dynamo"
INDUCTOR = "torch._inductor.compile_fx"
MODULES = (SYMBOLS, DYNAMO, "torch.distributed.tensor", INDUCTOR)
BEFORE_CUDA = (SYMBOLS, DYNAMO)
"""Those that touch no CUDA and start no thread or process, which a lane of a real GPU would lack after the fork."""
_imported = mmap.mmap(-1, len(MODULES))
"""A byte for each, shared with all forks."""


def watch() -> None:
    """In a lane: note what is imported from now on."""
    for at, name in enumerate(MODULES):
        if name not in sys.modules:
            import_hook.when_imported(name, lambda at=at: _note(at))  # type: ignore[misc]


def lacking(*, virtual: bool) -> List[str]:
    """What a lane had to import because this process had not. `virtual`: no lane will use a real GPU."""
    needed = [name for at, name in enumerate(MODULES) if _imported[at] and name not in sys.modules]
    return [name for name in needed if virtual or name in BEFORE_CUDA]


def catch_up(names: List[str]) -> None:
    """In the fork server: import them for all later lanes. One that cannot be is left to them from then on."""
    for name in names:
        try:
            importlib.import_module(name)
        except Exception:
            _imported[MODULES.index(name)] = 0


def _note(at: int) -> None:
    _imported[at] = 1
