"""Launches of Triton's interpreter that an earlier run made already: what they wrote is put there, and nothing is run.

Most candidates change the host's code only. Their launches are those of the candidate before, with the same code and
the same bytes in all tensors, and an interpreted kernel computes nothing of anything else. So what it wrote is kept in
a file, under a digest of all that it was given. A launch that may hang on more is never kept: one that reads or writes
outside of its tensors, loads memory that nobody wrote, fails, prints, or is of code that reaches beyond Triton.
"""

from __future__ import annotations

import hashlib
import json
import os
from types import ModuleType
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

from ..process.patches import Patches
from . import launch_digest
from .bounds import Bounds
from .recording import digest, view

ROOM = 32 << 20
"""Bytes of all tensors of a launch, at most."""
KEPT = 256 << 20
"""Bytes on disk, at most."""
_PLAIN = (int, float, bool, str, type(None))
_OPEN = frozenset("print device_print static_print breakpoint open exec eval getattr globals __import__".split())
"""Names of what does more than compute."""
_MODULES = ("triton", "torch", "math", "numpy")


class KnownLaunches:
    """At work from now on, until `end`. The first to wrap the interpreter, so what others do at a launch is done."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.replayed = 0
        self._tainted: Callable[[], bool] = lambda: False
        self._bounds = Bounds(confine=False)
        self._patches = Patches()
        self._patches.on_import("triton.runtime.interpreter", self._interpreter)

    def unless(self, tainted: Callable[[], bool]) -> None:
        """Never keep a launch after which this holds."""
        self._tainted = tainted

    def end(self) -> None:
        self._patches.undo()

    def _interpreter(self, module: Any) -> None:
        if hasattr(module, "GridExecutor") and hasattr(module.GridExecutor, "_init_args_hst"):
            self._patches.wrap(module.GridExecutor, "__call__", self._call)
            self._bounds.install(module, self._patches.wrap)

    def _call(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(executor: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                known = _GivenLaunch.of(executor, args, kwargs)
            except Exception:  # it is nothing that we know
                known = None
            if known is None:
                return original(executor, *args, **kwargs)
            path = os.path.join(self.folder, known.digest)
            if known.replay(path):
                self.replayed += 1
                return None
            self._bounds.begin()
            result = original(executor, *args, **kwargs)
            if result is None and self._bounds.ranges and not self._bounds.left and not self._tainted():
                known.keep(path)
            return result

        return call


class _GivenLaunch:
    """What a launch is given, by one digest; and the memory of its tensors."""

    def __init__(self, digest: str, held: List[Any]) -> None:
        self.digest = digest
        self._held = held
        """A uint8 tensor for each storage."""
        self._before = [_bytes(each) for each in held]

    @classmethod
    def of(cls, executor: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> "Optional[_GivenLaunch]":
        """None where it may hang on something else."""
        import torch

        if getattr(executor, "pre_run_hooks", None):
            return None
        words, held, seen = list(_code(executor.fn)), [], {}  # type: ignore[var-annotated]
        words += [repr(executor.grid)] if not callable(executor.grid) else list(_code(executor.grid))
        for name, value in (*zip(executor.arg_names, args), *sorted(kwargs.items())):
            words.append(name)
            for each in value if type(value) is tuple else (value,):
                if type(each) is torch.Tensor and each.device.type == "cpu" and each.layout is torch.strided:
                    storage = each.untyped_storage()
                    which = seen.setdefault(storage._cdata, len(seen))
                    if which == len(held):
                        bare = torch._C._VariableFunctions.empty
                        with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch(), torch.no_grad():
                            held.append(bare(0, dtype=torch.uint8).set_(storage))
                    place = (each.dtype, tuple(each.shape), each.stride(), each.storage_offset(), which)
                    words.append(repr(place))
                elif type(each) in _PLAIN or type(each).__name__ in ("constexpr", "dtype"):
                    words.append("%s %r" % (type(each).__name__, each))
                else:
                    return None
        if sum(each.numel() for each in held) > ROOM or any(" at 0x" in word for word in words):
            return None
        settings = sorted(pair for pair in os.environ.items() if pair[0].startswith("TRITON_"))
        words += [repr([each for each in settings if not each[0].endswith("_DIR")])]
        launch = cls("", held)
        launch.digest = hashlib.sha256("\n".join([*words, *launch._before]).encode()).hexdigest()
        return launch

    def replay(self, path: str) -> bool:
        """Put there what the launch wrote; False where nobody kept that."""
        try:
            with open(path, "rb") as file:
                changed = json.loads(file.readline())
                for which in changed:
                    view(self._held[which])[:] = file.read(self._held[which].numel())
            return True
        except (OSError, ValueError):
            return False

    def keep(self, path: str) -> None:
        changed = [at for at, each in enumerate(self._held) if _bytes(each) != self._before[at]]
        size = sum(self._held[at].numel() for at in changed)
        new = "%s.%d" % (path, os.getpid())
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with os.scandir(os.path.dirname(path)) as entries:
                if sum(each.stat().st_size for each in entries) + size > KEPT:
                    return
            with open(new, "wb") as file:
                file.write(json.dumps(changed).encode() + b"\n")
                for at in changed:
                    file.write(view(self._held[at]))
            os.replace(new, path)
        except OSError:  # the disk is full, or the fence forbids it: the launch is run each time
            pass


def _bytes(tensor: Any) -> str:
    return digest(tensor) if tensor.numel() else ""


def _code(function: Any) -> Iterator[str]:
    """The words of its digest. Raises ValueError where it reaches beyond Triton."""
    _closed(function, set())
    yield from launch_digest.function(function)


def _closed(function: Any, seen: Set[int]) -> None:
    while not hasattr(function, "__code__"):
        function = function.fn
    if id(function) in seen:
        return
    seen.add(id(function))
    cells = zip(function.__code__.co_freevars, (cell.cell_contents for cell in function.__closure__ or ()))
    held = {**function.__globals__, **dict(cells)}
    for name in {name for code in launch_digest.codes(function.__code__) for name in code.co_names + code.co_freevars}:
        value = held.get(name)
        if name in _OPEN:
            raise ValueError(name)
        if isinstance(value, ModuleType):
            if value.__name__.partition(".")[0] not in _MODULES:
                raise ValueError(name)
        elif hasattr(value, "__code__") or hasattr(value, "fn"):
            _closed(value, seen)
        elif hasattr(value, "data_ptr") or isinstance(value, (list, dict, set)):
            raise ValueError(name)
