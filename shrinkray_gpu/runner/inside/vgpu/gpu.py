"""The virtual GPU itself: what it holds, what was launched, and the fault that waits for the host to look.

A real device runs behind the host: a kernel's fault shows when the host next waits for it, and from then on at every
call (a *sticky* error). So a launch that a static rule condemns only leaves a pending fault here; `wait` brings it
to light. Needs no torch; without torch there are no claims.
"""

from __future__ import annotations

import sys
from typing import Any, Dict, List, Optional, Tuple

from ..gpu_target import gpu_target
from ..static import rules
from ..static.rule import Rule

Faults = List[Tuple[Rule, str, Dict[str, Any]]]  # which rule a launch breaks, how, and the watch's record of it


class Gpu:
    """One virtual device, for one candidate."""

    def __init__(self, arch: int, watch: Any, claims: Any = None, *, ends: bool = False) -> None:
        """`ends`: whether somebody calls `end`."""
        self.arch = arch
        self.target = gpu_target(arch)
        self._ends = ends
        self.watch = watch
        self.claims = claims
        self.launched = False
        self.peak = 0  # the most bytes that its tensors took at a launch
        self.pending: Optional[Tuple[Rule, str]] = None
        self.broken: Optional[Tuple[Rule, str]] = None  # the fault that the host has learnt of
        self.late: Optional[Tuple[Rule, str]] = None  # the one that a device which is late ends in
        self.awaited = False  # whether the host has waited since
        self.harmed = ""  # why a real device would be in another sticky error already
        self.ended: List[Dict[str, Any]] = []  # records of launches that ended in a fault, and were not waited for
        self.capture: Optional[Faults] = None  # faults of the CUDA graph that is being captured
        self.compiling = 0  # how many calls are open that work below the modes, as torch's compilers do
        self.tuning = False  # whether a launch is a trial, which a real device makes more often
        self.interpreting = 0.0  # seconds of processor time for kernels that were run by Triton's interpreter
        self.default: Any = None  # torch.set_default_device
        self.evaluations: Any = None  # `evaluation.Evaluations`, from the first launch on
        self.copies: Any = None  # `pinned_copies.PinnedCopies`, where there is torch
        self.worked: List[str] = []  # what torch had the device do that takes long, since the host waited for it

    def launch(self) -> None:
        """Something runs on the device now, beside all that lies there."""
        self.launched = True
        if self.claims is not None:
            self.peak = max(self.peak, self.claims.bytes_on_gpu())

    def rules(self) -> List[Rule]:
        """Those that a launch is held against."""
        return rules.held_against(self.watch.wants, cuda=not self.target.is_amd)

    def fault(self, rule: Rule, reason: str, launch: Dict[str, Any], *, late: bool = False) -> None:
        """A launch breaks this rule; nobody knows yet. One that goes into a graph does so at each replay, whatever
        was waited for in between. `late`: only where the device is, so that the program goes on as one that is not
        lets it, to its end."""
        if self.capture is not None:
            self.capture.append((rule, reason, launch))
        else:
            launch["fault"], launch["synced"] = rules.fault_text(rule, reason), False
            self.ended.append(launch)
            if rule.code and late and self._ends:
                self.late = self.late or (rule, reason)
            elif rule.code:
                self.pending = self.pending or (rule, reason)

    def wait(self, before: Optional[int] = None) -> None:
        """The host waits for the device, and learns what became of its launches. `before`: of the copies from pinned
        memory only those whose number is less are sure to be done."""
        if self.capture is not None:
            raise accelerator_error(self.target.runtime + " error: operation not permitted when stream is capturing")
        if self.copies:
            self.copies.wait(before)
        self.watch.sync()
        self.worked.clear()
        while self.ended:
            self.ended.pop()["synced"] = True
        self.broken = self.broken or self.pending
        self.awaited = self.late is not None
        self.check()

    def end(self) -> None:
        """The script has come to its end, and has waited for a device that may have been late. What it was told
        before is no news."""
        if self.broken is None and self.awaited:
            self.broken = self.late
            self.check()

    @property
    def ran_all(self) -> bool:
        """Whether Triton's interpreter ran each launch so far."""
        return all(launch["interpreted"] for launch in self.watch.launches)

    def guess(self) -> None:
        """The host reads what nobody computed, and goes on with a guess."""
        if self.watch.launches:
            self.watch.launches[-1]["guessed"] = True

    def check(self) -> None:
        """Any call to a device in a sticky error fails with that error."""
        if self.broken is not None:
            raise accelerator_error("%s error: %s" % (self.target.runtime, self.error))

    @property
    def sticky(self) -> int:
        """The code of the sticky error that the device is in; 0: none."""
        return self.broken[0].code if self.broken is not None else 0

    @property
    def error(self) -> str:
        """What every call says from then on: the driver's words, and which rule has decided it."""
        if self.broken is None:
            return ""
        rule, reason = self.broken
        return "%s\n(verdict of the static rule static:%s on the virtual GPU: %s)" % (rule.words, rule.name, reason)


def accelerator_error(text: str) -> Exception:
    """The exception that torch raises for a CUDA error: AcceleratorError since 2.8, RuntimeError before."""
    kind: Any = getattr(sys.modules.get("torch"), "AcceleratorError", RuntimeError)
    error: Exception = kind(text)
    return error
