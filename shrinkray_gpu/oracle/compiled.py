"""Oracles on the compiler: what it raised or printed, and the code that it made."""

from __future__ import annotations

from dataclasses import dataclass

from shrinkray_gpu.oracle import speech
from shrinkray_gpu.oracle.driver_error import static_rule, undecided_by
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.oracle.guarded_pattern import Pattern
from shrinkray_gpu.oracle.oracle import Oracle
from shrinkray_gpu.oracle.verdict import Verdict, lacks, shows, unclear
from shrinkray_gpu.runner.inside.static import rules
from shrinkray_gpu.runner.run import Run


@dataclass(frozen=True, kw_only=True)
class CompileOracle(Oracle):
    """`compile:regex`: raised or printed while Triton compiles.

    Most compiler messages are only printed: eight of nine crashes tried leave no more than
    `PassManager::run failed` in the exception.
    """

    pattern: Pattern
    shown: str = ""
    """Whether the original `died` of it or `swallowed` it (an autotuner does)."""

    def verdict(self, run: Run) -> Verdict:
        for compile in run.compiles:
            text = "\n".join([speech.diagnostics(compile), *speech.reasons(compile)])
            if found := self.pattern.search(text):
                line = f"compiling {compile.kernel}: {speech.matching_line(found)}"
                if self.shown == "died" and not speech.has_failed(run):
                    return lacks(f"{line}, but the script ends well, unlike the original")
                return shows(line)
        if run.mode == "plain" or run.signal is not None:
            # Nobody watches a plain process compile, and a crash takes the watcher with it.
            for said in speech.failure_words(run):
                if found := self.pattern.search(speech.LISTING.sub("", said.text)):
                    return shows(f"{said.place}: {speech.matching_line(found)}")
            if self.shown == "swallowed" and not speech.has_failed(run):
                return unclear(f"it ends well, as the original does, and nobody watches a {run.mode} run compile")
        broken = next((one for one in run.compiles if one.failure is not None), None)
        if broken is not None and broken.failure is not None:
            said_instead = speech.clip(speech.last_line(broken.failure))
            return lacks(f"compiling {broken.kernel} fails otherwise: {said_instead}")
        compiled = f"{len(run.compiles)} kernels compiled" if run.compiles else "nothing was compiled"
        return lacks(f"{compiled}, {speech.ending(run)}")

    def calibrate(self, reference: Run) -> CompileOracle:
        shown = "died" if speech.has_failed(reference) else "swallowed"
        return super().calibrate(reference)._with(shown=shown)

    def binds(self, fault: Fault) -> bool:
        return fault.phase in ("compile", "exit")  # the script may go on, and die of something else later

    def asks_for(self, words: str) -> bool:
        return bool(self.pattern.search(words))


@dataclass(frozen=True, kw_only=True)
class CodeOracle(Oracle):
    """`ttgir:regex` and its like: some compiled kernel's code matches; with `!`, kernels were compiled, none does."""

    stage: str
    pattern: Pattern
    absent: bool = False

    def binds(self, fault: Fault) -> bool:
        return False  # the question is about code; how the run ends is none

    def verdict(self, run: Run) -> Verdict:
        codes = [(one.kernel, one.ir.get(self.stage)) for one in run.compiles if one.failure is None]
        delivered = [(kernel, code) for kernel, code in codes if code is not None]
        for kernel, code in delivered:
            if found := self.pattern.search(code):
                line = f"{self.stage} of {kernel}: {speech.matching_line(found)}"
                return lacks(line) if self.absent else shows(line)
        if len(delivered) < len(codes):
            return unclear(f"the {self.stage} of {len(codes) - len(delivered)} kernels was not delivered")
        if not delivered:
            return lacks(f"no kernel was compiled to {self.stage}, {speech.ending(run)}")
        kernels = ", ".join(dict.fromkeys(kernel for kernel, _ in delivered))
        why = f"no match in the {self.stage} of {kernels}"
        return shows(why) if self.absent else lacks(why)


@dataclass(frozen=True, kw_only=True)
class StaticOracle(Oracle):
    """`static:RULE`: a launch that breaks a static rule, told from its code, grid and arguments, and waited for.

    The wait matters: a fault that nothing waits for is one that nobody sees.
    """

    rule: str

    def verdict(self, run: Run) -> Verdict:
        broken = [launch for launch in run.launches if (rule := static_rule(launch)) and rule.name == self.rule]
        for launch in broken:
            if launch.synced:
                return shows(f"launch of {launch.kernel}{list(launch.grid)}: {rules.of_fault(launch.fault)[1]}")
        if broken:
            return lacks(
                f"launch of {broken[0].kernel} must fault ({self.rule}), but then nothing waits for the device"
            )
        if undecided := undecided_by(run, self.needs.rules | {self.rule}):
            return unclear(undecided)
        if run.launches and not run.virtual:
            return unclear(f"static rules are decided on the virtual GPU (--arch), and this was a {run.mode} run")
        launched = f"{len(run.launches)} launches, none breaks the rule" if run.launches else "nothing was launched"
        return lacks(f"{launched}, {speech.ending(run)}")
