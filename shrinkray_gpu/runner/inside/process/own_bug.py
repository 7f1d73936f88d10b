"""Whether an exception that ended the script is a bug of ours: of the virtual GPU, the capture, a watcher.

Ours stand between the script and torch, so that much of what they raise is torch's own word, or an imitation of it. A
bug is what Python raises in our code where that neither raises nor calls: no such attribute, key, index or name. Where
the GPU is virtual, what a torch says that finds none is ours as well: a real one would have been found.
"""

from __future__ import annotations

import dis
import os
import re
from types import TracebackType
from typing import Iterator, Optional

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_TORCH_SAYS = "Expected __torch_dispatch__ for"
_SAID = "a bug of shrink's own, which says nothing of the program, in %s (%s)"
_LIMIT = "a limit of shrink's own, which says nothing of the program: %s"
_NO_GPU = re.compile(
    r"Torch not compiled with CUDA enabled|Could not run 'aten::\S+ with arguments from the 'CUDA' backend"
    r"|Tried to instantiate dummy base class|not linked with support for cuda|NVTX functions not installed"
    r"|Cannot access accelerator device when none|'torch\._C' has no attribute '_cuda"
    r"|No CUDA GPUs are available|Found no NVIDIA driver|without ATen_cuda library"
)
is_virtual = False
"""Whether the GPU is the virtual one; set by it."""
_BUGS = (AttributeError, LookupError, NameError, TypeError, ZeroDivisionError)


class Limit(RuntimeError):
    """The virtual GPU cannot do this, and a real one can."""


def words(error: BaseException) -> str:
    """What to say of the run then, with the operation of torch that it was at; empty where it is the script's own."""
    limit = next((each for each in behind(error) if isinstance(each, Limit)), None)
    if limit is not None:
        return _LIMIT % limit
    last, operation = error.__traceback__, ""
    found = _NO_GPU.search(str(error)) if is_virtual else None
    if found is not None:
        return _SAID % ("the virtual GPU", "%s: %s" % (type(error).__name__, found.group()))
    if isinstance(error, RuntimeError) and str(error).startswith(_TORCH_SAYS):
        return _SAID % ("the virtual GPU", error)
    if last is None or not isinstance(error, _BUGS):
        return ""
    while True:
        frame = last.tb_frame
        if _is_ours(last) and hasattr(frame.f_locals.get("func"), "_schema"):
            operation = " at %s" % frame.f_locals["func"]
        if last.tb_next is None:
            break
        last = last.tb_next
    done = dis.opname[last.tb_frame.f_code.co_code[last.tb_lasti]]
    if not _is_ours(last) or "CALL" in done or "RAISE" in done:
        return ""
    place = "%s:%d" % (os.path.relpath(last.tb_frame.f_code.co_filename, _OURS), last.tb_lineno)
    return _SAID % (place + operation, "%s: %s" % (type(error).__name__, error))


def behind(error: BaseException) -> Iterator[BaseException]:
    """The exception, and those that it was raised for."""
    seen = set()
    waiting: "list[Optional[BaseException]]" = [error]
    while waiting:
        each = waiting.pop()
        if isinstance(each, BaseException) and id(each) not in seen:
            seen.add(id(each))
            yield each
            # Dynamo keeps what it wraps in an attribute.
            waiting += [each.__cause__, each.__context__, getattr(each, "inner_exception", None)]


def _is_ours(at: Optional[TracebackType]) -> bool:
    return at is not None and at.tb_frame.f_code.co_filename.startswith(_OURS)
