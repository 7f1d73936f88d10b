"""Says at the time limit who is still at work: the GPU, or the host alone.

A thread beside the candidate, which keeps the main thread busy or waiting for the device. It reads the lane's link,
where the tool asks (`{"tell": true}`) before it ends the process, and answers once. torch, Triton and ctypes release
the interpreter while they wait for a device; where somebody does not, the tool gets no answer, and nothing is known.

A process that has yet to import and compile gets more time from the tool than the limit that is meant for its kernels.
There the thread answers unasked as soon as it is sure: `limit` seconds after the host got back from its last launch, if
the GPU is still at work. Neither imports, nor what the host does before or between launches, nor a kernel's compilation
count then. Of a host that hangs nobody can be sure before the tool's own time is over.
"""

from __future__ import annotations

import _thread
import ctypes
import select
import socket
import sys
from os import close, getpid, pipe, write  # kept from a candidate that replaces them in the module
from time import monotonic
from typing import Any, Dict, List, Optional

from . import device, wire

SETTLES = 1.0
"""Seconds in which a GPU that does not hang finishes what it was given: a full queue of short launches."""

LAST = 200
"""Launches that an answer holds, the last ones."""


class Watchdog:
    """Listens on the link, which nobody else may use until `end`.

    The thread is none of `threading`'s: a script that joins all threads it can see would wait for it for ever.
    """

    def __init__(self, link: socket.socket, log: Any, limit: float = 0.0, number: int = 0) -> None:
        """Called by the thread that runs the candidate, of request `number`. `limit`: seconds that the GPU may be at
        work after the last launch; 0: until the tool asks."""
        self.link, self.log, self.limit, self.number = link, log, limit, number
        self._script_ended = False
        self._idle: Optional[float] = None
        """The launch, by its time, after which the GPU was found idle."""
        self.main, self.process = _thread.get_ident(), getpid()
        self.stop, self._stopping = pipe()
        self.over = _thread.allocate_lock()
        self.over.acquire()
        _thread.start_new_thread(self._listen, ())

    def script_ended(self) -> None:
        """The script has come to its end: what is waited for from here on is our own question to the driver."""
        self._script_ended = True

    def end(self) -> None:
        """Return when nobody but the caller uses the link: a question that was read has been answered by then, one
        that was not stays unread (the tool, which asked at the limit, ends this lane in either case)."""
        if getpid() != self.process:
            return  # a fork of the candidate's, which has no such thread
        write(self._stopping, b".")
        self.over.acquire()
        close(self.stop)
        close(self._stopping)

    def _listen(self) -> None:
        try:
            listening: List[Any] = [self.link, self.stop]
            ready: List[Any] = []
            while not ready:
                ready, _, _ = select.select(listening, [], [], self._left())
                if not ready and self._overdue():
                    wire.send(self.link, self._answer(True))
                    return
            if self.stop not in ready and wire.receive(self.link)[0].get("tell"):
                wire.send(self.link, self._answer(working()))
        except (OSError, ValueError):  # the tool is gone, or the candidate closed what is not its own
            pass
        finally:
            self.over.release()

    def _left(self) -> Optional[float]:
        """Seconds until the next look at the GPU; None: never. A launch that is yet to come is due no sooner than the
        limit from now."""
        last = self.log.enqueued
        if not self.limit or last is None or last == self._idle:
            return self.limit or None
        return max(0.0, last + self.limit - monotonic())

    def _overdue(self) -> bool:
        """Whether the GPU has been at work for longer than the limit, with nothing launched meanwhile."""
        last = self.log.enqueued
        if last is None or last == self._idle or monotonic() < last + self.limit:
            return False
        if working() and self.log.enqueued == last:
            return True
        self._idle = last
        return False

    def _answer(self, at_work: Optional[bool]) -> Dict[str, Any]:
        """`at_work`: whether the GPU is."""
        by = "left" if self._script_ended else "device"
        return {
            "hanging": "" if at_work is None else by if at_work else "host",
            "launches": _few(list(self.log.launches)),
            "compiles": [{**one, "ir": {}} for one in self.log.compiles],
            "line": self._line(),
            "number": self.number,
        }

    def _line(self) -> Optional[int]:
        """Where the main thread is in the script's own text; None outside of it."""
        script = getattr(sys.modules.get("__main__"), "__file__", None)
        frame = sys._current_frames().get(self.main)
        while frame is not None and frame.f_code.co_filename != script:
            frame = frame.f_back
        return None if frame is None else frame.f_lineno


def _few(launches: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    """The last ones, after one of each kernel launched before: a loop may have launched a million by now."""
    earlier, last = launches[:-LAST], launches[-LAST:]
    return [*{launch["kernel"]: launch for launch in earlier}.values(), *last]


def working() -> Optional[bool]:
    """Whether the GPU is still at work, and does not come to an end soon; None where the driver does not say.

    Waiting is the question that covers all streams and copies. `cuStreamQuery` knows of one stream, and says "not
    ready" of a host that launches short kernels for ever.
    """
    if not device.is_initialised():
        return False
    said: List[bool] = []
    over = _thread.allocate_lock()
    over.acquire()

    def wait() -> None:
        try:
            said.append(_wait_for_all_devices())
        except (OSError, AttributeError):
            pass
        finally:
            over.release()

    _thread.start_new_thread(wait, ())
    if not over.acquire(timeout=SETTLES):
        return True
    return False if said == [True] else None


def _wait_for_all_devices() -> bool:
    """Wait until each device that this process uses is idle; False if the driver does not let us ask.

    A context belongs to a thread, and this one has none: it borrows the primary ones, which torch and Triton use.
    """
    cuda = ctypes.CDLL("libcuda.so.1")
    count = ctypes.c_int()
    if cuda.cuDeviceGetCount(ctypes.byref(count)):
        return False
    for index in range(count.value):
        gpu, flags, active, context = ctypes.c_int(), ctypes.c_uint(), ctypes.c_int(), ctypes.c_void_p()
        cuda.cuDeviceGet(ctypes.byref(gpu), index)
        cuda.cuDevicePrimaryCtxGetState(gpu, ctypes.byref(flags), ctypes.byref(active))
        if active.value:
            if cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), gpu) or cuda.cuCtxSetCurrent(context):
                return False
            cuda.cuCtxSynchronize()  # an error is an end too
    return True
