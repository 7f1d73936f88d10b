"""The hook: puts the ring into a program, and writes a capsule when a device error, or what a launch raised, ends it.

A kernel's fault comes to light at any later call that waits for the device. So an error is looked for where launches
and waits raise, in what leaves the program or a thread, and once at the end, by a query that does not wait.
"""

from __future__ import annotations

import atexit
import os
import re
import sys
import threading
from typing import Any, Callable, Optional

from ..process import own_bug
from ..process.patches import Patches
from . import inductor, recording, ring, writing
from .capsule_schema import VARIABLE

FOLDER = "SHRINKRAY_GPU_CAPSULES"
"""In the environment: where capsules go, instead of the working directory."""
EARLIER = "SHRINKRAY_GPU_CAPSULE"
"""In the environment, for `record`: the capsule of the first run, whose kernels alone are recorded."""
CAPTURE, RECORD = "capture", "record"

_DEVICE_ERROR = re.compile(r"CUDA(?: driver)? error: |Triton Error \[CUDA\]: ")
_NO_FAULT = re.compile(r"out of memory|no CUDA-capable device|driver version is insufficient|is not available")
_MARK = "_shrinkray_gpu_launch"
"""On an exception: the entry of the launch that raised it."""

installed: "Optional[Hook]" = None


def install(mode: str) -> None:
    """Put the hook in place, once a process. Never raises: a program in production goes on without it."""
    global installed
    if installed is not None or "shrinkray_inside" in sys.modules:  # a reduction of a program that imports us
        return
    if mode not in (CAPTURE, RECORD):
        _say("%s=%s is neither capture nor record: nothing is captured" % (VARIABLE, mode))
        return
    only = None
    if mode == RECORD:
        try:
            only = writing.kernels_of(os.environ.get(EARLIER))
        except (OSError, ValueError, LookupError, TypeError) as error:
            _say("cannot read the capsule %s (%s): all kernels are recorded" % (os.environ[EARLIER], error))
    installed = Hook(recording.LaunchContents(only) if mode == RECORD else None)
    installed.install()


class Hook:
    """At work in one process until it ends. `recording`: what a second run writes down, instead of the ring."""

    def __init__(self, recording: "Optional[recording.LaunchContents]" = None) -> None:
        self.ring = ring.LaunchRing()
        self.recording = recording
        self._watcher = recording or self.ring
        self.patches = Patches()
        self.written: Optional[str] = None

    def install(self) -> None:
        self.patches.on_import("triton", self._wrap_launches)
        self.patches.on_import(inductor.MODULE, self._wrap_inductor)
        self.patches.on_import("torch.cuda", self._wrap_waits)
        self.patches.set(sys, "excepthook", self._excepthook(sys.excepthook))
        self.patches.set(threading, "excepthook", self._thread_hook(threading.excepthook))
        atexit.register(self._at_exit)

    def remove(self) -> None:
        """For a benchmark and for tests."""
        self.patches.undo()
        atexit.unregister(self._at_exit)

    def _wrap_launches(self, _: Any) -> None:
        try:
            from triton.runtime.jit import JITFunction
        except ImportError:
            return
        self.patches.wrap(JITFunction, "run", lambda original: self._watcher.watch(original, self._failed))

    def _wrap_inductor(self, heuristics: Any) -> None:
        tuner, watcher = heuristics.CachingAutotuner, self._watcher
        self.patches.wrap(tuner, "run", lambda original: watcher.watch_inductor(original, self._failed))
        self.patches.wrap(tuner, "bench", lambda original: watcher.watch_trials(original, self._failed))

    def _wrap_waits(self, cuda: Any) -> None:
        for owner, name in ((cuda, "synchronize"), (cuda.Stream, "synchronize"), (cuda.Event, "synchronize")):
            self.patches.wrap(owner, name, self._waiting)

    def _waiting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def synchronize(*args: Any, **kwargs: Any) -> Any:
            try:
                return original(*args, **kwargs)
            except Exception as error:
                if is_device_error(error):
                    self.write(error, "synchronize")
                raise

        return synchronize

    def _failed(self, entry: Any, error: BaseException) -> None:
        """A launch raised. Of a device's error it says little which launch it was; a compiler's is its own."""
        if is_device_error(error):
            blocking = os.environ.get("CUDA_LAUNCH_BLOCKING") == "1"
            self.write(error, "launch", entry if blocking else None)
        elif isinstance(error, Exception):
            try:
                setattr(error, _MARK, entry)
            except Exception:  # a type without room for it
                pass

    def _excepthook(self, before: Callable[..., Any]) -> Callable[..., Any]:
        def excepthook(kind: Any, error: Any, trace: Any) -> None:
            self._uncaught(error)
            before(kind, error, trace)
            self._tell()

        return excepthook

    def _thread_hook(self, before: Callable[..., Any]) -> Callable[..., Any]:
        def excepthook(args: Any) -> None:
            self._uncaught(args.exc_value)
            before(args)
            self._tell()

        return excepthook

    def _uncaught(self, error: Any) -> None:
        for each in own_bug.behind(error):
            if hasattr(each, _MARK):
                self.write(each, "launch", getattr(each, _MARK))
            elif is_device_error(each):
                self.write(each, "uncaught")

    def _at_exit(self) -> None:
        """A device error that the program caught, or never waited for."""
        torch: Any = sys.modules.get("torch")
        try:
            if self.written is None and self.ring.count and torch is not None and torch.cuda.is_initialized():
                torch.cuda.current_stream().query()
        except Exception as error:
            if is_device_error(error):
                self.write(error, "exit")
                self._tell()
        if self.recording is not None:
            self.recording.close()

    def write(self, error: BaseException, where: str, entry: Any = None) -> None:
        """A capsule of what is known, once a process: after the first fault each call fails alike."""
        if self.written is not None:
            return
        self.written = ""
        kind = type(error)
        name = kind.__qualname__ if kind.__module__ == "builtins" else "%s.%s" % (kind.__module__, kind.__qualname__)
        try:
            told: Any = {"type": name, "text": str(error), "where": where}
            if self.recording is not None:
                made = self.recording.capsule(told)
            else:
                first = [] if entry is None else [entry]
                entries = [*first, *(each for each in self.ring.entries() if each is not entry)]
                records = ((each[ring.NUMBER], writing.of_entry(each)) for each in entries)
                kinds = writing.by_kind(records)
                made = writing.capsule(kinds, told, mode=CAPTURE, exact=bool(first), seen=self.ring.count)
            if not made["launches"]:
                _say("the device is in an error, and no launch by Triton was seen: there is no capsule")
                return
            self.written = writing.write(made, os.environ.get(FOLDER, ""))
        except Exception as problem:  # whatever it is, the program's own error is what counts
            _say("no capsule of this error could be written (%s: %s)" % (type(problem).__name__, problem))
            return
        if where in ("launch", "synchronize"):
            self._tell()

    def _tell(self) -> None:
        if self.written:
            path, self.written = self.written, ""
            _say("a launch failed. What is known of it is in %s; to reduce it: shrink capsule %s" % (path, path))


def is_device_error(error: Any) -> bool:
    """Whether torch, or Triton, reports an error of the device, other than want of memory or of a device."""
    text = str(error)
    named = type(error).__name__ == "AcceleratorError" or _DEVICE_ERROR.search(text) is not None
    return named and not _NO_FAULT.search(text)


def _say(text: str) -> None:
    try:
        sys.stderr.write("shrinkray_gpu: %s\n" % text)
    except Exception:
        pass
