"""What torch imports by itself at some operations, half a second each, and most scripts never need; and what compiling
takes (`compiled`).

The first child in which that happens tells its fork server, through a byte that both see. The server then imports it
for all later children.
"""

from __future__ import annotations

import contextlib
import importlib
import mmap
import sys
from typing import Any, List

from ..process.own_bug import Limit
from ..process.patches import Patches
from . import accelerator
from .dispatch import DeviceDispatch

DYNAMO = "torch._dynamo"
INDUCTOR = "torch._inductor.compile_fx"
MODULES = (DYNAMO, "torch.distributed.tensor", INDUCTOR)
_imported = mmap.mmap(-1, len(MODULES))
"""A byte for each, shared with all forks."""


def patch(patches: Patches) -> None:
    for name in MODULES:
        patches.on_import(name, _note)
    patches.on_import(DYNAMO, lambda module: _keep_out(patches, module))


def lacking() -> List[str]:
    """What a child had to import because this process had not."""
    return [name for at, name in enumerate(MODULES) if _imported[at] and name not in sys.modules]


def catch_up() -> None:
    missing = lacking()
    for name in missing:
        importlib.import_module(name)
    if INDUCTOR in missing:
        with contextlib.suppress(Limit):  # which the child tells that needs it
            accelerator.build()


def _note(module: Any) -> None:
    _imported[MODULES.index(module.__name__)] = 1


def _keep_out(patches: Patches, dynamo: Any) -> None:
    """Dynamo must trace no handler of ours."""
    patches.set(DeviceDispatch, "__torch_dispatch__", dynamo.disable(DeviceDispatch.__torch_dispatch__))
