"""Whether a lifted script faults as the user's own program does, by what the instruments see of both.

Words are not enough here. A launch returns before its kernel runs, so a program with several kernels does not say which
of them its illegal access was in; and a launch whose tensors hold guesses may have one of its own: a table of offsets
that says 0, 1, 2, ... points somewhere else than the program's. So the instruments look at the program while the first
scripts made of it are tried, and at each script that shows the fault before it is taken; unless a run that was made
anyway told what they would see.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from shrinkray_gpu.oracle.fault import Fault, Reference, kernels
from shrinkray_gpu.runner.run import Run

Look = Callable[[str, Run], Fault | None]
"""The Fault of a program's text by the instruments, with a run that showed it; None if they saw none in theirs."""


class OriginalFingerprint:
    """The fault of one program. `look_at_lifted` is for scripts that take no arguments. `seen` tells what a core dump
    of `run` itself says; it is asked in a thread of this object's."""

    def __init__(
        self,
        reference: Reference,
        text: str,
        run: Run,
        *,
        look: Look,
        look_at_lifted: Look,
        seen: Callable[[], Fault | None] = lambda: None,
    ) -> None:
        self.reference, self._text, self._run = reference, text, run
        self._look, self._look_at_lifted = look, look_at_lifted
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="identity")
        self._lock = threading.Lock()
        self._again = False
        self._found: Fault | None = None
        self.looks = 0
        self._first: Future[Fault | None] = self._threads.submit(self._at_first, seen)

    @property
    def pending(self) -> bool:
        """Whether the program runs under an instrument just now."""
        return not self._first.done()

    @property
    def fault(self) -> Fault | None:
        """What the instruments say of the program, None if nothing. Waits for them. A run in which they saw no fault,
        or another one than the plain run, is repeated once: memory may have been short beside other runs."""
        with self._lock:
            self._found = self._found or self._first.result()
            if self._found is None and not self._again:
                self._again = True
                self._found = self._looked()
            return self._found

    @property
    def fault_so_far(self) -> Fault | None:
        """The same, without a second look."""
        return self._found or self._first.result()

    def slip(self, text: str, run: Run, seen: Fault | None = None) -> str:
        """In what a lifted script's fault is another one than the program's, in words; empty if in nothing that is
        known of both. `run` is one of the script that shows it, `seen` what a core dump of that says."""
        wanted = self.fault
        if wanted is None:
            return ""
        if seen is not None:
            return Reference(wanted, self.reference.kernels).slip(seen, kernels(run))
        for _ in range(2):
            self.looks += 1
            seen = self._look_at_lifted(text, run)
            if seen is not None:
                return Reference(wanted, self.reference.kernels).slip(seen, kernels(run))
        return "the instruments see no fault in it, and they do in the program"

    def close(self) -> None:
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _at_first(self, seen: Callable[[], Fault | None]) -> Fault | None:
        found = seen()
        return found if found is not None and self._own(found) else self._looked()

    def _looked(self) -> Fault | None:
        self.looks += 1
        found = self._look(self._text, self._run)
        return found if found is not None and self._own(found) else None

    def _own(self, found: Fault) -> bool:
        return not self.reference.slip(found, kernels(self._run))
