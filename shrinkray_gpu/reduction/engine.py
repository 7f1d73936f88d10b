"""Engine: runs the passes over a Program, round after round, until nothing gets smaller.

It drives the searches of the passes (`pass_search`, `trials`), and goes back where a check beside them (`checks`) takes
an accepted step away. It knows no process, no GPU and no clock but those passed in. What it looks at, and when, is
fixed by the course itself and never by timing: the same seed and width give the same result.
"""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, Literal

from shrinkray_gpu.oracle.verdict import Verdict
from shrinkray_gpu.reduction.answers import Answers, Judge, once
from shrinkray_gpu.reduction.checks.checks import Checks
from shrinkray_gpu.reduction.checks.question import Ask, Tell
from shrinkray_gpu.reduction.edit_finder import Finding, Watch
from shrinkray_gpu.reduction.for_the_reader import laid_out, lay_out
from shrinkray_gpu.reduction.grown_trials import Trials
from shrinkray_gpu.reduction.journal import Journal, digest
from shrinkray_gpu.reduction.keep import kept_nodes
from shrinkray_gpu.reduction.limits import Ending, Stopped
from shrinkray_gpu.reduction.outcome import Event as Event
from shrinkray_gpu.reduction.outcome import PassLike
from shrinkray_gpu.reduction.outcome import Reduction as Reduction
from shrinkray_gpu.reduction.pass_search import Foresee, PassSearch
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.second_course import IN_TIME, Aside, by_gain, hopeless
from shrinkray_gpu.reduction.spending import Spent, report
from shrinkray_gpu.reduction.state import State
from shrinkray_gpu.reduction.steps import Steps

WORTHWHILE = 0.95
"""Another round of an early stage only where the last one left no more than this of the tokens."""


def reduce_program(
    program: Program,
    *,
    passes: Sequence[PassLike],
    judge: Judge,
    journal: Journal,
    watch: Watch | None = None,
    lifts: Callable[[], Sequence[str]] | None = None,
    instrument: Callable[[Program], Program] | None = None,
    confirm: Ask | None = None,
    probe: Ask | None = None,
    checkpoint: int = 200,
    wary: bool = False,
    guard: Ask | None = None,
    guard_lag: int = 0,
    identify: Ask | None = None,
    identify_first: int | None = None,
    drifted: Callable[[Verdict], None] = lambda verdict: None,
    doubted: Callable[[], None] | None = None,
    found: Tell = lambda program, verdict: None,
    layout: Callable[[str], str] | None = None,
    progress: Callable[[Event], None] = lambda event: None,
    insist: Callable[[bool], None] = lambda on: None,
    foresee: Foresee | None = None,
    second: bool = False,
    seed: int = 0,
    width: int = 8,
    eager: float = 1.0,
    flaky: bool = False,
    keep: Sequence[str] = (),
    skip: Collection[str] = (),
    stop: Callable[[], bool] = lambda: False,
    deadline: float | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Reduction:
    """Reduce `program`, which faults, to the smallest program found that still does.

    `judge` gets candidates and gives Verdicts in the same order; `confirm` starts a cold run beside the search, one
    for every `checkpoint` candidates and one at the end. `probe`, where given, is a quicker confirmation that stands in
    for all of them but the last, and `wary` asks for one before any program is accepted;
    `guard` starts the controls on an accepted program (faults: it is still good; passes: a control that made the
    original pass does not make this one pass), looked at when the pass has ended and `guard_lag` more candidates came;
    `identify` starts the full fingerprint (passes: it is another), at growing intervals, the first of `identify_first`
    candidates, and at the end, and `drifted` tightens the judge by the verdict that found another; `doubted` does so
    when a confirmation refutes what the judge said for the first time. `found` gets each candidate with another fault;
    `watch` runs an instrumented program and gives the values seen; `lifts` makes scripts of the faulty launch;
    `insist` tells the judge that the last round has come (or is over), where a provisional "no" is asked again.
    `foresee` is told, before each call of `judge`, what will most likely be asked after it.
    `layout` sets the result for its reader, if the fault stays.
    `second`: at the fixpoint, try once to do better from the start, see `second.py`. Not where the fault is flaky.
    `flaky`: a "no" is never final, unless it is a certain one. `deadline` is in terms of `clock`. Ctrl-C in the judge,
    `stop` and `deadline` end the search with the best so far.
    """
    given: dict[str, Any] = dict(
        judge=judge,
        watch=watch,
        instrument=instrument,
        guard=guard,
        guard_lag=guard_lag,
        found=found,
        insist=insist,
        foresee=foresee,
        width=width,
        eager=eager,
        flaky=flaky,
        keep=keep,
        clock=clock,
    )
    engine = _Engine(
        program,
        passes=[each for each in passes if each.name not in skip],
        journal=journal,
        lifts=lifts,
        confirm=confirm,
        probe=probe or confirm,
        checkpoint=checkpoint,
        wary=wary,
        identify=identify,
        identify_first=identify_first,
        drifted=drifted,
        doubted=doubted,
        progress=progress,
        seed=seed,
        stop=stop,
        deadline=deadline,
        again=partial(_Engine, **given) if second and not flaky else None,
        **given,
    )
    return engine.reduce(layout)


class _Engine:
    """One reduction under way: its course, from the start to the end."""

    def __init__(
        self,
        program: Program,
        *,
        passes: Sequence[PassLike],
        judge: Judge,
        journal: Journal,
        watch: Watch | None,
        instrument: Callable[[Program], Program] | None,
        guard: Ask | None,
        guard_lag: int,
        found: Tell,
        progress: Callable[[Event], None],
        insist: Callable[[bool], None],
        foresee: Foresee | None,
        seed: int,
        width: int,
        eager: float,
        flaky: bool,
        keep: Sequence[str],
        stop: Callable[[], bool],
        deadline: float | None,
        clock: Callable[[], float],
        lifts: Callable[[], Sequence[str]] | None = None,
        confirm: Ask | None = None,
        probe: Ask | None = None,
        checkpoint: int = 1 << 30,
        wary: bool = False,
        identify: Ask | None = None,
        identify_first: int | None = None,
        drifted: Callable[[Verdict], None] = lambda verdict: None,
        doubted: Callable[[], None] | None = None,
        again: Callable[..., _Engine] | None = None,
    ) -> None:
        self.original = self.begun = program
        self.passes, self.journal, self.lifts, self.keep = passes, journal, lifts, frozenset(keep)
        self.insist, self.again = insist, again
        self.state = state = State(program, program, progress)
        self.ending = Ending(stop, deadline, clock)
        found = once(found)
        checks = partial(
            Checks,
            confirm=confirm,
            probe=probe,
            checkpoint=checkpoint,
            wary=wary,
            guard=guard,
            guard_lag=guard_lag,
            identify=identify,
            identify_first=identify_first,
            drifted=drifted,
            doubted=doubted,
        )
        self.steps = Steps(state, journal, checks, found)
        self.checks = self.steps.checks
        self.answers = Answers(state, journal, self.checks, self.ending, judge, found, flaky=flaky)
        self.finding = finding = Finding(state, journal, self.ending, watch=watch, instrument=instrument, keep=keep)
        self.searching = PassSearch(
            state,
            self.steps,
            self.answers,
            finding,
            foresee=foresee,
            width=width,
            eager=eager,
            rng=random.Random(seed),
        )
        self.trials = Trials(state, self.steps, self.answers, finding, self.searching, passes)

    def reduce(self, layout: Callable[[str], str] | None) -> Reduction:
        state = self.state
        ended: Literal["done", "stopped", "out of time", "interrupted"] = "done"
        try:
            self._begin()
            self._lift()
            self.begun = state.current
            self._fixpoint()
            if layout is not None:
                lay_out(layout, state, self.steps, self.answers)
            self.journal.end()
            state.tell("note", report(state.spent))
        except Stopped as e:
            ended = e.why
            with contextlib.suppress(KeyboardInterrupt):
                self.checks.before_leaving(state.considered)
        except KeyboardInterrupt:
            ended = "interrupted"
        return Reduction(
            program=state.best if ended == "done" or layout is None else laid_out(layout, state.best),
            ended=ended,
            tries=state.tries,
            free=dict(state.free),
            accepted=state.accepted,
            credited=state.credited,
            rounds=state.round,
            rollbacks=self.checks.confirmations.rollbacks,
            verified=self.checks.confirmations.proven,
            line=tuple(step.program for step in self.steps.line.steps),
            spent=state.spent,
            guarded=self.checks.guards.asking.count,
            slips=self.checks.guards.slips,
            guard=self.checks.guards.final,
            drifts=tuple(self.checks.identity.drifts),
            identified=self.checks.identity.identified,
        )

    def _begin(self) -> None:
        start, tell = self.journal.start(self.original), partial(self.state.tell, "note")
        edited = self.journal.edited(self.original)
        if edited is not None:
            if not edited.parses or not self.answers.ask([edited], smaller=False)[0]:
                self.journal.put_back(start)
                tell("best.py was edited by hand and does not fault: going on without it")
            elif why := self.checks.guards.slipped(edited) or self.checks.identity.other(edited):
                self.journal.put_back(start)
                tell(f"best.py was edited by hand and shows another fault ({why}): going on without it")
            else:
                self.journal.take_over(edited)
                start = edited
                tell("best.py was edited by hand and still faults: going on from it")
        self.steps.begin(start)

    def _lift(self) -> None:
        """Before all passes: the faulty launch alone, which makes every later try cheaper. What the user wants kept
        would be lost in it."""
        state = self.state
        if self.lifts is None or kept_nodes(state.current, self.keep):
            return
        state.pass_name = "lift"
        texts = self.journal.recall_lifted()
        if texts is None:
            self.ending.check()
            texts = tuple(self.lifts())
            self.journal.lifted(texts)
        candidates = [state.current.with_text(text) for text in texts]
        for candidate, faults in zip(candidates, self.answers.ask(candidates)):
            if faults and candidate.key not in self.checks.guards.refuted:
                self.steps.accept(candidate)
                self.checks.guards.settle()  # all that follows would be built on it
                if state.current is candidate:
                    return

    def _fixpoint(self) -> None:
        """Rounds over the passes of the first stage, then over those of the second too, at last over all of them. A new
        round only for fewer tokens: half of a trial's time went into running everything again after a mere literal had
        changed.

        Fine passes have hundreds of edits that take a token each. On a program that is still large they cost as many
        tries, each of them dear, and most of what they polish goes later anyway."""
        state = self.state
        for stage in sorted({each.stage for each in self.passes})[:-1]:
            passes = [each for each in self.passes if each.stage <= stage]
            tokens, other = -1, 0  # none yet; of an empty program there are 0
            while tokens < 0 or state.current.size.tokens < WORTHWHILE * tokens or other < self._others():
                tokens, other = state.current.size.tokens, self._others()
                self._round(passes)
        while True:
            progressed = self._round(self.passes)
            if progressed or (state.put_off and not state.thorough):
                self._be_thorough(not progressed)
                if state.thorough:
                    self.checks.before_the_end(state.considered)
                continue
            # What is asked at the end takes seconds, during which the lanes are free for a second course.
            if self.again is not None and self.checks.before_the_end(state.considered):
                again, self.again = self.again, None
                if self._second(again):
                    continue
            if self.again is None and self.checks.stand(state.considered):
                return
            self._be_thorough(False)

    def _second(self, again: Callable[..., _Engine]) -> bool:
        """Another course from the start (`second.py`). Whether its end is smaller: then on from there."""
        state, ending = self.state, self.ending
        state.pass_name = "second course"
        considered, begun = state.considered, ending.clock()
        state.tell("note", f"at {state.best.size.tokens} tokens no step leads on: once from the start in another order")
        self._be_thorough(False)
        other: _Engine = again(
            self.begun,
            passes=by_gain(self.passes, state.spent),
            journal=Aside(self.journal),
            progress=lambda event: state.tell("tried") if event.kind == "tried" else None,
            seed=self.searching.rng.randrange(1 << 30),
            stop=lambda: ending.stop() or hopeless(other.state, considered, state.best.size.tokens),
            deadline=None if ending.deadline is None else begun + IN_TIME * (ending.deadline - begun),
        )
        other.searching.memory, other.checks.guards.strict = self.searching.memory, self.checks.guards.strict
        other.checks.guards.refuted |= self.checks.guards.refuted
        found = other.reduce(None)
        self.insist(False)
        state.tries += found.tries
        state.considered += other.state.considered
        state.free.update(found.free)
        state.on_credit |= other.state.on_credit
        bill = state.spent["second course"] = Spent(found.tries, sum(found.free.values()))
        bill.seconds = ending.clock() - begun
        bill.finding = sum(each.finding for each in found.spent.values())
        bill.judging = sum(each.judging for each in found.spent.values())
        if found.ended == "interrupted":
            raise KeyboardInterrupt
        if found.program.size.tokens < state.best.size.tokens and found.program.size < state.best.size:
            bill.accepted, bill.tokens = 1, state.best.size.tokens - found.program.size.tokens
            self.steps.accept(found.program)
            return True
        return False

    def _others(self) -> int:
        """How often the course went back because a step showed another fault."""
        return self.state.undone - self.checks.confirmations.rollbacks

    def _round(self, passes: Sequence[PassLike]) -> bool:
        """Whether the passes made the program smaller, or a check beside them made it larger again."""
        state = self.state
        state.round += 1
        state.tell("round")
        before, undone = state.current, state.undone
        state.put_off = False
        for at, each in enumerate(passes, start=1):
            self.searching.coming = passes[at:]
            bill = state.bill = state.spent.setdefault(each.name, Spent())
            begun, tries, free, accepted = self.ending.clock(), state.tries, state.free.total(), state.accepted
            tokens = state.best.size.tokens
            self._run(each)
            bill.seconds += self.ending.clock() - begun
            bill.tries += state.tries - tries
            bill.free += state.free.total() - free
            bill.accepted += state.accepted - accepted
            bill.tokens += tokens - state.best.size.tokens
            self.checks.at_point(state.considered)
        return state.current.size.tokens < before.size.tokens or state.undone > undone

    def _be_thorough(self, on: bool) -> None:
        if on != self.state.thorough:
            self.state.thorough = on
            self.insist(on)

    def _run(self, each: PassLike) -> None:
        """One pass: find its edits once, search them, and put the grown ones on trial. What changed no more than
        literals or names is repeated at once, since no new round comes for it."""
        state, barren = self.state, self.searching.barren
        state.pass_name = each.name
        while True:
            before, undone = state.current, state.undone
            on, whole = barren.get(each.name, ("", False))
            if on == digest(before) and (whole or not state.thorough):
                state.put_off |= not whole
                return
            state.tell("pass")
            put_off, state.put_off = state.put_off, False
            self.searching.search(each)
            if state.undone > undone:  # in the middle of it: the next round has it again
                state.put_off |= put_off
                return
            if each.grows:
                self.trials.run(each)
            whole = state.thorough or not state.put_off
            state.put_off |= put_off
            if state.current is before:
                barren[each.name] = (digest(before), whole)
                return
            if state.current.size.tokens < before.size.tokens:
                return
