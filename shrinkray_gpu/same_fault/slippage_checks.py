"""What keeps a reduction from slipping to another fault, beside the everyday test and beside the search.

Two checks of accepted steps. *Controls*: a knob that made the original pass must make each accepted program pass as
well. The *full fingerprint*: what a core dump or the sanitizer says of a program must be what they said of the
original. When a fingerprint has drifted, the test is tightened by the cheapest means that tells the two apart.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

from shrinkray_gpu.judging.instruction_check import InstructionCheck
from shrinkray_gpu.judging.tiered_test import TieredTest
from shrinkray_gpu.judging.tightening import Tightening
from shrinkray_gpu.oracle.cause_check import LaunchCauses
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.oracle.same import SameFaultOracle
from shrinkray_gpu.oracle.silent_defects import SilentDefects
from shrinkray_gpu.oracle.verdict import Answer, Verdict, shows, unclear
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.same_fault.active_controls import ActiveControls
from shrinkray_gpu.same_fault.controls import ControlOutcome
from shrinkray_gpu.same_fault.fault_comparison import FaultComparison
from shrinkray_gpu.same_fault.fingerprints import Fingerprints
from shrinkray_gpu.same_fault.healthy_twin import WANTS, Health, health

CONTROLLED = "by the controls: "
WITHOUT_CODE = ", and its kernels do not hold that instruction"


class SlippageChecks:
    """The checks of one reduction. All work is done in threads of their own, in lanes and cold processes of the pool.

    `by_code`: the test asks for the instruction from the beginning. On a GPU a search drifts most often to an access
    that the original does not fault at.
    """

    def __init__(
        self, test: TieredTest, controls: ActiveControls, fingerprints: Fingerprints, *, by_code: bool = False
    ) -> None:
        self.test, self.controls, self.fingerprints = test, controls, fingerprints
        self.flaky = test.policy.repeats is not None
        self.code = InstructionCheck(test.pool)
        self._tightened: list[str] = []
        self._answers = ThreadPoolExecutor(2, thread_name_prefix="answers")
        if by_code:
            test.tighten(self.code.tightening(fingerprints.wanted, if_any=True))

    @property
    def tightened(self) -> tuple[str, ...]:
        """What drifts taught the everyday test, in words."""
        return tuple(self._tightened)

    # What the engine asks

    def control_verdict(self, program: Program) -> Future[Verdict]:
        """The controls on an accepted step: FAULTS if they hold, PASSES if one that must pass still faults. Those that
        need a process of their own come with `fingerprint_verdict`, unless the user named them."""
        return self.controls.begin(program.text)

    def fingerprint_verdict(self, program: Program) -> Future[Verdict]:
        """The full fingerprint of an accepted step, and the dear controls: FAULTS if it is the original's fault, PASSES
        if it is another."""
        return self._answers.submit(self._fingerprint_or_control, program.text)

    def tighten_after(self, verdict: Verdict) -> None:
        """Tighten the everyday test by the cheapest means that tells this verdict's fault from the original's. By none
        where only the instruments do: on a GPU that is 2 s for each candidate that faults, one after another.

        All that decides is in the verdicts, so that a resumed reduction, which has them in the journal, does the same.
        """
        self.test.forget()
        if verdict.why.startswith(CONTROLLED):
            how = "each candidate that faults is tried under all controls"
            self._tighten(how, Tightening((self._refute_by_controls,)))
        elif verdict.why.endswith(WITHOUT_CODE):
            self._tighten("kernels must hold the instruction", self.code.tightening(self.fingerprints.wanted))

    @property
    def takes_fingerprints(self) -> bool:
        """Whether `fingerprint_verdict` has anything to ask. A fault that shows in one run of three hardly ever does in
        both of a fingerprint's: of a flaky one only the original and the repro are looked at, as often as it takes."""
        return not self.flaky and (self.fingerprints.examine is not None or bool(self.controls.dear))

    # At the end

    def fault_of(self, repro: str) -> Fault | None:
        """What the instruments see of the repro; else what is known of the original."""
        fingerprints = self.fingerprints
        seen = fingerprints.of(repro).result() if fingerprints.examine is not None else None
        return seen or fingerprints.wanted

    def compared(self, repro: str) -> FaultComparison:
        """All that is known in the end. Looks at the repro with the instruments, unless that was done before."""
        fingerprints = self.fingerprints
        original = fingerprints.wanted
        looked = fingerprints.of(repro) if fingerprints.examine is not None else None
        held = self.controls.of_repro(repro)
        fault = looked.result() if looked is not None else None
        if fault and not fault.instruction and original and original.instruction:
            # Seen on an H100 beside other reductions: core dumps that told nothing of a kernel.
            fault = fingerprints.again(repro) or fault
        difference = fingerprints.difference(fault, repro) if fault is not None else ""
        cause, drift = self._cause(repro)
        causes = self._causes
        doubt = causes.doubt if causes is not None else ""
        oracle = self.test.oracle
        check = oracle.comparison.kept if isinstance(oracle, SameFaultOracle) and oracle.comparison else ""
        two = oracle.needs.elsewhere is not None
        apart, tried = difference or drift, self.controls.tried
        return FaultComparison(original, fault, apart, tried, held, cause, doubt, check, two)

    def health(self, repro: str, comparison: FaultComparison) -> Health:
        """The healthy twin of the repro, and what else is wrong with it, where the virtual GPU tells."""
        test = self.test
        pool = test.dry.pool if test.dry is not None else test.pool
        needs = test.oracle.needs
        if pool.setup.arch is None or self.flaky or needs.timing or needs.twins or needs.elsewhere:
            return Health()

        def trial(text: str) -> Run:
            test.tally.count("twin")
            return pool.run(test.candidate(text).request, wants=WANTS, machine_code=False)

        first = trial(repro)
        passing = [one.cured for one in comparison.repro_controls if one.outcome is ControlOutcome.PASSES]
        offered = [one for one in passing if one is not None]
        found = health(repro, first, trial, file=pool.script.path.name, offered=offered)
        found = replace(found, second="; ".join(filter(None, (found.second, self._silent(first)))))
        if found.twin is not None and pool is not test.pool:
            seen = test.oracle.judge(test.pool.run(test.candidate(found.twin.text).request, fresh=True))
            if seen.faults or not seen.is_known:  # on the real GPU
                return replace(found, twin=None)
        return found

    def close(self) -> None:
        """Only after the test was closed, whose checks ask us."""
        self._answers.shutdown(wait=True, cancel_futures=True)
        for each in (self.controls, self.fingerprints, self.code):
            each.close()

    def _silent(self, run: Run) -> str:
        """What is wrong with the repro beside its fault that no device tells of, and whose doing that is."""
        oracle, causes = self.test.oracle, self._causes
        known = oracle.silent if isinstance(oracle, SameFaultOracle) else None
        of_fault = {cause.breaks for cause in causes.causes} if causes is not None else set()
        return (known or SilentDefects(None, None)).second(run, of_fault)

    def _cause(self, repro: str) -> tuple[str, str]:
        """Where what goes wrong in the original begins, and in what the repro is another case; both are empty where
        nobody knows."""
        test = self.test
        pool = test.dry.pool if test.dry is not None else test.pool
        causes = self._causes
        if causes is None or pool.setup.arch is None:
            return "", ""
        drift = causes.difference(pool.run(test.candidate(repro).request, machine_code=False))
        return str(causes), drift and f"another cause: {drift}"

    @property
    def _causes(self) -> LaunchCauses | None:
        oracle = self.test.oracle
        return oracle.causes if isinstance(oracle, SameFaultOracle) else None

    def _tighten(self, how: str, tightening: Tightening) -> None:
        """One check more, beside those that earlier drifts brought: what these see, the new one need not."""
        if how not in self._tightened:
            self._tightened.append(how)
            self.test.tighten(tightening)

    def _refute_by_controls(self, text: str, run: Run) -> Verdict | None:
        verdict = self.controls.all_hold(text)
        return verdict if verdict.answer is Answer.PASSES else None

    def _fingerprint_or_control(self, text: str) -> Verdict:
        asks = self.fingerprints.examine is not None
        verdict = self._fingerprint(text) if asks else shows("no instrument to ask")
        if verdict.answer is Answer.PASSES:
            return verdict
        held = self.controls.dear_hold(text)
        return replace(held, why=f"{CONTROLLED}{held.why}") if held.answer is Answer.PASSES else verdict

    def _fingerprint(self, text: str) -> Verdict:
        fault = self.fingerprints.of(text).result()
        if fault is None:
            return unclear("the instruments saw no fault in their run")
        difference = self.fingerprints.difference(fault, text)
        if difference:
            told = WITHOUT_CODE if self._code_tells(text, self.fingerprints.wanted) else ""
            return Verdict(Answer.PASSES, f"another fault: {difference}{told}", other=fault)
        return shows(f"the same fault: {fault}")

    def _code_tells(self, text: str, wanted: Fault | None) -> bool:
        return wanted is not None and bool(wanted.instruction) and self.code.tells_apart(text, wanted)
