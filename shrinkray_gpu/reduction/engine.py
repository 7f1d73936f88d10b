"""Engine: runs the passes over a Program, round after round, until nothing gets smaller.

It drives the search, settles for free what needs no run, keeps the journal, and goes back where a check beside the
search (`confirmations`, `guards`, `identity`) takes an accepted step away. It knows no process, no GPU and no clock but
those passed in. What it looks at, and when, is fixed by the course itself and never by timing: the same seed and width
give the same result.
"""

from __future__ import annotations

import contextlib
import random
import time
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.oracle.verdict import Answer, Verdict
from shrinkray_gpu.reduction.asking import Ask, Tell
from shrinkray_gpu.reduction.checks import Checks
from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.foresight import Draw, likely
from shrinkray_gpu.reduction.journal import Journal, digest
from shrinkray_gpu.reduction.keep import allowed, kept_nodes
from shrinkray_gpu.reduction.lineage import Lineage
from shrinkray_gpu.reduction.marks import marks_of
from shrinkray_gpu.reduction.outcome import Event as Event
from shrinkray_gpu.reduction.outcome import PassLike
from shrinkray_gpu.reduction.outcome import Reduction as Reduction
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.render import effective, render
from shrinkray_gpu.reduction.search import Memory, Search, Subset
from shrinkray_gpu.reduction.second import IN_TIME, SHARE, Aside, by_gain
from shrinkray_gpu.reduction.spending import Spent, report

WORTHWHILE = 0.95
"""Another round of an early stage only where the last one left no more than this of the tokens."""
TRIAL_TRIES = 60
"""Candidates that a grown program may cost before it must be smaller than it was."""

Judge = Callable[[Sequence[Program]], Sequence[Verdict]]
Watch = Callable[[Program], Mapping[int, str]]


class _Enough(Exception):
    """A trial has used up its tries."""


class _Stop(Exception):
    def __init__(self, why: Literal["stopped", "out of time"]) -> None:
        self.why = why


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
    guard: Ask | None = None,
    guard_lag: int = 0,
    identify: Ask | None = None,
    identify_first: int | None = None,
    drifted: Callable[[Verdict], None] = lambda verdict: None,
    found: Tell = lambda program, verdict: None,
    layout: Callable[[str], str] | None = None,
    progress: Callable[[Event], None] = lambda event: None,
    insist: Callable[[bool], None] = lambda on: None,
    foresee: Callable[[Iterable[Program]], None] | None = None,
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
    for all of them but the last;
    `guard` starts the controls on an accepted program (faults: it is still good; passes: a control that made the
    original pass does not make this one pass), looked at when the pass has ended and `guard_lag` more candidates came;
    `identify` starts the full fingerprint (passes: it is another), at growing intervals, the first of `identify_first`
    candidates, and at the end, and `drifted`
    tightens the judge by the verdict that found another. `found` gets each candidate with another fault;
    `watch` runs an instrumented program and gives the values seen; `lifts` makes scripts of the faulty launch;
    `insist` tells the judge that the last round has come (or is over), where a provisional "no" is asked again.
    `foresee` is told, before each call of `judge`, what will most likely be asked after it.
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
        identify=identify,
        identify_first=identify_first,
        drifted=drifted,
        progress=progress,
        seed=seed,
        stop=stop,
        deadline=deadline,
        again=partial(_Engine, **given) if second and not flaky else None,
        **given,
    )
    return engine.reduce(layout)


class _Engine:
    """One reduction under way. `current` is what the passes work on; outside of trials it is also the best so far."""

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
        foresee: Callable[[Iterable[Program]], None] | None,
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
        identify: Ask | None = None,
        identify_first: int | None = None,
        drifted: Callable[[Verdict], None] = lambda verdict: None,
        again: Callable[..., _Engine] | None = None,
    ) -> None:
        self.original = program
        self.current = self.best = self.begun = program
        self.passes, self.judge, self.journal = passes, judge, journal
        self.lifts = lifts
        self.watch, self.instrument = watch, instrument
        self.progress, self.insist, self.foresee, self.found = progress, insist, foresee, found
        self.width, self.eager, self.flaky, self.keep = width, eager, flaky, keep
        self.stop, self.deadline, self.clock, self.again = stop, deadline, clock, again
        self.rng = random.Random(seed)
        self.memory = Memory()
        self.failed: set[Hashable] = set()  # marks of edits that failed in the same surroundings
        self.barren: dict[str, tuple[str, bool]] = {}  # pass: program on which it found nothing, with nothing put off
        self.tries = self.accepted = self.credited = self.round = 0
        self.on_credit: set[str] = set()  # keys of what faults though no lane ran it
        self.undone = 0  # how often the course went back, for whatever reason
        self.free: Counter[str] = Counter()
        self.spent: dict[str, Spent] = {}
        self.bill = Spent()  # of the pass that is running
        self.pass_name = ""
        self.thorough = False
        self.coming: Sequence[PassLike] = ()  # the passes after the one that is running, in this round
        self.found_edits: dict[str, tuple[Program, list[Edit]]] = {}  # pass: what it found last, and where
        self.put_off = False  # whether this round left out an edit or believed a provisional "no"
        self.considered = 0  # candidates that needed a verdict, new or recalled: the same number in a replay
        self.budget: int | None = None  # where a trial must end
        self.finds: set[tuple[str, Fault]] = set()
        self.line = Lineage(program)
        self.checks = Checks(
            self.line,
            journal,
            confirm=confirm,
            probe=probe,
            checkpoint=checkpoint,
            guard=guard,
            guard_lag=guard_lag,
            identify=identify,
            identify_first=identify_first,
            drifted=drifted,
            undo=self._undo,
            tell=self._found,
            note=lambda text: self._tell("note", text),
        )

    def reduce(self, layout: Callable[[str], str] | None) -> Reduction:
        ended: Literal["done", "stopped", "out of time", "interrupted"] = "done"
        try:
            self._begin()
            self._lift()
            self.begun = self.current
            self._fixpoint()
            if self.again is not None:
                self._second(self.again)
            if layout is not None:
                self._lay_out(layout)
            self.journal.end()
            self._tell("note", report(self.spent))
        except _Stop as e:
            ended = e.why
            with contextlib.suppress(KeyboardInterrupt):
                self.checks.before_leaving(self.considered)
        except KeyboardInterrupt:
            ended = "interrupted"
        return Reduction(
            program=self.best if ended == "done" or layout is None else self._laid_out(layout),
            ended=ended,
            tries=self.tries,
            free=dict(self.free),
            accepted=self.accepted,
            credited=self.credited,
            rounds=self.round,
            rollbacks=self.checks.confirmations.rollbacks,
            verified=self.checks.confirmations.proven,
            line=tuple(step.program for step in self.line.steps),
            spent=self.spent,
            guarded=self.checks.guards.asking.count,
            slips=self.checks.guards.slips,
            guard=self.checks.guards.final,
            drifts=tuple(self.checks.identity.drifts),
            identified=self.checks.identity.identified,
        )

    # The course

    def _begin(self) -> None:
        start = self.journal.start(self.original)
        edited = self.journal.edited(self.original)
        if edited is not None:
            if not edited.parses or not self._ask([edited], smaller_than=None)[0]:
                self._tell("note", "best.py was edited by hand and does not fault: going on without it")
            elif why := self.checks.guards.slipped(edited) or self.checks.identity.other(edited):
                self._tell("note", f"best.py was edited by hand and shows another fault ({why}): going on without it")
            else:
                self.journal.take_over(edited)
                start = edited
                self._tell("note", "best.py was edited by hand and still faults: going on from it")
        self.line.begin(start)
        self.current = self.best = start

    def _lift(self) -> None:
        """Before all passes: the faulty launch alone, which makes every later try cheaper. What the user wants kept
        would be lost in it."""
        if self.lifts is None or kept_nodes(self.current, frozenset(self.keep)):
            return
        self.pass_name = "lift"
        texts = self.journal.recall_lifted()
        if texts is None:
            self._check_stop()
            texts = tuple(self.lifts())
            self.journal.lifted(texts)
        candidates = [self.current.with_text(text) for text in texts]
        for candidate, faults in zip(candidates, self._ask(candidates, smaller_than=self.current)):
            if faults and candidate.key not in self.checks.guards.refuted:
                self._accept(candidate)
                self.checks.guards.settle()  # all that follows would be built on it
                if self.current is candidate:
                    return

    def _fixpoint(self) -> None:
        """Rounds over the passes of the first stage, then over those of the second too, at last over all of them. A new
        round only for fewer tokens: half of a trial's time went into running everything again after a mere literal had
        changed.

        Fine passes have hundreds of edits that take a token each. On a program that is still large they cost as many
        tries, each of them dear, and most of what they polish goes later anyway."""
        for stage in sorted({each.stage for each in self.passes})[:-1]:
            passes = [each for each in self.passes if each.stage <= stage]
            tokens, other = -1, 0  # none yet; of an empty program there are 0
            while tokens < 0 or self.current.size.tokens < WORTHWHILE * tokens or other < self._others():
                tokens, other = self.current.size.tokens, self._others()
                self._round(passes)
        while True:
            progressed = self._round(self.passes)
            if progressed or (self.put_off and not self.thorough):
                self._be_thorough(not progressed)
                if self.thorough:
                    self.checks.before_the_end(self.considered)
                continue
            if self.checks.stand(self.considered):
                return
            self._be_thorough(False)

    def _second(self, again: Callable[..., _Engine]) -> None:
        """Another course from the start (`second.py`). If its end is smaller, on from there."""
        self.pass_name = "second course"
        considered, begun = self.considered, self.clock()
        self._tell("note", f"at {self.best.size.tokens} tokens no step leads on: once from the start in another order")
        self._be_thorough(False)
        other: _Engine = again(
            self.begun,
            passes=by_gain(self.passes, self.spent),
            journal=Aside(self.journal),
            progress=lambda event: self._tell("tried") if event.kind == "tried" else None,
            seed=self.rng.randrange(1 << 30),
            stop=lambda: self.stop() or other.considered >= SHARE * considered,
            deadline=None if self.deadline is None else begun + IN_TIME * (self.deadline - begun),
        )
        other.memory, other.checks.guards.strict = self.memory, self.checks.guards.strict
        other.checks.guards.refuted |= self.checks.guards.refuted
        found = other.reduce(None)
        self.insist(False)
        self.tries += found.tries
        self.considered += other.considered
        self.free.update(found.free)
        self.on_credit |= other.on_credit
        bill = self.spent["second course"] = Spent(found.tries, sum(found.free.values()))
        bill.seconds = self.clock() - begun
        bill.finding = sum(each.finding for each in found.spent.values())
        bill.judging = sum(each.judging for each in found.spent.values())
        if found.ended == "interrupted":
            raise KeyboardInterrupt
        if found.program.size.tokens < self.best.size.tokens and found.program.size < self.best.size:
            bill.accepted, bill.tokens = 1, self.best.size.tokens - found.program.size.tokens
            self._accept(found.program)
            self._fixpoint()

    def _others(self) -> int:
        """How often the course went back because a step showed another fault."""
        return self.undone - self.checks.confirmations.rollbacks

    def _round(self, passes: Sequence[PassLike]) -> bool:
        """Whether the passes made the program smaller, or a check beside them made it larger again."""
        self.round += 1
        self._tell("round")
        before, undone = self.current, self.undone
        self.put_off = False
        for at, each in enumerate(passes, start=1):
            self.coming = passes[at:]
            bill = self.bill = self.spent.setdefault(each.name, Spent())
            begun, tries, free, accepted = self.clock(), self.tries, self.free.total(), self.accepted
            tokens = self.best.size.tokens
            self._run(each)
            bill.seconds += self.clock() - begun
            bill.tries += self.tries - tries
            bill.free += self.free.total() - free
            bill.accepted += self.accepted - accepted
            bill.tokens += tokens - self.best.size.tokens
            self.checks.at_point(self.considered)
        return self.current.size.tokens < before.size.tokens or self.undone > undone

    def _be_thorough(self, on: bool) -> None:
        if on != self.thorough:
            self.thorough = on
            self.insist(on)

    def _run(self, each: PassLike) -> None:
        """One pass: find its edits once, search them, and put the grown ones on trial. What changed no more than
        literals or names is repeated at once, since no new round comes for it."""
        self.pass_name = each.name
        while True:
            before = self.current
            on, whole = self.barren.get(each.name, ("", False))
            if on == digest(before) and (whole or not self.thorough):
                self.put_off |= not whole
                return
            self._tell("pass")
            put_off, self.put_off = self.put_off, False
            self._search(each, self._edits(each))
            if each.grows:
                self._trials(each)
            whole = self.thorough or not self.put_off
            self.put_off |= put_off
            if self.current is before:
                self.barren[each.name] = (digest(before), whole)
                return
            if self.current.size.tokens < before.size.tokens:
                return

    def _edits(self, each: PassLike) -> list[Edit]:
        program = self.current
        begun = self.clock()
        before = self.found_edits.get(each.name)
        if before is not None and before[0] is program and not each.needs_values:
            return before[1]
        given: tuple[Any, ...] = ()
        if each.needs_values:
            if self.watch is None or self.instrument is None:
                return []
            given = (self._values(program, self.watch, self.instrument),)
        try:
            found = allowed(program, list(each.find(program, *given)), frozenset(self.keep))
        except Exception as e:  # a pass that stumbles over this program must not end the reduction
            self._tell("note", f"pass {each.name} gave up: {type(e).__name__}: {e}")
            return []
        self.bill.finding += self.clock() - begun
        self.found_edits[each.name] = program, found
        return found

    def _values(self, program: Program, watch: Watch, instrument: Callable[[Program], Program]) -> Mapping[int, str]:
        watched = instrument(program)
        key = digest(watched)
        values = self.journal.recall_watched(key)
        if values is None:
            self._check_stop()
            values = watch(watched)
            self.journal.watched(key, values)
        return values

    def _search(self, each: PassLike, edits: Sequence[Edit]) -> None:
        """Drive one search. Edits that failed in the same surroundings wait for the last, thorough round."""
        program = self.current
        marks = marks_of(program, each.name, edits)
        offered = [edit for edit in edits if self.thorough or marks[edit] not in self.failed]
        if len(offered) < len(edits):
            self.put_off = True
        if not offered:
            return
        drawn: dict[Subset, Program] = {}

        def draw(subset: Sequence[Edit]) -> Program:
            subset = tuple(subset)
            if subset not in drawn:
                drawn[subset] = render(program, subset)
            return drawn[subset]

        course = self._course(each, program, offered, draw, self.rng)
        base: Subset = ()
        while wave := course.next():
            if wave.base != base:
                base = wave.base
                self._accept(draw(base))
                drawn = {base: drawn[base]}
            candidates = [draw(base + proposal) for proposal in wave.proposals]
            if self.foresee is not None:
                self.foresee(filter(self._worth_asking, likely(course, draw, self._following())))
            course.tell(self._ask(candidates, smaller_than=self.current))
        found = course.found
        if found.accepted != base:
            self._accept(draw(found.accepted))
        self.memory.learn(each.name, found)
        self.failed.update(marks[edit] for edit in found.refused)

    def _course(
        self,
        each: PassLike,
        program: Program,
        edits: Sequence[Edit],
        draw: Draw,
        rng: random.Random,
    ) -> Search:
        return Search(
            edits,
            render=draw,
            effective=lambda subset: effective(program, subset),
            width=self.width,
            prior=lambda edit: self.memory.prior(each.name, edit),
            eager=self.eager,
            rng=rng,
        )

    def _following(self) -> Iterator[tuple[Search, Draw]]:
        """The searches that the next passes will begin, if this one finds nothing."""
        program, rng = self.current, random.Random()
        rng.setstate(self.rng.getstate())
        for each in self.coming if self.budget is None else ():
            if each.needs_values or self.barren.get(each.name, ("", False))[0] == digest(program):
                continue
            edits = self._edits(each)
            marks = marks_of(program, each.name, edits)
            edits = [edit for edit in edits if self.thorough or marks[edit] not in self.failed]
            draw = partial(render, program)
            yield self._course(each, program, edits, draw, rng), draw

    def _worth_asking(self, candidate: Program) -> bool:
        """Whether the judge would be asked, as far as one can tell without taking note of anything."""
        return (
            self._smaller(candidate, self.current)
            and candidate.parses
            and not self.journal.knows(candidate.key)
            and not self.checks.refute(candidate)
        )

    def _trials(self, each: PassLike) -> None:
        """Edits that grow the program first (an inlined function, an unrolled loop): grown, reduced, and kept only if
        smaller in the end. Tried one by one; after each success the edits are found anew."""
        while True:
            before = self.current
            edits = self._edits(each)
            marks = marks_of(before, f"{each.name} (trial)", edits)
            fresh = [edit for edit in edits if self.thorough or marks[edit] not in self.failed]
            if len(fresh) < len(edits):
                self.put_off = True
            grown = [render(before, [edit]) for edit in fresh]
            for at in range(0, len(fresh), self.width):
                answers = self._ask(grown[at : at + self.width], smaller_than=None)
                for edit, candidate, faults in zip(fresh[at:], grown[at:], answers):
                    if faults and self._trial(each, candidate):
                        break
                    if faults is not None:
                        self.failed.add(marks[edit])
                if self.current is not before:
                    break
            else:
                return

    def _trial(self, each: PassLike, grown: Program) -> bool:
        """Whether a few cheap tries, for fewer tokens only, make the grown program smaller than the best."""
        before, thorough, put_off = self.current, self.thorough, self.put_off
        self.thorough, self.budget = False, self.considered + TRIAL_TRIES
        try:
            self._accept(grown)
            tokens = grown.size.tokens + 1
            while self.best is not self.current and self.current.size.tokens < tokens:
                tokens = self.current.size.tokens
                for other in self.passes:
                    if not other.grows and not other.needs_values and self.best is not self.current:
                        self.pass_name = f"{each.name}: {other.name}"
                        self._search(other, self._edits(other))
        except _Enough:
            pass
        finally:
            kept = self.best is self.current
            if not kept:
                self.current = before
            self.thorough, self.put_off, self.pass_name, self.budget = thorough, put_off, each.name, None
        return kept

    def _lay_out(self, layout: Callable[[str], str]) -> None:
        """The last step: order for the reader. It may be larger, but it must fault, in a cold process too where it is
        other code (imports that moved) and not the same in another shape."""
        candidate = self.current.with_text(layout(self.current.text))
        if candidate.text == self.current.text or not self._ask([candidate], smaller_than=None)[0]:
            return
        checked = self.checks.confirmations.confirm is not None
        if candidate.key != self.current.key:
            if checked and not self.checks.confirmations.cold(candidate).faults:
                return
            answers: list[bool | None] = [True]
            self.checks.guards.vouch([candidate], answers, same=self.current.key)
            self.checks.identity.vouch([candidate], answers, same=self.current.key)
            if not answers[0]:
                return
        self.pass_name = "layout"
        self._accept(candidate, smaller=False)
        if checked:
            self.checks.confirmations.trust(self.line.last)

    def _laid_out(self, layout: Callable[[str], str]) -> Program:
        """The best so far as its reader wants it, as far as that is the same code and so needs no try."""
        candidate = self.best.with_text(layout(self.best.text))
        return candidate if candidate.key == self.best.key else self.best

    # Verdicts

    def _ask(self, candidates: Sequence[Program], *, smaller_than: Program | None) -> list[bool | None]:
        """One answer a candidate: for free where that is possible, from the judge otherwise."""
        answers: list[bool | None] = [None] * len(candidates)
        waiting: dict[str, list[int]] = {}
        recalled: set[str] = set()
        for index, candidate in enumerate(candidates):
            settled = self._for_free(candidate, smaller_than)
            if settled is None:
                waiting.setdefault(candidate.key, []).append(index)
            elif isinstance(settled, bool):
                answers[index] = settled
            else:
                answers[index] = self._believe(candidate, settled)
                recalled.add(candidate.key)
        if self.budget is not None and self.considered >= self.budget:
            raise _Enough
        self.considered += len(waiting) + len(recalled)  # the same in a replay, where all are recalled
        if waiting:
            self._check_stop()
            batch = [candidates[places[0]] for places in waiting.values()]
            begun = self.clock()
            verdicts = self.judge(batch)
            self.bill.judging += self.clock() - begun
            for candidate, verdict in zip(batch, verdicts, strict=True):
                self.tries += 1
                final = verdict.faults or verdict.certain or not self.flaky
                self.journal.judged(candidate.key, verdict, final=final)
                self._found(candidate, verdict)
                for index in waiting[candidate.key]:
                    answers[index] = self._believe(candidate, verdict)
        self.checks.doubt(candidates, answers, same=self.current.key)
        self._tell("tried")
        return answers

    def _for_free(self, candidate: Program, smaller_than: Program | None) -> Verdict | bool | None:
        if smaller_than is not None and not self._smaller(candidate, smaller_than):
            self.free["not smaller"] += 1
            return False
        if not candidate.parses:
            self.free["does not parse"] += 1
            return False
        if self.checks.refute(candidate):
            self.free["refuted"] += 1
            return False
        if candidate.key == self.current.key:
            self.free["same code"] += 1
            return True
        known = self.journal.recall(candidate.key, insist=self.thorough)
        if known is not None:
            self.free["judged before"] += 1
            self._found(candidate, known)
        return known

    def _smaller(self, candidate: Program, than: Program) -> bool:
        if self.budget is None:
            return candidate.size < than.size
        return candidate.size < than.size and candidate.size.tokens < than.size.tokens

    def _believe(self, program: Program, verdict: Verdict) -> bool | None:
        if verdict.credit:
            self.on_credit.add(program.key)
        if verdict.provisional:
            self.put_off = True
        return verdict.faults if verdict.known else None

    def _check_stop(self) -> None:
        if self.stop():
            raise _Stop("stopped")
        if self.deadline is not None and self.clock() >= self.deadline:
            raise _Stop("out of time")

    # Accepting

    def _accept(self, program: Program, *, by: str = "", smaller: bool = True) -> None:
        """`program` faults: go on from it. Inside a trial it becomes the best only once it is smaller than that."""
        self.current = program
        if smaller and not program.size < self.best.size:
            return
        self.credited += program.key in self.on_credit or program.key == self.best.key
        self.best = program
        self.accepted += 1
        step = self.line.add(program, self.considered)
        self.journal.best(program, size=program.size, by=by or self.pass_name, smaller=smaller)
        self._tell("accepted")
        self.checks.accepted(step)

    # Going back

    def _undo(self, back: int, by: str, why: str) -> None:
        """Take back all that was accepted after step number `back`."""
        gone = self.line.cut(back)
        self.current = self.best = self.line.last.program
        self.undone += 1
        self.checks.after_cut(gone)
        self.journal.best(self.best, size=self.best.size, by=by, smaller=False)
        self._tell("rolled back", why)

    def _found(self, program: Program, verdict: Verdict) -> None:
        """Tell of a candidate with another fault, once."""
        if verdict.answer is Answer.PASSES and verdict.other is not None:
            if (program.key, verdict.other) not in self.finds:
                self.finds.add((program.key, verdict.other))
                self.found(program, verdict)

    def _tell(self, kind: Any, text: str = "") -> None:
        self.progress(Event(kind, self.current, self.round, self.pass_name, self.tries, dict(self.free), text))
