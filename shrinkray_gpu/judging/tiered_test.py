"""The interestingness test: from a candidate to its verdict, by the cheapest tier that tells.

The runner says what happened, the oracle whether that is the fault; here they meet, and tries are counted. Where the
fault is flaky, each tier that really runs a candidate does so until `repetition` has its numbers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, Protocol, TypeVar

from shrinkray_gpu.judging.candidate import Candidate
from shrinkray_gpu.judging.cold_tier import ColdTier, ScriptTier
from shrinkray_gpu.judging.credit_tier import CreditTier
from shrinkray_gpu.judging.decider import Decider
from shrinkray_gpu.judging.dry_tier import DryTier
from shrinkray_gpu.judging.lane_tier import LaneTier
from shrinkray_gpu.judging.policy import Policy
from shrinkray_gpu.judging.tally import Tally
from shrinkray_gpu.judging.tightening import Tightening
from shrinkray_gpu.oracle import Oracle
from shrinkray_gpu.oracle.verdict import Verdict
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner.pool import Pool
from shrinkray_gpu.runner.run import Run

P = ParamSpec("P")
T = TypeVar("T")


class Tier(Protocol):
    """One way to a verdict."""

    def settle(self, candidate: Candidate) -> Verdict | None:
        """Its verdict; None: the next tier must tell."""


class TieredTest:
    """Judges candidates in parallel.

    `pool` holds the lanes that decide. `dry`, where given, is a pool on the virtual GPU that goes before them. `tries`
    are those made before there was a test, by tier.
    """

    def __init__(
        self,
        oracle: Oracle,
        pool: Pool,
        *,
        dry: Pool | None = None,
        policy: Policy = Policy(),  # noqa: B008  it is frozen
        tries: Mapping[str, int] | None = None,
    ) -> None:
        self.oracle, self.pool, self.policy = oracle, pool, policy
        self.tally = tally = Tally(tries)
        self._decider = decider = Decider(policy.repeats, pool.jobs)
        self.lane = LaneTier(oracle, pool, policy, decider, tally)
        self.credit = CreditTier(oracle, self.lane, policy, decider, tally)
        self.dry = DryTier(oracle, dry, self.credit, policy, decider, tally) if dry is not None else None
        self.cold = ColdTier(oracle, pool, decider, tally)
        self.script = ScriptTier(oracle, pool.script.path.name, decider, tally)
        running: list[Tier] = [self.lane] if self.dry is None else [self.dry, self.credit, self.lane]
        self.stages: list[list[Tier]] = [running] * oracle.needs.run + [[self.script]] * oracle.needs.text
        """The tiers that ask of a run, cheapest first, and those that ask of the text: a "yes" must pass each list."""
        self._revision = 0
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(pool.jobs + (dry.jobs if dry is not None else 0), thread_name_prefix="test")

    @property
    def lanes(self) -> int:
        """Candidates that may be judged at a time, by the cheapest tier."""
        return self.pool.jobs if self.dry is None else self.dry.pool.jobs

    @property
    def tries(self) -> Mapping[str, int]:
        """By the tier that settled them."""
        return self.tally.tries

    @property
    def revision(self) -> int:
        """Another one after each change of what a verdict rests on."""
        return self._revision

    # What the engine asks

    def judge(self, programs: Sequence[Program]) -> list[Verdict]:
        """Verdicts in the order of the programs."""
        asked = [self.begin(Candidate(program.text)) for program in programs]
        return [future.result() for future in asked]

    def foresee(self, likely: Iterable[Program]) -> None:
        """Nothing is done ahead: see `Ahead`."""

    def insist(self, on: bool) -> None:
        """In the last round, repeat in fresh contexts what a reused one denied."""
        self._decider.insist(on)
        self._changed()

    def values(self, program: Program) -> Mapping[int, str]:
        """The values that a program with watched expressions computes: on the virtual GPU, where that shows the fault
        too, since it takes no context. What kernels would have written is made up there; the fault does without."""
        dry = self.dry
        pool = dry.pool if dry is not None and dry.predicts and not dry.given_up else self.pool
        return pool.run(program.text, values=True, machine_code=self.policy.machine_code).values

    def capture(self, program: Program) -> Run:
        """Run the program once more, and write down the launch that faults. A flaky one until it does, if it will."""
        repeats = self.policy.repeats
        for _ in range(repeats.clean if repeats else 1):
            run = self.pool.run(program.text, fresh=True, capture="launch")
            if self.oracle.judge(run).faults:
                break
        return run

    # One candidate

    def settle(self, candidate: Candidate) -> Verdict:
        """The verdict of the first tier that tells, for each of the stages until one says no."""
        for tiers in self.stages:
            verdict = next(told for tier in tiers if (told := tier.settle(candidate)) is not None)
            if not verdict.faults:
                break
        return verdict

    def begin(self, candidate: Candidate) -> Future[Verdict]:
        """Judge it in a thread of the test's own."""
        return self._threads.submit(self.settle, candidate)

    def beside(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Other work that takes the turn of a candidate."""
        return self._threads.submit(work, *args, **kwargs)

    # What changes it

    def tighten(self, tightening: Tightening) -> None:
        """From now on a "yes" must pass this, too."""
        self._decider.tighten(tightening)
        self._changed()

    def forget(self) -> None:
        """No verdict is taken on credit any more, nor the launches known that were judged before."""
        self.credit.forget()
        self._changed()

    def doubt_reused_contexts(self) -> None:
        """What was accepted was refuted. A context that passed another program before has other memory mapped beyond a
        tensor than a fresh one: from now on each "yes" of such a one is asked again in a fresh one."""
        self.lane.doubt_reused_contexts()
        self.credit.forget_launches()
        self._changed()

    def doubt_brief(self) -> None:
        """What a lane took to hang after a brief wait came to an end: from now on all lanes wait."""
        self.lane.wait_in_full()
        self.forget()

    def _changed(self) -> None:
        with self._lock:
            self._revision += 1

    def close(self) -> None:
        self._threads.shutdown(wait=True, cancel_futures=True)
        self._decider.close()
