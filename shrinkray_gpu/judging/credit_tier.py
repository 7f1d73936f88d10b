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
from shrinkray_gpu.judging.lane_tier import LaneTier
from shrinkray_gpu.judging.policy import Policy
from shrinkray_gpu.judging.tally import CREDIT, Tally
from shrinkray_gpu.oracle import Oracle
from shrinkray_gpu.oracle.same import SameFaultOracle
from shrinkray_gpu.oracle.verdict import Answer, Verdict
from shrinkray_gpu.runner.run import Run

UNKNOWN_CONTENT = "#?"
"""In a launch's argument: what it holds was written by a kernel, and no kernel ran."""


def may_credit(oracle: Oracle, policy: Policy) -> bool:
    """Whether a verdict may rest on a dry run's launches.

    Outputs that are compared depend on seeds and memory, of which the launches tell nothing. Nor do they of a fault
    that host code raises by what kernels computed: a dry run lets every such comparison hold.
    """
    reference = oracle.reference if isinstance(oracle, SameFaultOracle) else None
    by_the_host = reference is not None and reference.fault.phase in ("python", "exit")
    return policy.repeats is None and not oracle.needs.twins and (policy.predicts or not by_the_host)


class CreditTier:
    """The first candidate of its launches goes on to `following`; others with the same wait for that verdict."""

    def __init__(self, following: LaneTier, tally: Tally) -> None:
        self.following, self.tally = following, tally
        self._known: dict[tuple[str, bool], Future[Verdict]] = {}
        """By the launches, and by whether reused contexts were doubted when they were judged."""
        self._lock = threading.Lock()

    def settle(self, candidate: Candidate) -> Verdict:
        """The verdict of the dry run, or of a lane on the same launches, where one of them tells of this candidate."""
        dry_run = candidate.dry_run
        if dry_run is None or not candidate.policy.credit:
            return self.following.settle(candidate)
        run, verdict = dry_run.run, dry_run.verdict
        if candidate.policy.predicts and verdict.faults:
            self.tally.count(CREDIT)
            return Verdict(Answer.FAULTS, f"on credit: {verdict.why}", credit=True)
        # The launches of a CUDA C++ extension are seen by nobody.
        if run.builds or any(UNKNOWN_CONTENT in arg for launch in run.launches for arg in launch.args):
            return self.following.settle(candidate)
        return self._by_launches(run, candidate)

    def _by_launches(self, run: Run, candidate: Candidate) -> Verdict:
        """One lane run for all candidates that make the same launches."""
        key = _signature(run), candidate.policy.doubts_reused
        mine: Future[Verdict] = Future()
        with self._lock:
            known = self._known.setdefault(key, mine)
        if known is not mine:
            verdict = known.result()
            if verdict.is_known and not (candidate.policy.insisting and verdict.provisional):
                self.tally.count(CREDIT)
                return replace(verdict, why="on credit: its launches were judged before", credit=True)
            return self.following.settle(candidate)
        try:
            verdict = self.following.settle(candidate)
        except BaseException as error:
            mine.set_exception(error)
            raise
        mine.set_result(verdict)
        if not verdict.is_known:
            with self._lock:
                self._known.pop(key, None)
        return verdict


def _signature(run: Run) -> str:
    """The launches that a program asks for, free of names and addresses, and how its host code ended."""
    kernels = {compiled.hash: (compiled.ttir_key, sorted(compiled.options.items())) for compiled in run.compiles}
    launches = [(kernels.get(x.hash, x.hash), x.grid, x.args, x.synced, bool(x.fault)) for x in run.launches]
    failed = [(c.failure.type, c.failure.text) for c in run.compiles if c.failure]
    ended = (run.exit, run.signal, run.failure.type if run.failure else "", run.driver_error)
    return hashlib.sha256(repr((launches, failed, ended)).encode()).hexdigest()
