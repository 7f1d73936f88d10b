"""Full fingerprints: what a core dump or the sanitizer says of a program must be what they said of the original."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

from shrinkray_gpu.oracle.fault import Fault, Reference

TIMEOUT = "timeout"
Examine = Callable[[str], Fault | None]
"""The Fault of a program's text by the instruments there are; None if it shows none in that run."""


class Fingerprints:
    """Of one program after another, each asked for once, in threads of its own. `known`: the fingerprint to compare
    with, where `original` was lifted out of the program that has it. Then `prepare` brings up what will be used."""

    def __init__(
        self,
        original: str,
        reference: Reference | None,
        *,
        examine: Examine | None = None,
        known: Fault | None = None,
        prepare: Callable[[], None] | None = None,
        lanes: int = 2,
    ) -> None:
        self.reference, self.examine = reference, examine
        self._original, self._known = original, known
        self._faults: dict[str, Future[Fault | None]] = {}
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(max(2, lanes // 2), thread_name_prefix="instruments")
        if examine is not None and known is None:
            self.of(original)
        elif prepare is not None:  # what `examine` will use, which would begin with the original otherwise
            self._threads.submit(prepare)

    @property
    def wanted(self) -> Fault | None:
        """The original's Fault, with what the instruments saw. Waits for them."""
        if self._known is not None:
            return self._known
        seen = self._faults.get(self._original)
        found = seen.result() if seen is not None else None
        return found or (self.reference.fault if self.reference is not None else None)

    def of(self, text: str) -> Future[Fault | None]:
        """What the instruments see of this program."""
        with self._lock:
            known = self._faults.get(text)
            if known is None:
                known = self._threads.submit(self._seen, text)
                self._faults[text] = known
            return known

    def again(self, text: str) -> Fault | None:
        """The same of another run."""
        return self._threads.submit(self._seen, text).result()

    def _seen(self, text: str) -> Fault | None:
        """A run that was stopped for its time under an instrument tells nothing of a fault that is none of time."""
        assert self.examine is not None
        found = self.examine(text)
        asked = self.reference.fault.phase if self.reference is not None else TIMEOUT
        return None if found is not None and found.phase == TIMEOUT != asked else found

    def difference(self, fault: Fault, text: str) -> str:
        """In what this fault of a program is another one than the original's; empty if in nothing that is known."""
        wanted = self.wanted
        if wanted is None or self.reference is None:
            return ""
        present = frozenset(re.findall(r"\bdef\s+(\w+)", text))
        return replace(self.reference, fault=wanted).slip(fault, present)

    def close(self) -> None:
        self._threads.shutdown(wait=True, cancel_futures=True)
