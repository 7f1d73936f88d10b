"""What the fork server does once, ahead of all forks: it imports what the script imports, and warms what is slow.

It never touches CUDA: a forked child of a process that did cannot use the GPU.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import os
import sys
import time
from typing import Any, Dict

from . import late_imports
from .process import device
from .process.lasting import lasting

OURS = ("child_processes", "capture.blackbox", "compare.comparison", "cuda_cpp.builds", "cuda_cpp.raw_kernels")
"""Modules that most lanes come to need. Where there is no bytecode of them, each would compile them anew."""


@lasting()
def preload(setup: Dict[str, Any]) -> Dict[str, Any]:
    """Import and warm. Returns what the tool is told: what is missing or failed, versions, whether CUDA was touched."""
    started = time.monotonic()
    for name in ("process.asserts", *OURS):  # here, so that no lane has to
        importlib.import_module(f".{name}", __package__)
    if setup["arch"]:
        from . import vgpu

        vgpu.before_imports(setup["arch"])
    report = _import(setup)
    report["touched"] = device.is_initialised()
    # On a real GPU too: each child's first compile would cost 0.6 s more. One that does not answer now may do so later.
    # Where the tool does not know the GPU, a child makes a context to ask for it.
    arch = setup["arch"] or (setup["warm"] and setup["prepare"] and (setup["capability"] or _capability()))
    if arch:
        from . import vgpu

        vgpu.prepare(arch, operations=bool(setup["arch"]))
    elif setup["prepare"]:
        _name_triton()
    report["spoilt"] = device.is_initialised()
    report.update(seconds=time.monotonic() - started, **_versions())
    return report


@lasting()
def preload_again(setup: Dict[str, Any]) -> None:
    """Before each fork: warm what earlier ones turned out to need."""
    missing = late_imports.lacking(virtual=bool(setup["arch"]))
    if missing and setup["arch"]:
        from . import vgpu

        vgpu.catch_up(setup["arch"], missing)
    elif missing:
        late_imports.catch_up(missing)


def _import(setup: dict[str, Any]) -> dict[str, Any]:
    """Import what the script imports at its top, if it is installed software and not a module of the script's own."""
    missing, failed = [], {}
    own = tuple(os.path.join(folder, "") for folder in setup["own"])
    for name in setup["imports"]:
        try:
            # A module of a package is looked for in that package, which Python imports for it.
            found = importlib.util.find_spec(name.partition(".")[0])
            if not _is_own(found, own):
                found = importlib.util.find_spec(name)
        except (ImportError, ValueError, AttributeError):
            found = None
        except BaseException as error:  # of the package that it lies in, which is imported for that
            failed[name] = f"{type(error).__name__}: {error}"
            continue
        if found is None:
            missing.append(name)
            continue
        if _is_own(found, own):
            continue
        try:
            importlib.import_module(name)
        except BaseException as error:
            failed[name] = f"{type(error).__name__}: {error}"
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)  # after one parallel operation here, a child's first would hang
    if "numpy" in sys.modules:
        importlib.import_module("numpy.random")  # which a check of values seeds
    return {"missing": missing, "failed": failed}


def _is_own(found: importlib.machinery.ModuleSpec | None, own: tuple[str, ...]) -> bool:
    """Whether it is a module of the script's own, and no installed software."""
    origin = found.origin if found is not None else None
    return bool(origin and origin.startswith(own) and "site-packages" not in origin)


def _name_triton() -> None:
    """Have Triton compute the name of its build, by which it finds kernels on disk: it reads 100s of MB for that (0.3
    s) and then remembers it, here for all children. For scripts that compile and have no GPU; asks no driver."""
    for name in ("triton.runtime.cache", "triton.compiler.compiler"):  # the latter before Triton 3.5
        key: Any = getattr(sys.modules.get(name), "triton_key", None)
        if hasattr(key, "cache_info"):
            try:
                key()
            except Exception:  # a build that cannot be read: the first compile will say so
                pass
            return


def _capability() -> int:
    """The GPU's compute capability times ten, asked in a child: the parent must not touch CUDA. 0 if there is none."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(writer, str(device.warm()["arch"]).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader) as answer:
        told = answer.read()
    os.waitpid(pid, 0)
    return int(told or 0)


def _versions() -> dict[str, Any]:
    found: dict[str, Any] = {"python": sys.version.split()[0]}
    for name in ("torch", "triton", "helion"):
        module = sys.modules.get(name)
        if module is not None:
            found[name] = str(getattr(module, "__version__", "?"))
    torch = sys.modules.get("torch")
    found["torch_cuda"] = str(torch.version.cuda) if torch is not None else ""
    return {"versions": found}
