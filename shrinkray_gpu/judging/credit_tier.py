"""The second tier: launches that were judged before need no second run.

A host edit that leaves the launches as they were leaves the fault as it was, mostly. What is taken on credit the engine
has confirmed by cold runs.
"""

from __future__ import annotations

import hashlib
import threading
from concurrent.futures import Future
from dataclasses import replace

from shrinkray_gpu.judging.candidate import Candidate
from shrinkray_gpu.judging.decider import Decider
from shrinkray_gpu.judging.lane_tier import LaneTier
from shrinkray_gpu.judging.policy import Policy
from shrinkray_gpu.judging.tally import CREDIT, Tally
from shrinkray_gpu.oracle import Oracle
from shrinkray_gpu.oracle.same import SameFaultOracle
from shrinkray_gpu.oracle.verdict import Answer, Verdict
from shrinkray_gpu.runner.run import Run

UNKNOWN_CONTENT = "#?"
"""In a launch's argument: what it holds was written by a kernel, and no kernel ran."""


class CreditTier:
    """Goes to `lane` itself with the first candidate of its launches: others with the same wait for that verdict."""

    def __init__(self, oracle: Oracle, lane: LaneTier, policy: Policy, decider: Decider, tally: Tally) -> None:
        self.lane, self.decider, self.tally = lane, decider, tally
        self.predicts = policy.predicts
        # Outputs that are compared depend on seeds and memory, of which a dry run's launches tell nothing. Nor do they
        # of a fault that host code raises by what kernels computed: a dry run lets every such comparison hold.
        told = policy.predicts or not _raised_by_the_host(oracle)
        self._given = policy.credit and policy.repeats is None and not oracle.needs.twins and told
        self._known: dict[str, Future[Verdict]] = {}
        self._lock = threading.Lock()

    @property
    def given(self) -> bool:
        return self._given

    def forget(self) -> None:
        """No verdict is taken on credit any more, nor the launches known that were judged before."""
        with self._lock:
            self._given = False
            self._known.clear()

    def forget_launches(self) -> None:
        """The launches that were judged before are judged anew."""
        with self._lock:
            self._known.clear()

    def settle(self, candidate: Candidate) -> Verdict | None:
        """The verdict of the dry run, or of a lane on the same launches; None where neither tells of this candidate."""
        foreseen = candidate.foreseen
        if foreseen is None or not self._given:
            return None
        run, verdict = foreseen.run, foreseen.verdict
        if self.predicts and verdict.faults:
            self.tally.count(CREDIT)
            return Verdict(Answer.FAULTS, f"on credit: {verdict.why}", credit=True)
        # The launches of a CUDA C++ extension are seen by nobody.
        if run.builds or any(UNKNOWN_CONTENT in arg for launch in run.launches for arg in launch.args):
            return None
        return self._once(_signature(run), candidate)

    def _once(self, signature: str, candidate: Candidate) -> Verdict | None:
        """One lane run for all candidates that make the same launches."""
        mine: Future[Verdict] = Future()
        with self._lock:
            known = self._known.setdefault(signature, mine)
        if known is not mine:
            verdict = known.result()
            if verdict.is_known and not (self.decider.insisting and verdict.provisional):
                self.tally.count(CREDIT)
                return replace(verdict, why="on credit: its launches were judged before", credit=True)
            return None
        try:
            verdict = self.lane.settle(candidate)
        except BaseException as error:
            mine.set_exception(error)
            raise
        mine.set_result(verdict)
        if not verdict.is_known:
            with self._lock:
                self._known.pop(signature, None)
        return verdict


def _raised_by_the_host(oracle: Oracle) -> bool:
    reference = oracle.reference if isinstance(oracle, SameFaultOracle) else None
    return reference is not None and reference.fault.phase in ("python", "exit")


def _signature(run: Run) -> str:
    """The launches that a program asks for, free of names and addresses, and how its host code ended."""
    kernels = {compiled.hash: (compiled.ttir_key, sorted(compiled.options.items())) for compiled in run.compiles}
    launches = [(kernels.get(x.hash, x.hash), x.grid, x.args, x.synced, bool(x.fault)) for x in run.launches]
    failed = [(c.failure.type, c.failure.text) for c in run.compiles if c.failure]
    ended = (run.exit, run.signal, run.failure.type if run.failure else "", run.driver_error)
    return hashlib.sha256(repr((launches, failed, ended)).encode()).hexdigest()
