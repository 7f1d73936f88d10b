"""Which GPUs lanes are on: each run has a group of them, of one GPU or as many as the program needs. A sick one is left
out.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from shrinkray_gpu.device import gpus
from shrinkray_gpu.errors import SickDevice
from shrinkray_gpu.runner.run import Run

FIRST = ""
"""In place of a group: what the user's environment shows, of which a program mostly uses the first."""
TRUSTED = 20.0
"""Seconds for which a GPU counts as well that a healthy program has just run on."""
RESET = "Reset it or take another one (CUDA_VISIBLE_DEVICES), then give the same command again"
_LOST = re.compile(
    r"No CUDA GPUs are available|no CUDA-capable device|busy or unavailable|uncorrectable|GPU is lost|unknown error"
    r"|unspecified launch failure|driver shutting down|NVLink error|system not yet initialized",
    re.IGNORECASE,
)
"""What a program ends in on a GPU that is lost, among other reasons."""

Say = Callable[[str], None]


class GpuGroups:
    """Groups of GPUs, each as the value of CUDA_VISIBLE_DEVICES. Thread-safe; all pools of a reduction share one."""

    def __init__(self, groups: Sequence[str] = (), say: Say = lambda text: None) -> None:
        self._runs: Counter[str] = Counter()
        """How many go on in each."""
        self._well = [*(groups or (FIRST,))]
        self._say, self._lock, self._probing = say, threading.Lock(), threading.Lock()
        self._trusted: dict[str, float] = {}
        """When they were last found well."""

    @property
    def names(self) -> tuple[str, ...]:
        with self._lock:
            return tuple(self._well)

    def __len__(self) -> int:
        return len(self._well)

    def on(self, groups: Sequence[str]) -> GpuGroups:
        """Others, of which the same is told."""
        return GpuGroups(groups, self._say)

    @contextlib.contextmanager
    def one(self) -> Iterator[str]:
        """The group with the fewest runs, for a run; the first of several. So runs one after another have the same."""
        with self._lock:
            group = min(self._well, key=lambda each: self._runs[each])
            self._runs[group] += 1
        try:
            yield group
        finally:
            with self._lock:
                self._runs[group] -= 1

    def run(self, make: Callable[[str], Run]) -> Run:
        """What `make` comes to on a group; on another one, where that turns out to be sick. The last one stays: who
        notes that nothing answers any more tells of it."""
        while True:
            with self.one() as group:
                run = make(group)
            if len(self) == 1 or not doubtful(run):
                return run
            dropped, none_left = self.drop_sick([group])
            if none_left:
                raise SickDevice(f"no healthy GPU is left: {none_left}. {RESET}")
            if not dropped:
                return run

    def drop_sick(self, groups: Sequence[str] = ()) -> tuple[bool, str]:
        """Leave out those among these (default: all) on which a healthy program fails, and tell. Returns whether there
        were any, and why none would be left, where that is so; then all stay."""
        with self._probing:  # who comes second hears of what the first found
            named, before = groups or self.names, time.monotonic() - TRUSTED
            known = any(each not in self.names for each in named)
            asked = [each for each in named if each in self.names and self._trusted.get(each, before) <= before]
            found = {group: why for group, why in zip(asked, troubles(asked)) if why}
            left = tuple(each for each in self.names if each not in found)
            words = [f"{_called(group)}: {why}" for group, why in found.items()]
            if not left:
                return False, "; ".join(words)
            with self._lock:
                self._well = [*left]
                self._trusted.update(dict.fromkeys(asked, time.monotonic()))
        for told in words:
            self._say(f"{told}: it is sick and gets no more runs, {len(left)} left")
        return bool(found or known), ""


def troubles(groups: Sequence[str]) -> list[str]:
    """Why a healthy program fails on one of the GPUs of each of these groups; empty: it does well."""

    def trouble(group: str) -> str:
        return next(filter(None, map(gpus.trouble, group.split(","))), "")

    if not groups:
        return []
    with ThreadPoolExecutor(len(groups), thread_name_prefix="probe") as threads:
        return list(threads.map(trouble, groups))


def usable(environment: Mapping[str, str], most: int | None, say: Say) -> tuple[tuple[str, ...], bool]:
    """The GPUs that a program with this environment sees and that are well, `most` of them, each by its name; and
    whether it sees others. Empty where there is one, or nobody tells. Those of another model than the first are left
    out: a verdict may hang on it. What is left out is told. Raises SickDevice where none is well."""
    seen = gpus.visible(environment)
    if len(seen) < 2:
        return (), False
    alike = [name for name, model in seen if model == seen[0][1]]
    others = sorted({model for _, model in seen if model != seen[0][1]})
    if others:
        say(f"not used: {', '.join(others)}, since verdicts may differ from those of the {seen[0][1]}")
    groups = GpuGroups(alike, say)
    if none_left := groups.drop_sick()[1]:
        raise SickDevice(f"no healthy GPU is left: {none_left}. {RESET}")
    if most is not None and most > len(groups):
        say(f"--gpus {most}: there are {len(groups)}")
    names = groups.names[:most]
    return names, len(names) < len(seen)


def grouped(names: Sequence[str], size: int) -> tuple[str, ...]:
    """Groups of so many GPUs; those that are left over belong to none."""
    return tuple(",".join(names[at : at + size]) for at in range(0, len(names) - size + 1, size))


def doubtful(run: Run) -> bool:
    """Whether a run may have ended as it did because its GPU is sick."""
    failed = "\n".join([run.failure.text if run.failure is not None else "", *run.children])
    return bool(run.trouble or (run.timed_out and not run.hanging) or _LOST.search(failed))


def _called(group: str) -> str:
    return group or os.environ.get("CUDA_VISIBLE_DEVICES") or "the first GPU"
