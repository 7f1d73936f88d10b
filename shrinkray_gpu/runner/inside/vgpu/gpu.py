"""The virtual GPU itself: what it holds, what was launched, and the fault that waits for the host to look.

A real device runs behind the host: a kernel's fault shows when the host next waits for it, and from then on at every
call (a *sticky* error). So a launch that the static rule condemns only leaves a pending fault here; `wait` brings it
to light. Needs no torch; without torch there are no claims.
"""

from __future__ import annotations

import sys
from typing import Any, Dict, List, Optional, Tuple

MISALIGNED = 716  # CUDA_ERROR_MISALIGNED_ADDRESS

Faults = List[Tuple[str, Dict[str, Any]]]  # why a launch faults, and the watch's record of it


class Gpu:
    """One virtual device, for one candidate."""

    def __init__(self, arch: int, watch: Any, claims: Any = None) -> None:
        self.arch = arch
        self.watch = watch
        self.claims = claims
        self.launched = False
        self.pending = ""
        self.sticky = 0
        self.undecided: List[str] = []  # launches on which the static rule had no opinion, and why
        self.harmed = ""  # why a real device would be in another sticky error already
        self.reason = ""
        self.ended: List[Dict[str, Any]] = []  # records of launches that ended in a fault, and were not waited for
        self.capture: Optional[Faults] = None  # faults of the CUDA graph that is being captured
        self.default: Any = None  # torch.set_default_device

    def fault(self, reason: str, launch: Dict[str, Any]) -> None:
        """A launch ends in this fault; nobody knows yet. One that goes into a graph does so at each replay, whatever
        was waited for in between."""
        if self.capture is not None:
            self.capture.append((reason, launch))
        else:
            launch["fault"], launch["synced"] = reason, False
            self.ended.append(launch)
            self.pending = self.pending or reason

    def wait(self) -> None:
        """The host waits for the device, and learns what became of its launches."""
        if self.capture is not None:
            raise accelerator_error("CUDA error: operation not permitted when stream is capturing")
        self.watch.sync()
        while self.ended:
            self.ended.pop()["synced"] = True
        if self.pending and not self.sticky:
            self.sticky, self.reason = MISALIGNED, self.pending
        self.check()

    def check(self) -> None:
        """Any call to a device in a sticky error fails with that error."""
        if self.sticky:
            raise accelerator_error("CUDA error: misaligned address\n" + self.verdict)

    @property
    def verdict(self) -> str:
        return "(verdict of the static rule static:tma-alignment on the virtual GPU: %s)" % self.reason


def accelerator_error(text: str) -> Exception:
    """The exception that torch raises for a CUDA error: AcceleratorError since 2.8, RuntimeError before."""
    kind: Any = getattr(sys.modules.get("torch"), "AcceleratorError", RuntimeError)
    error: Exception = kind(text)
    return error
