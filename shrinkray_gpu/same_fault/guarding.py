"""What keeps a reduction from slipping to another fault, beside the everyday test and beside the search.

Two guards. *Controls*: a knob that made the original pass must make each accepted program pass as well. The *full
fingerprint*: what a core dump or the sanitizer says of a program must be what they said of the original. When a
fingerprint has drifted, the everyday test is tightened by the cheapest means that tells the two apart.
"""

from __future__ import annotations

import base64
import re
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

from shrinkray_gpu.device import disassembly
from shrinkray_gpu.device.instruction import Opcodes, holds
from shrinkray_gpu.judging.judge import Judge
from shrinkray_gpu.oracle.fault import MISALIGNED, Fault, Reference
from shrinkray_gpu.oracle.verdict import Answer, Verdict, lacks, shows, unclear
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner.run import Compile, Run
from shrinkray_gpu.same_fault.controls import Control, Controls, Outcome, Tried, refuse

CONTROLLED = "by the controls: "
DIFFERENT = "NOT the same fault"
WITHOUT_CODE = ", and its kernels do not hold that instruction"

Examine = Callable[[str], Fault | None]
"""The Fault of a program's text by the instruments there are; None if it shows none in that run."""
Check = Callable[[str, Run], Verdict | None]
"""See `Judge.check`."""


@dataclass(frozen=True)
class Evidence:
    """What is known at the end about the fault of the original and that of the repro."""

    original: Fault | None
    repro: Fault | None
    difference: str
    """In what they differ; empty if in nothing that is known."""
    controls: tuple[Tried, ...]
    """How the controls fared on the original."""
    held: tuple[Tried, ...]
    """How those that made the original pass fare on the repro."""

    def told(self, *, slips: int = 0, drifts: int = 0) -> str:
        """Why this is the same fault, and what is not known of it. `slips` and `drifts` were met and undone."""
        for one in self.held:
            if one.outcome is Outcome.FAULTS:
                return f"{DIFFERENT}: the control {one.control.name} makes the original pass, not the repro"
        if self.difference:
            return f"{DIFFERENT}: {self.difference}"
        passes = ", ".join(f"{one.control.name} passes" for one in self.held if one.outcome is Outcome.PASSES)
        if self.original is None:
            why = f"the oracle decides, under controls: {passes}" if passes else "the oracle alone decides"
            return f"the original shows no fault of its own to compare: {why}"
        seen = self.repro is not None and self.repro.instruction
        known, unknown = ["by class and message, in each accepted step"], []
        if self.repro is not None and seen:
            known = [f"by the instruments ({self.repro.instruction}, {self.repro.space} memory)"]
        elif self.original.instruction:
            unknown = ["the instruments told the instruction of the original's fault, and not that of the repro's"]
        if passes:
            known.append(f"under controls: {passes}")
        lame = [one.control.name for one in self.held if one.outcome is Outcome.NOT_APPLICABLE]
        unknown += [f"{name} is not applicable to the repro" for name in lame]
        if not self.held:
            unknown.append("no control makes the original pass")
        known += [f"{slips} steps refused by controls"] * bool(slips) + [f"{drifts} drifts undone"] * bool(drifts)
        return "; ".join([f"same fault: {'; '.join(known)}", *(f"not known: {each}" for each in unknown)])


class Guards:
    """The guards of one reduction. All work is done in threads of its own, in lanes and cold processes of the pool."""

    def __init__(
        self,
        original: Program,
        *,
        judge: Judge,
        reference: Reference | None,
        controls: Controls,
        stepwise: Controls | None = None,
        first: Controls | None = None,
        chosen: Sequence[Control] = (),
        standard: Sequence[Control] = (),
        examine: Examine | None = None,
        known: Fault | None = None,
        prepare: Callable[[], None] | None = None,
    ) -> None:
        self.judge, self.reference, self.controls = judge, reference, controls
        self.stepwise = stepwise or controls
        """The same for accepted steps, with fewer repetitions of a flaky fault: one sighting is enough there. `first`
        is the same for the original, where all are asked at once."""
        self.examine = examine
        self.flaky = judge.repeats is not None
        self.chosen = tuple(chosen)
        self.tightened: list[str] = []
        """What drifts taught the everyday test, in words."""
        self._checks: list[Check] = []
        self._lock = threading.Lock()
        self._faults: dict[str, Future[Fault | None]] = {}
        self._codes: dict[str, Future[Opcodes]] = {}
        self._original = original
        self._known = known
        """The full fingerprint to compare with, where `original` was lifted out of the program that has it."""
        self._controls = tuple(dict.fromkeys((*chosen, *standard)))
        # Guards wait for the first tries, answers for the instruments: none may queue up behind those that wait for it.
        self._first, self._instruments, self._guards, self._answers, self._disassemblers = (
            ThreadPoolExecutor(count, thread_name_prefix=name)
            for name, count in (
                ("controls", 4 if first is None else max(4, len(self._controls))),
                ("instruments", max(2, judge.pool.jobs // 2)),
                ("guards", max(2, judge.pool.jobs // 2)),
                ("answers", 2),
                ("disassembler", judge.pool.jobs),
            )
        )
        self._dear = frozenset(one for one in standard if not one.way.cheap and one not in chosen)
        """Controls that need a process of their own, some seconds: asked with the fingerprints, not at each step."""
        self._at_once = first is not None
        attempt = (first or controls).attempt
        self._tried = [self._first.submit(attempt, one, original.text) for one in self._controls]
        if examine is not None and known is None:
            self._fault_of(original.text)
        elif prepare is not None:  # what `examine` will use, which would begin with the original otherwise
            self._instruments.submit(prepare)
        if known is not None and known.instruction and not self.flaky and judge.pool.setup.arch is None:
            # On a GPU a search drifts most often to an access that the original does not fault at.
            self._deliver_code()
            self._checks.append(self._check_code_if_any)
            judge.check = self._check

    # What the engine asks

    def guard(self, program: Program) -> Future[Verdict]:
        """The controls on an accepted step: FAULTS if they hold, PASSES if one that must pass still faults. Those that
        need a process of their own come with `identify`, unless the user named them."""
        return self._guards.submit(self._guard, program.text)

    def identify(self, program: Program) -> Future[Verdict]:
        """The full fingerprint of an accepted step, and the dear controls: FAULTS if it is the original's fault, PASSES
        if it is another."""
        return self._answers.submit(self._identify, program.text)

    def drifted(self, verdict: Verdict) -> None:
        """Tighten the everyday test by the cheapest means that tells this verdict's fault from the original's. By none
        where only the instruments do: on a GPU that is 2 s for each candidate that faults, one after another.

        All that decides is in the verdicts, so that a resumed reduction, which has them in the journal, does the same.
        """
        self.judge.forget()
        if verdict.why.startswith(CONTROLLED):
            self._tighten("each candidate that faults is tried under all controls", self._check_controls)
        elif verdict.why.endswith(WITHOUT_CODE) and self._check_code not in self._checks:
            self._deliver_code()
            self._tighten("kernels must hold the instruction", self._check_code)

    # The everyday test, tightened

    def _tighten(self, how: str, check: Check) -> None:
        """One check more, beside those that earlier drifts brought: what these see, the new one need not."""
        if check not in self._checks:
            self._checks.append(check)
            self.tightened.append(how)
        self.judge.check = self._check

    def _check(self, source: str, run: Run) -> Verdict | None:
        verdicts = (check(source, run) for check in self._checks)
        return next((verdict for verdict in verdicts if verdict is not None), None)

    def _check_code(self, source: str, run: Run) -> Verdict | None:
        wanted = self.fault
        if wanted is None or run.builds:
            return None
        codes = [self._code(compile) for compile in run.compiles if compile.failure is None]
        if any(code is None or not code.result() or _holds(code.result(), wanted) for code in codes):
            return None
        wide = f" of {wanted.size} bytes" if _width(wanted) else ""
        return lacks(f"another fault: no {wanted.instruction}{wide} in its kernels")

    def _check_code_if_any(self, source: str, run: Run) -> Verdict | None:
        return self._check_code(source, run) if run.compiles else None

    def _code(self, compile: Compile) -> Future[Opcodes] | None:
        """The opcodes of a kernel, found once, none where nobody can list them; None without a cubin. nvdisasm takes as
        long as a try in a lane, so it is begun beside that where the dry run made the very same kernel."""
        cubin = compile.ir.get("cubin")
        with self._lock:
            if compile.hash not in self._codes and cubin:
                self._codes[compile.hash] = self._disassemblers.submit(self._opcodes, base64.b64decode(cubin))
            return self._codes.get(compile.hash)

    def _opcodes(self, cubin: bytes) -> Opcodes:
        setup = self.judge.pool.setup
        tool = disassembly.find(setup.python, setup.environment)
        return disassembly.opcodes(disassembly.listing(tool, cubin)) if tool else frozenset()

    def _begin_code(self, run: Run) -> None:
        for compile in run.compiles:
            self._code(compile)

    def _check_controls(self, source: str, run: Run) -> Verdict | None:
        verdict = self._held(source, self._active(frozenset(self._controls)))
        return verdict if verdict.answer is Answer.PASSES else None

    def _deliver_code(self) -> None:
        pool = self.judge.pool
        pool.script = replace(pool.script, wants=tuple(sorted({*pool.script.wants, "cubin"})))
        self.judge.before_lane = self._begin_code

    def _without_code(self, source: str, wanted: Fault) -> bool:
        """Whether the disassembly alone, for a process of nvdisasm, tells this program from the original."""
        run = self.judge.pool.run(source, wants=("cubin",))
        begun = [code for compile in run.compiles if (code := self._code(compile))]
        codes = [code.result() for code in begun if code.result()]
        return bool(codes) and not any(_holds(code, wanted) for code in codes)

    # What was found out

    @property
    def fault(self) -> Fault | None:
        """The original's Fault, with what the instruments saw. Waits for them."""
        if self._known is not None:
            return self._known
        seen = self._faults.get(self._original.text)
        found = seen.result() if seen is not None else None
        return found or (self.reference.fault if self.reference is not None else None)

    @property
    def tried(self) -> tuple[Tried, ...]:
        """How the controls fared on the original. Waits for them."""
        return tuple(future.result() for future in self._tried)

    @property
    def history(self) -> bool:
        """Whether the fault needs launches that overlap, or their order in time: then no verdict counts for another
        run of the same launches. Waits for the one control that tells."""
        for future, control in zip(self._tried, self._controls):
            if control.name == "serial":
                return future.result().outcome is Outcome.PASSES
        return False

    @property
    def active(self) -> tuple[Control, ...]:
        """The controls that make the original pass. Waits for all."""
        return self._active(frozenset(self._controls))

    def _active(self, among: frozenset[Control]) -> tuple[Control, ...]:
        found = [future.result() for one, future in zip(self._controls, self._tried, strict=True) if one in among]
        return tuple(tried.control for tried in found if tried.outcome is Outcome.PASSES)

    def settle(self) -> None:
        """Wait for the controls on the original, where they take no turns with the candidates, so that none is at work
        beside these; but for the one that leaves the GPU alone, and takes the longest."""
        for future, control in zip(self._tried, self._controls):
            if self._at_once and "interpreter" not in control.way.knobs:
                future.result()

    def insist(self) -> None:
        """Raise UsageError if a control that the user named does not make the original pass."""
        for future in self._tried[: len(set(self.chosen))]:
            if (tried := future.result()).outcome is not Outcome.PASSES:
                refuse(tried)

    @property
    def identifies(self) -> bool:
        """Whether `identify` has anything to ask. A fault that shows in one run of three hardly ever does in both of a
        fingerprint's: of a flaky one only the original and the repro are looked at, as often as it takes."""
        return not self.flaky and (self.examine is not None or bool(self._dear))

    def evidence(self, repro: str) -> Evidence:
        """All that is known in the end. Looks at the repro with the instruments, unless that was done before."""
        original, examine = self.fault, self.examine
        looked = self._fault_of(repro) if examine is not None else None
        held = tuple(self._first.map(lambda control: self.controls.attempt(control, repro), self.active))
        fault = looked.result() if looked is not None else None
        if examine and fault and not fault.instruction and original and original.instruction:
            # Seen on an H100 beside other reductions: core dumps that told nothing of a kernel.
            fault = self._instruments.submit(examine, repro).result() or fault
        difference = self._difference(fault, repro) if fault is not None else ""
        return Evidence(original, fault, difference, self.tried, held)

    def close(self) -> None:
        self.judge.before_lane = None
        for threads in (self._answers, self._guards, self._instruments, self._first, self._disassemblers):
            threads.shutdown(wait=True, cancel_futures=True)

    def _guard(self, source: str) -> Verdict:
        return self._held(source, self._active(frozenset(self._controls) - self._dear))

    def _held(self, source: str, controls: tuple[Control, ...]) -> Verdict:
        if not controls:
            return shows("no control to check")
        return self.stepwise.guard(source, controls)

    def _identify(self, source: str) -> Verdict:
        verdict = self._fingerprint(source) if self.examine is not None else shows("no instrument to ask")
        if verdict.answer is Answer.PASSES:
            return verdict
        held = self._held(source, self._active(self._dear))
        return replace(held, why=f"{CONTROLLED}{held.why}") if held.answer is Answer.PASSES else verdict

    def _fingerprint(self, source: str) -> Verdict:
        fault = self._fault_of(source).result()
        if fault is None:
            return unclear("the instruments saw no fault in their run")
        difference = self._difference(fault, source)
        if difference:
            wanted = self.fault
            told = wanted is not None and wanted.instruction and self._without_code(source, wanted)
            return Verdict(Answer.PASSES, f"another fault: {difference}{WITHOUT_CODE if told else ''}", other=fault)
        return shows(f"the same fault: {fault}")

    def _difference(self, fault: Fault, source: str) -> str:
        wanted = self.fault
        if wanted is None or self.reference is None:
            return ""
        present = frozenset(re.findall(r"\bdef\s+(\w+)", source))
        return replace(self.reference, fault=wanted).slip(fault, present)

    def _fault_of(self, source: str) -> Future[Fault | None]:
        assert self.examine is not None
        examine = self.examine
        with self._lock:
            known = self._faults.get(source)
            if known is None:
                known = self._instruments.submit(examine, source)
                self._faults[source] = known
            return known


def _width(wanted: Fault) -> int:
    """Bytes that the instruction must have: of a misaligned access they are part of the fault."""
    return wanted.size if wanted.code == MISALIGNED else 0


def _holds(opcodes: Opcodes, wanted: Fault) -> bool:
    return holds(opcodes, wanted.instruction, _width(wanted))
