"""Oracles on how the process ended: exception type, exit status, signal, time limit."""

from __future__ import annotations

from dataclasses import dataclass, field

from shrinkray_gpu.oracle import speech
from shrinkray_gpu.oracle.guarded_pattern import Pattern
from shrinkray_gpu.oracle.needs import Needs
from shrinkray_gpu.oracle.oracle import Oracle
from shrinkray_gpu.oracle.verdict import Verdict, lacks, shows, unclear
from shrinkray_gpu.oracle.words import weakness
from shrinkray_gpu.runner.run import Failure, Run


@dataclass(frozen=True, kw_only=True)
class ExceptionOracle(Oracle):
    """`exception:Type[:regex]`: an uncaught exception of that type or one derived from it."""

    type: str
    pattern: Pattern | None = None
    learnt: tuple[tuple[str, tuple[str, ...]], ...] = field(default=())
    """Ancestors of the original's own exception types, which a plain process does not tell."""
    needs: Needs = Needs(asserts=True)

    def verdict(self, run: Run) -> Verdict:
        failure = speech.uncaught(run)
        if failure is None:
            for child in run.children:
                if (said := speech.exception_in(child)) and self._fits(said):
                    return shows(f"child process: {speech.clip(child)}")
            return lacks(f"no uncaught exception: {speech.ending(run)}")
        fits = self._fits(failure)
        if fits is None:
            return unclear(f"{speech.ending(run)}, and a plain run does not tell whether that is a {self.type}")
        if not fits:
            return lacks(speech.ending(run))
        if self.pattern is not None and not self._says(failure):
            return lacks(f"{speech.ending(run)}, which does not match {self.pattern.pattern!r}")
        return shows(speech.ending(run))

    def calibrate(self, reference: Run) -> ExceptionOracle:
        tuned = super().calibrate(reference)
        failure = speech.uncaught(reference)
        if failure is not None and failure.bases:
            tuned = tuned._with(learnt=((_short(failure.type), failure.bases),))
        if failure is not None and not tuned.warning and (weak := weakness(failure)):
            tuned = tuned._with(warning=weak)
        return tuned

    @property
    def blunt(self) -> bool:
        return self.pattern is None

    def asks_for(self, words: str) -> bool:
        if self.pattern is not None:
            return bool(self.pattern.search(words))
        return _short(self.type) in ("MemoryError", "OutOfMemoryError")

    def _fits(self, failure: Failure) -> bool | None:
        names = speech.ancestors(failure)
        known = dict(self.learnt).get(_short(failure.type))
        if names is None and known is not None:
            names = (failure.type, *known)
        if names is None:
            return True if _same_type(failure.type, self.type) else None
        return any(_same_type(name, self.type) for name in names)

    def _says(self, failure: Failure) -> bool:
        assert self.pattern is not None
        return self.pattern.search(speech.without_quotations(failure.text)) is not None


@dataclass(frozen=True, kw_only=True)
class ExitOracle(Oracle):
    """`exit:N`: the exit status, whatever the reason."""

    status: int
    needs: Needs = Needs(asserts=True)

    def verdict(self, run: Run) -> Verdict:
        if run.signal is None and _status(run) == self.status:
            return shows(speech.ending(run))
        return lacks(speech.ending(run))

    @property
    def blunt(self) -> bool:
        return True


@dataclass(frozen=True, kw_only=True)
class MismatchOracle(Oracle):
    """`mismatch`: the script fails a check of its own. Which one, and that a kernel takes part in it, is looked up in
    the original, and each candidate is held against that: see `comparison_check`."""

    needs: Needs = Needs(asserts=True, checked=True)

    def verdict(self, run: Run) -> Verdict:
        failure = speech.uncaught(run)
        own = bool(weakness(failure)) if failure is not None else run.signal is None and _status(run) not in (0, None)
        if failure is not None and not own and run.mode == "plain":
            return unclear(f"{speech.ending(run)}, and a plain run does not tell whether the script raises that itself")
        return shows(speech.ending(run)) if own else lacks(speech.ending(run))


@dataclass(frozen=True, kw_only=True)
class SignalOracle(Oracle):
    """`signal:SIGABRT`: the signal that ended the process. One that we sent ourselves, for time, is none."""

    number: int

    def doubt(self, run: Run) -> str:
        if run.signal == self.number and not run.timed_out:
            return run.trouble
        return super().doubt(run)

    def verdict(self, run: Run) -> Verdict:
        return shows(speech.ending(run)) if run.signal == self.number else lacks(speech.ending(run))


@dataclass(frozen=True, kw_only=True)
class TimeoutOracle(Oracle):
    """`timeout`: it does not end within the time limit. Asked with nothing beside it, else others make it slow."""

    needs: Needs = Needs(timing=True)

    def verdict(self, run: Run) -> Verdict:
        if run.timed_out:
            return shows(f"it did not end within {run.seconds:.0f} s{speech.last_launch(run)}")
        return lacks(f"{speech.ending(run)} after {run.seconds:.1f} s")


def _status(run: Run) -> int | None:
    return 1 if run.exit is None and run.failure is not None else run.exit


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _same_type(name: str, asked: str) -> bool:
    """`AcceleratorError` and `torch.AcceleratorError` are the same; a dotted question must match on whole parts."""
    return name == asked or name.endswith("." + asked) or ("." in asked and "." not in name and _short(asked) == name)
