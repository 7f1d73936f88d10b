"""Whether an exception that ended the script is a bug of ours: of the virtual GPU, the capture, a watcher.

Ours stand between the script and torch, so that much of what they raise is torch's own word, or an imitation of it. A
bug is what Python raises in our code where that neither raises nor calls: no such attribute, key, index or name.
"""

from __future__ import annotations

import dis
import os
from types import TracebackType
from typing import Optional

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_TORCH_SAYS = "Expected __torch_dispatch__ for"
_SAID = "a bug of shrink's own, which says nothing of the program, in %s (%s)"
_BUGS = (AttributeError, LookupError, NameError, TypeError, ZeroDivisionError)


def words(error: BaseException) -> str:
    """What to say of the run then, with the operation of torch that it was at; empty where it is the script's own."""
    last, operation = error.__traceback__, ""
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


def _is_ours(at: Optional[TracebackType]) -> bool:
    return at is not None and at.tb_frame.f_code.co_filename.startswith(_OURS)
