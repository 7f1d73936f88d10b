"""Child processes of the script are captured and watched as well, while launches are written down; and see the virtual
GPU, if the script does.

A forked child has the wrappers already, and writes to a black box of its own. Any other child of the same interpreter
(subprocess, multiprocessing's spawn and forkserver, what `python -m pytest -n` starts) runs our `sitecustomize`:
PYTHONPATH leads there and one variable says the rest. Nothing is imported for it before the child imports Triton
itself. Out of reach are children with another environment, or started with -I, -E or -S.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Callable, Dict, Optional

from .process import environment

VARIABLE = "SHRINKRAY_CAPTURE"
SITE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "site")
"""Where the `sitecustomize` is."""

_kept: Dict[str, Any] = {}
"""What must live as long as this process: its capture, and the virtual GPU."""


def expect(folder: str, mode: str, arch: Optional[int]) -> Callable[[], None]:
    """In the worker: from here on children are captured, into `folder`, if there is a `mode`. Returns what ends
    that."""
    over = environment.restorer((VARIABLE, "PYTHONPATH"))
    os.environ[VARIABLE] = json.dumps({"folder": folder, "mode": mode, "arch": arch})
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (SITE, os.environ.get("PYTHONPATH"))))
    return over


def begin(told: Dict[str, Any]) -> None:
    """In a child: watch and capture it from now on."""
    from .capture import capture
    from .launches import launch_log
    from .process import import_hook

    log = launch_log.LaunchLog(frozenset())
    log.install()
    if told["mode"]:
        _kept["capture"] = capture.begin(log, told["mode"], told["folder"], first=False)
    if told["arch"]:
        import_hook.when_imported("triton", lambda: _virtual(told["arch"], log, whole="torch" not in sys.modules))
        import_hook.when_imported("torch", lambda: _virtual(told["arch"], log, whole=True))


def _virtual(arch: int, log: Any, *, whole: bool) -> None:
    """The child sees the virtual GPU too, from its first import of Triton or torch to its end. `whole`: torch is not
    in the middle of its own import, which is what imports Triton."""
    if whole and "virtual" not in _kept:
        _kept["virtual"] = None
        from . import vgpu

        _kept["virtual"] = vgpu.virtual(arch, log)
        _kept["virtual"].__enter__()
