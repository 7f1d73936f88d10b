"""What is asked at the end of a reduction: whose fault it is, and what the attachment must have run.

Neither needs the clean runs of the result, but that they bear it out, as they nearly always do. So both begin beside
them, in processes of their own. What was begun for another text, or for other words of its fault, is asked anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Event
from types import TracebackType

from shrinkray_gpu.attachment.header import Header
from shrinkray_gpu.attachment.measurements import Measurements
from shrinkray_gpu.evidence.secrets_found import without_secret_words
from shrinkray_gpu.job import attach
from shrinkray_gpu.job.conclusion import ReproFindings
from shrinkray_gpu.job.ready import Ready
from shrinkray_gpu.job.whose import Whose, blame_of, whose
from shrinkray_gpu.judging.lane_tier import PLENTY
from shrinkray_gpu.lift.data_files import files
from shrinkray_gpu.options import Options, Say
from shrinkray_gpu.oracle import Fault
from shrinkray_gpu.questions.blame.blame import Blame
from shrinkray_gpu.reduction.outcome import Reduction
from shrinkray_gpu.reduction.size import lines
from shrinkray_gpu.result.summary import command_of
from shrinkray_gpu.same_fault.fault_comparison import FaultComparison
from shrinkray_gpu.start import UserProgram


@dataclass
class Inquiry:
    """Of one reduction. `stop` says that the user wants no more of it."""

    ready: Ready
    given: UserProgram
    path: Path
    output: Path
    options: Options
    say: Say
    stop: Callable[[], bool]
    _threads: ThreadPoolExecutor = field(default_factory=partial(ThreadPoolExecutor, 2, thread_name_prefix="inquiry"))
    _over: Event = field(default_factory=Event)
    _awaited: Event = field(default_factory=Event)
    """Whether somebody waits for the attachment: before, a line about it would stand among those of the clean runs."""
    _blame: Future[Blame | None] | None = None
    _measured: tuple[tuple[str, Header], Future[Measurements | None]] | None = None

    def __enter__(self) -> Inquiry:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """The experiments that have not begun are left out. Waits for the others: who closes their lanes ends these."""
        self._over.set()
        self._threads.shutdown(cancel_futures=True)

    def wants_attachment(self, reduction: Reduction) -> bool:
        return self.options.report and reduction.ended not in ("stopped", "interrupted") and not self.stop()

    def begin_verdict(self) -> None:
        """Begin to ask whose fault it is, where that may go on beside the clean runs."""
        if self.options.report and self.may_be_beside and not self.stop():
            self._blame = self._threads.submit(blame_of, self.ready, self.given)

    def begin_attachment(self, text: str, shown: str) -> None:
        """Begin to measure the repro `text`, whose fault has these words, where that may go on beside the clean runs:
        what has files, or will have a second result, is not whole before these have ended."""
        fault = Fault.of(self.ready.plan.reference)
        if self.may_be_beside and not files(text) and not (fault is not None and fault.phase == "compile"):
            asked = text, self._header(shown)
            self._measured = asked, self._threads.submit(self._measure, *asked)

    @property
    def may_be_beside(self) -> bool:
        """Not where the user set how long a run may take, nor where such work would change what clean runs show or take
        their memory."""
        checks, plan = self.ready.checks, self.ready.plan
        races = checks is not None and checks.controls.history
        alone = self.ready.clean_runs_alone or races or plan.pool.peak > PLENTY
        return self.options.timeout is None and not alone

    def verdict(self, comparison: FaultComparison | None, versions: Mapping[str, str]) -> Whose:
        """Whose fault it is. Costs a few seconds, if it was not begun before."""
        begun = self._blame
        ask = begun.result if begun is not None else partial(blame_of, self.ready, self.given)
        return whose(self.ready, comparison, versions, self.say, ask)

    def measurements(self, end: ReproFindings) -> Measurements | None:
        """What an attachment of this repro needs; None, and a word to the user, where that fails."""
        asked = end.shown, self._header(end.fault)
        self._awaited.set()
        self.say(attach.MAKING)
        if self._measured is not None and self._measured[0] == asked:
            return self._measured[1].result()
        self._over.set()
        return attach.at_the_end(
            end.shown, self.output, self.ready.plan, self.options, asked[1], say=self.say, stop=self.stop
        )

    def _measure(self, text: str, header: Header) -> Measurements | None:
        return attach.at_the_end(
            text,
            self.output,
            self.ready.plan,
            self.options,
            header,
            say=lambda told: self.say(told) if self._awaited.is_set() else None,
            stop=lambda: self._over.is_set() or self.stop(),
        )

    def _header(self, fault: str) -> Header:
        plan, options, original = self.ready.plan, self.options, self.given.program
        told = replace(options, argv=without_secret_words(options.argv))
        return Header(
            shows=fault or str(plan.oracle.spec),
            check="" if plan.oracle.needs.plain else command_of(Path(self.output.name), told, plan),
            origin=options.command.command_line
            if options.command
            else f"{self.path.name}, {lines(original.text)} lines",
        )
