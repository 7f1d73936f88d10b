"""Lanes in stock: spare ones of a worker on the way, used ones that came out clean, and which workers are kept."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from shrinkray_gpu.runner.lanes import COMES_UP, CONTEXTS, MEMORY, Lane, Worker
from shrinkray_gpu.runner.request import Request, RunSettings
from shrinkray_gpu.runner.run import Run

FIRST = 2
"""Spare lanes that a worker begins with, and keeps on the way until somebody has to wait for one. On a GPU each makes a
context, one after another for the whole machine: cold processes beside a worker that makes 17 of them take half as long
again, and so does whoever waits for a lane."""


@dataclass
class LaneRecord:
    """What lanes came to, and what the runs of all views of a pool told of the device."""

    peak: int = 0
    retired: Counter[str] = field(default_factory=Counter)
    free_bytes: int = 0
    fence: tuple[str, ...] | None = None
    """Parts of it that held around the last run of a candidate as it is; None before the first one. A run that writes
    a core dump has fewer than others."""


@dataclass(frozen=True)
class LaneTerms:
    """On what terms a lane runs one candidate."""

    mode: str
    """Names the run, where no other program used its context before."""
    seconds: float
    fresh: bool
    """Whether the context must be one that nothing ran in before."""
    reuse: bool
    """Whether the lane takes another candidate if it came out clean."""


class Stocks:
    """Workers with their lanes, by what they were started with. Of those not in use the ones used last are kept.

    They are started in threads of this object's own: whoever wants another one meanwhile does not wait for this one.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._made: OrderedDict[Hashable, Future[Stock]] = OrderedDict()
        self._users: Counter[Hashable] = Counter()
        self._lock = threading.Lock()
        self._starters = ThreadPoolExecutor(most, thread_name_prefix="starter")

    @contextlib.contextmanager
    def using(self, key: Hashable, make: Callable[[], Stock]) -> Iterator[Stock]:
        """The stock for `key`, made if there is none. What made it impossible is raised each time it is asked for."""
        with self._lock:
            if key not in self._made:
                self._made[key] = self._starters.submit(make)
            self._made.move_to_end(key)
            self._users[key] += 1
            made = self._made[key]
            idle = [each for each in self._made if not self._users[each]]
            over = [self._made.pop(each) for each in idle[: max(0, len(self._made) - self.most)]]
        for each in over:
            each.add_done_callback(_end)
        try:
            yield made.result()
        finally:
            with self._lock:
                self._users[key] -= 1

    def run(
        self,
        key: Hashable,
        make: Callable[[], Stock],
        request: Request,
        settings: RunSettings,
        terms: LaneTerms,
        record: LaneRecord,
    ) -> Run:
        """Run a candidate in a lane of the stock for `key`. A worker that was killed is started once more."""
        for _ in range(2):
            with self.using(key, make) as stock:
                try:
                    return stock.run(request, settings, terms, record)
                except WorkerGone:
                    self.drop(stock)
        return Run(terms.mode, exit=None, trouble="the process that forks the lanes was killed")

    def start(self, key: Hashable, make: Callable[[], Stock], *, lanes: int = 0) -> Mapping[str, Any]:
        """Bring up the worker for `key`, and so many spare lanes, which will be taken at once. Returns what the worker
        says of its interpreter."""
        with self.using(key, make) as stock:
            stock.expect(lanes)
            return stock.worker.report

    def drop(self, stock: Stock) -> None:
        """Have another one made when it is asked for next."""
        with self._lock:
            for key, made in list(self._made.items()):
                if made.done() and made.exception() is None and made.result() is stock:
                    del self._made[key]
        stock.close()

    def close(self) -> None:
        with self._lock:
            self._starters.shutdown(wait=False)  # who asks from here on gets none, which nobody would end
            made = list(self._made.values())
            self._made.clear()
        for each in made:
            each.add_done_callback(_end)
        self._starters.shutdown()


def _end(made: Future[Stock]) -> None:
    if made.exception() is None:
        made.result().close()


class WorkerGone(Exception):
    """The process that forks the lanes has ended (out of memory, killed by hand)."""


class Stock:
    """The lanes of one worker: spare ones on the way, and used ones that came out clean."""

    def __init__(self, worker: Worker, spares: int, first: int = FIRST) -> None:
        self.worker = worker
        self.lock = threading.Lock()
        self.most, self.wanted = spares, min(first, spares)
        """Spare lanes at most, and those that are kept on the way: one more for each lane that was waited for."""
        self.clean: deque[Lane] = deque()
        self.spares: deque[Lane] = deque()
        self.closed = False
        self.expect(self.wanted)

    def expect(self, lanes: int) -> None:
        """Have so many spare lanes on the way, which will be taken at once."""
        with self.lock, contextlib.suppress(OSError):  # a worker that was killed meanwhile: there are none to take
            self._have_spares(min(lanes, self.most))

    def _have_spares(self, count: int) -> None:
        while len(self.spares) < count:
            self.spares.append(self.worker.spawn())

    def run(self, request: Request, settings: RunSettings, terms: LaneTerms, record: LaneRecord) -> Run:
        """Run a candidate in one of the lanes; in another one where that tells of trouble of its own. Raises
        WorkerGone."""
        trouble = ""
        for _ in range(3):
            lane = self.take(terms.fresh)
            if not lane.wait_ready(CONTEXTS if self.worker.setup.warm else COMES_UP):
                trouble = lane.trouble
                if not lane.silent:
                    lane.ended(1.0)  # until its parent tells of it, or is known to be gone
                lane.kill()
                self.release()
                if lane.silent:
                    break  # another one would be waited for as long
                continue
            if lane.device:
                record.free_bytes = record.free_bytes or lane.device["free"]
            mode = "warm" if lane.used else terms.mode
            run, over = lane.run(request, settings, mode=mode, seconds=terms.seconds)
            record.peak = max(record.peak, run.peak)
            record.retired[over] += 1
            self.give_back(lane, again=not over and terms.reuse)
            if not run.trouble or run.failure is not None:  # of a bug of ours, which another lane has, too
                return run
            trouble = run.trouble
            if over == MEMORY or (over == "broken" and not lane.used):
                break  # by the candidate, which would do that to the next lane, too
        return Run(terms.mode, exit=None, trouble=trouble)

    def take(self, fresh: bool) -> Lane:
        """A lane for one more candidate. Raises WorkerGone where there is none, and none can come."""
        with self.lock:
            if self.clean and not fresh:
                return self.clean.pop()
            if self.worker.exits.closed:
                raise WorkerGone
            with contextlib.suppress(OSError):
                self._have_spares(1)
            if not self.spares:
                raise WorkerGone
            lane = self.spares.popleft()
            if not lane.is_up:
                self.wanted = min(self.wanted + 1, self.most)
            with contextlib.suppress(OSError):
                self._have_spares(self.wanted)
            return lane

    def give_back(self, lane: Lane, *, again: bool) -> None:
        with self.lock:
            if again and not self.closed and len(self.clean) < self.most:  # each holds a context of 0.5 GB
                self.clean.append(lane)
                return
        lane.kill()

    def release(self) -> None:
        """End the idle lanes that were used before: their contexts hold memory that a fresh one may want."""
        with self.lock:
            for lane in self.clean:
                lane.kill()
            self.clean.clear()

    def close(self) -> None:
        with self.lock:
            self.closed = True
            for lane in (*self.clean, *self.spares):
                lane.link.close()
        self.worker.close()
