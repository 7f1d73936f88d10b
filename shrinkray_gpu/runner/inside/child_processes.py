"""Child processes of the script are captured and watched as well, while launches are written down; and see the virtual
GPU, if the script does.

A forked child has the wrappers already, and writes to a black box of its own. Any other child of the same interpreter
(subprocess, multiprocessing's spawn and forkserver, what `python -m pytest -n` starts) runs the `sitecustomize` that
this module writes to the run's temporary folder: PYTHONPATH leads there and one variable says the rest. Nothing is
imported for it before the child imports Triton itself. Out of reach are children with another environment, or started
with -I, -E or -S.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Callable, Dict, Optional

from .process import environment

VARIABLE = "SHRINKRAY_CAPTURE"
FOLDER = "children"
"""Where a run in which nothing is captured keeps what its children need."""

_SITE = '''\
"""Made by shrinkray for one run: captures what this process launches, then hands on to the next sitecustomize."""
import os, sys
def _begin():
    import importlib.machinery, importlib.util, json
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != here]
    told = os.environ.get("SHRINKRAY_CAPTURE")
    if told and sys.version_info >= (3, 9):
        told = json.loads(told)
        try:
            where = os.path.join(told["inside"], "__init__.py")
            spec = importlib.util.spec_from_file_location(
                "shrinkray_inside", where, submodule_search_locations=[told["inside"]]
            )
            package = sys.modules["shrinkray_inside"] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(package)
            importlib.import_module("shrinkray_inside.child_processes").begin(told)
        except Exception as error:  # the child is the user's, and must start
            try:
                with open(os.path.join(told["folder"], "trouble.%d" % os.getpid()), "w") as f:
                    f.write("%s: %s" % (type(error).__name__, error))
            except OSError:
                pass
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        module = sys.modules["sitecustomize"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
_begin()
'''

_kept: Dict[str, Any] = {}
"""What must live as long as this process: its capture, and the virtual GPU."""


def expect(folder: str, mode: str, arch: Optional[int]) -> Callable[[], None]:
    """In the worker: from here on children are captured, into `folder`, if there is a `mode`. Returns what ends
    that."""
    site = os.path.join(folder, "site")
    os.makedirs(site, exist_ok=True)
    with open(os.path.join(site, "sitecustomize.py"), "w", encoding="utf-8") as f:
        f.write(_SITE)
    told = {"folder": folder, "mode": mode, "arch": arch, "inside": os.path.dirname(os.path.abspath(__file__))}
    over = environment.restorer((VARIABLE, "PYTHONPATH"))
    os.environ[VARIABLE] = json.dumps(told)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (site, os.environ.get("PYTHONPATH"))))
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
