"""Engine: runs the passes over a Program, round after round, until nothing gets smaller.

It drives the search, settles for free what needs no run, keeps the journal, asks for cold confirmations beside the
search and rolls back when one fails. It knows no process, no GPU and no clock but those passed in. What it looks at,
and when, is fixed by the course itself and never by timing: the same seed and width give the same result.
"""

from __future__ import annotations

import random
import re
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import libcst as cst

from shrinkray_gpu.oracle.verdict import Verdict
from shrinkray_gpu.reduction.edit import Edit, Insert
from shrinkray_gpu.reduction.journal import Journal, digest
from shrinkray_gpu.reduction.keep import allowed, kept_nodes
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.render import effective, render
from shrinkray_gpu.reduction.search import Memory, Subset, search
from shrinkray_gpu.reduction.spending import Spent, report

WARY_AFTER = 3
"""After this many rollbacks the judge's "yes" is not trusted any more: each is confirmed cold before it is accepted."""
WORTHWHILE = 0.95
"""Another round of an early stage only where the last one left no more than this of the tokens."""
TRIAL_TRIES = 60
"""Candidates that a grown program may cost before it must be smaller than it was."""
_LINE = re.compile(r"\bline \d+")

Judge = Callable[[Sequence[Program]], Sequence[Verdict]]
Watch = Callable[[Program], Mapping[int, str]]


class Pending(Protocol):
    """A verdict that is being worked out: a `concurrent.futures.Future` will do."""

    def result(self) -> Verdict: ...


class PassLike(Protocol):
    """What the engine asks of a pass."""

    @property
    def name(self) -> str: ...
    @property
    def find(self) -> Callable[..., Any]: ...
    @property
    def grows(self) -> bool: ...
    @property
    def needs_values(self) -> bool: ...
    @property
    def stage(self) -> int: ...


@dataclass(frozen=True)
class Event:
    """Something that a progress bar may show."""

    kind: Literal["round", "pass", "tried", "accepted", "rolled back", "note"]
    program: Program
    """The program as it is now."""
    round: int = 0
    pass_name: str = ""
    tries: int = 0
    """Candidates handed to the judge so far."""
    free: Mapping[str, int] = field(default_factory=dict)
    """Candidates settled without a run so far, by reason."""
    text: str = ""


@dataclass(frozen=True)
class Reduction:
    """What is left, and what it took."""

    program: Program
    ended: Literal["done", "stopped", "out of time", "interrupted"]
    tries: int
    free: Mapping[str, int]
    accepted: int
    rounds: int
    rollbacks: int
    verified: Program
    """The last program that a cold run confirmed (the start, if none did)."""
    spent: Mapping[str, Spent]
    """By pass."""


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
    confirm: Callable[[Program], Pending] | None = None,
    probe: Callable[[Program], Pending] | None = None,
    checkpoint: int = 200,
    layout: Callable[[str], str] | None = None,
    progress: Callable[[Event], None] = lambda event: None,
    insist: Callable[[bool], None] = lambda on: None,
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
    `watch` runs an instrumented program and gives the values seen; `lifts` makes scripts of the faulty launch;
    `insist` tells the judge that the last round has come (or is over), where a provisional "no" is asked again.
    `flaky`: a "no" is never final. `deadline` is in terms of `clock`. Ctrl-C in the judge, `stop` and `deadline` end
    the search with the best so far.
    """
    engine = _Engine(
        program,
        passes=[each for each in passes if each.name not in skip],
        judge=judge,
        journal=journal,
        watch=watch,
        lifts=lifts,
        instrument=instrument,
        confirm=confirm,
        probe=probe or confirm,
        checkpoint=checkpoint,
        progress=progress,
        insist=insist,
        seed=seed,
        width=width,
        eager=eager,
        flaky=flaky,
        keep=keep,
        stop=stop,
        deadline=deadline,
        clock=clock,
    )
    return engine.reduce(layout)


@dataclass
class _Asked:
    """A cold run that was asked for, and its place in the chain of accepted programs."""

    program: Program
    pending: Pending | None
    recalled: Verdict | None
    quick: bool


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
        lifts: Callable[[], Sequence[str]] | None,
        instrument: Callable[[Program], Program] | None,
        confirm: Callable[[Program], Pending] | None,
        probe: Callable[[Program], Pending] | None,
        checkpoint: int,
        progress: Callable[[Event], None],
        insist: Callable[[bool], None],
        seed: int,
        width: int,
        eager: float,
        flaky: bool,
        keep: Sequence[str],
        stop: Callable[[], bool],
        deadline: float | None,
        clock: Callable[[], float],
    ) -> None:
        self.original = program
        self.current = self.best = self.verified = program
        self.passes, self.judge, self.journal = passes, judge, journal
        self.lifts = lifts
        self.watch, self.instrument, self.confirm = watch, instrument, confirm
        self.probe, self.checkpoint = probe, checkpoint
        self.progress, self.insist = progress, insist
        self.width, self.eager, self.flaky, self.keep = width, eager, flaky, keep
        self.stop, self.deadline, self.clock = stop, deadline, clock
        self.rng = random.Random(seed)
        self.memory = Memory()
        self.failed: set[Hashable] = set()  # marks of edits that failed in the same surroundings
        self.barren: dict[str, tuple[str, bool]] = {}  # pass: program on which it found nothing, with nothing put off
        self.tries = self.accepted = self.round = self.rollbacks = 0
        self.free: Counter[str] = Counter()
        self.spent: dict[str, Spent] = {}
        self.bill = Spent()  # of the pass that is running
        self.pass_name = ""
        self.thorough = False
        self.put_off = False  # whether this round left out an edit or believed a provisional "no"
        self.considered = 0  # candidates that needed a verdict, new or recalled: the same number in a replay
        self.budget: int | None = None  # where a trial must end
        # Cold confirmations
        self.chain: list[Program] = []  # accepted since `verified`, in order
        self.unproven: list[Program] = []  # accepted since `proven`, in order
        self.proven = program  # the last that a cold run confirmed; `verified` may rest on a probe
        self.asked: _Asked | None = None
        self.refuted: set[str] = set()
        self.trusted: set[str] = set()
        self.next_check = 0

    def reduce(self, layout: Callable[[str], str] | None) -> Reduction:
        ended: Literal["done", "stopped", "out of time", "interrupted"] = "done"
        try:
            self._begin()
            self._lift()
            self._fixpoint()
            if layout is not None:
                self._lay_out(layout)
            self.journal.end()
            self._tell("note", report(self.spent))
        except _Stop as e:
            ended = e.why
        except KeyboardInterrupt:
            ended = "interrupted"
        return Reduction(
            program=self.best,
            ended=ended,
            tries=self.tries,
            free=dict(self.free),
            accepted=self.accepted,
            rounds=self.round,
            rollbacks=self.rollbacks,
            verified=self.proven,
            spent=self.spent,
        )

    # The course

    def _begin(self) -> None:
        start = self.journal.start(self.original)
        edited = self.journal.edited(self.original)
        if edited is not None:
            if edited.parses and self._ask([edited], smaller_than=None)[0]:
                self.journal.take_over(edited)
                start = edited
                self._tell("note", "best.py was edited by hand and still faults: going on from it")
            else:
                self._tell("note", "best.py was edited by hand and does not fault: going on without it")
        self.current = self.best = self.verified = self.proven = start

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
            if faults:
                self._accept(candidate)
                return

    def _fixpoint(self) -> None:
        """Rounds over the passes of the first stage, then over those of the second too, at last over all of them. A new
        round only for fewer tokens: half of a trial's time went into running everything again after a mere literal had
        changed.

        Fine passes have hundreds of edits that take a token each. On a program that is still large they cost as many
        tries, each of them dear, and most of what they polish goes later anyway."""
        for stage in sorted({each.stage for each in self.passes})[:-1]:
            passes = [each for each in self.passes if each.stage <= stage]
            tokens = 0
            while tokens == 0 or self.current.size.tokens < WORTHWHILE * tokens:
                tokens = self.current.size.tokens
                self._round(passes)
        while True:
            progressed = self._round(self.passes)
            if progressed or (self.put_off and not self.thorough):
                self._be_thorough(not progressed)
                if self.thorough and self.confirm is not None:
                    self._settle()
                    if self.unproven:  # most likely the end: have it confirmed while the last round goes on
                        self._ask_later(quick=False)
                continue
            if self._sure():
                return
            self._be_thorough(False)

    def _round(self, passes: Sequence[PassLike]) -> bool:
        """Whether the passes made the program smaller, or a cold run made it larger again."""
        self.round += 1
        self._tell("round")
        before, rollbacks = self.current, self.rollbacks
        self.put_off = False
        for each in passes:
            bill = self.bill = self.spent.setdefault(each.name, Spent())
            begun, tries, free, accepted = self.clock(), self.tries, self.free.total(), self.accepted
            tokens = self.best.size.tokens
            self._run(each)
            bill.seconds += self.clock() - begun
            bill.tries += self.tries - tries
            bill.free += self.free.total() - free
            bill.accepted += self.accepted - accepted
            bill.tokens += tokens - self.best.size.tokens
            self._checkpoint()
        return self.current.size.tokens < before.size.tokens or self.rollbacks > rollbacks

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
        marks = _marks(program, each.name, edits)
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

        course = search(
            offered,
            render=draw,
            effective=lambda subset: effective(program, subset),
            width=self.width,
            prior=lambda edit: self.memory.prior(each.name, edit),
            eager=self.eager,
            rng=self.rng,
        )
        base: Subset = ()
        try:
            wave = next(course)
            while True:
                if wave.base != base:
                    base = wave.base
                    self._accept(draw(base))
                    drawn = {base: drawn[base]}
                candidates = [draw(base + proposal) for proposal in wave.proposals]
                wave = course.send(self._ask(candidates, smaller_than=self.current))
        except StopIteration as end:
            found = end.value
        if found.accepted != base:
            self._accept(draw(found.accepted))
        self.memory.learn(each.name, found)
        self.failed.update(marks[edit] for edit in found.refused)

    def _trials(self, each: PassLike) -> None:
        """Edits that grow the program first (an inlined function, an unrolled loop): grown, reduced, and kept only if
        smaller in the end. Tried one by one; after each success the edits are found anew."""
        while True:
            before = self.current
            edits = self._edits(each)
            marks = _marks(before, f"{each.name} (trial)", edits)
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
        if self.confirm is not None and candidate.key != self.current.key and not self._cold(candidate).faults:
            return
        self.pass_name = "layout"
        self._accept(candidate, smaller=False)
        if self.confirm is not None:
            self._trust(candidate, proven=True)

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
                answers[index] = self._believe(settled)
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
                self.journal.judged(candidate.key, verdict, final=verdict.faults or not self.flaky)
                for index in waiting[candidate.key]:
                    answers[index] = self._believe(verdict)
        if self.rollbacks >= WARY_AFTER and self.probe is not None:
            self._doubt(candidates, answers)
        self._tell("tried")
        return answers

    def _for_free(self, candidate: Program, smaller_than: Program | None) -> Verdict | bool | None:
        if smaller_than is not None and not self._smaller(candidate, smaller_than):
            self.free["not smaller"] += 1
            return False
        if not candidate.parses:
            self.free["does not parse"] += 1
            return False
        if candidate.key in self.refuted:
            self.free["refuted"] += 1
            return False
        if candidate.key == self.current.key:
            self.free["same code"] += 1
            return True
        known = self.journal.recall(candidate.key, insist=self.thorough)
        if known is not None:
            self.free["judged before"] += 1
        return known

    def _smaller(self, candidate: Program, than: Program) -> bool:
        if self.budget is None:
            return candidate.size < than.size
        return candidate.size < than.size and candidate.size.tokens < than.size.tokens

    def _believe(self, verdict: Verdict) -> bool | None:
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
        self.best = program
        self.accepted += 1
        self.chain.append(program)
        self.unproven.append(program)
        self.journal.best(program, size=program.size, by=by or self.pass_name, smaller=smaller)
        self._tell("accepted")
        if program.key in self.trusted:
            self._trust(program, proven=False)

    # Cold confirmations

    def _checkpoint(self) -> None:
        """At the end of a pass: look at the cold run asked for last time, if it has had time, and ask for the next.

        A cold process takes seconds, so its verdict is looked at so many candidates later, when it should be there. It
        is taken here or not at all, and waited for if need be: the course does not depend on when it came.
        """
        if self.probe is None or self.considered < self.next_check:
            return
        self._settle()
        if self.chain:
            self._ask_later(quick=True)

    def _ask_later(self, *, quick: bool) -> None:
        self.asked = self._start(self.current, quick=quick)
        self.next_check = self.considered + self.checkpoint

    def _settle(self) -> None:
        """Take the verdict of the confirmation that is out, if any."""
        if self.asked is None:
            return
        asked, self.asked = self.asked, None
        verdict = self._finish(asked)
        if verdict.faults:
            self._trust(asked.program, proven=not asked.quick)
        elif verdict.known:
            self._roll_back(asked)

    def _sure(self) -> bool:
        """Whether the end of the search stands: the best is confirmed by a cold run (or nobody can tell)."""
        rollbacks = self.rollbacks
        self._settle()
        if self.confirm is not None and self.unproven:
            self._ask_later(quick=False)
            self._settle()
        return self.rollbacks == rollbacks

    def _trust(self, program: Program, *, proven: bool) -> None:
        self.verified = program
        self.trusted.add(program.key)
        if program in self.chain:
            del self.chain[: self.chain.index(program) + 1]
        if proven:
            self.proven = program
            if program in self.unproven:
                del self.unproven[: self.unproven.index(program) + 1]

    def _roll_back(self, bad: _Asked) -> None:
        """Go back to the last accepted program that is confirmed; never take the others again.

        A probe is quick, so all suspects are probed at once. Cold runs are not: those are bisected.
        """
        if not bad.quick:  # a probe that a cold run overrules is asked no more, and what it said is forgotten
            self.probe = self.confirm
            self.trusted.clear()
        chain = self.chain if bad.quick else self.unproven
        suspects = chain[: chain.index(bad.program)]
        if bad.quick:
            asked = [self._start(program, quick=True) for program in suspects]
            faults = [self._finish(each).faults for each in asked]
            good = (faults + [False]).index(False) - 1
        else:
            good, first_bad = -1, len(suspects)
            while first_bad - good > 1:
                middle = (good + first_bad) // 2
                if self._finish(self._start(suspects[middle], quick=False)).faults:
                    good = middle
                else:
                    first_bad = middle
        back = suspects[good] if good >= 0 else (self.verified if bad.quick else self.proven)
        self.refuted.update(program.key for program in chain[good + 1 :])
        self.refuted -= self.trusted | {back.key}
        if back in self.unproven:
            del self.unproven[self.unproven.index(back) + 1 :]
        else:
            self.unproven.clear()
        self.chain.clear()
        self._trust(back, proven=not bad.quick)
        self.rollbacks += 1
        self.next_check = 0
        self.current = self.best = back
        self.journal.best(self.best, size=self.best.size, by="rollback", smaller=False)
        self._tell("rolled back", f"a {'probe' if bad.quick else 'cold run'} did not show the fault")

    def _doubt(self, candidates: Sequence[Program], answers: list[bool | None]) -> None:
        """The judge was wrong too often: no "yes" counts before a cold run says so as well."""
        doubtful = [
            (index, self._start(candidate, quick=True))
            for index, candidate in enumerate(candidates)
            if answers[index] and candidate.key not in self.trusted and candidate.key != self.verified.key
        ]
        for index, asked in doubtful:
            verdict = self._finish(asked)
            answers[index] = verdict.faults if verdict.known else None
            (self.trusted if verdict.faults else self.refuted).add(candidates[index].key)

    def _cold(self, program: Program) -> Verdict:
        return self._finish(self._start(program, quick=False))

    def _start(self, program: Program, *, quick: bool) -> _Asked:
        recalled = self.journal.recall_confirmation(program.key)
        begin = self.probe if quick else self.confirm
        assert begin is not None
        return _Asked(program, None if recalled else begin(program), recalled, quick)

    def _finish(self, asked: _Asked) -> Verdict:
        if asked.recalled is not None:
            return asked.recalled
        assert asked.pending is not None
        verdict = asked.pending.result()
        self.journal.confirmed(asked.program.key, verdict)
        return verdict

    def _tell(self, kind: Any, text: str = "") -> None:
        self.progress(Event(kind, self.current, self.round, self.pass_name, self.tries, dict(self.free), text))


def _marks(program: Program, name: str, edits: Sequence[Edit]) -> dict[Edit, Hashable]:
    """What tells an edit and its surroundings again in a later round: its words, and the statements touched.

    The surroundings are the text of the line it is a part of, or else of the top-level statements touched; for an edit
    of a whole one of these, which others depend on, the whole program. Effects across them are missed, hence the last,
    thorough round.
    """
    text, spans = program.text, program.spans
    lines = sorted(span for node, span in spans.items() if isinstance(node, cst.SimpleStatementLine))
    line_starts = [start for start, _ in lines]
    tops = sorted(spans[statement] for statement in program.module.body if statement in spans)
    starts = [start for start, _ in tops]
    marks: dict[Edit, Hashable] = {}
    alike: Counter[Hashable] = Counter()
    for edit in edits:
        nodes = [change.before if isinstance(change, Insert) else change.node for change in edit.changes]
        places = [spans[node] for node in nodes if node in spans]
        low, high = (min(a for a, _ in places), max(b for _, b in places)) if places else (0, len(text))
        first, last = bisect_right(starts, low), bisect_right(starts, max(low, high - 1))
        begin = starts[first - 1] if first else 0
        finish = starts[last] if last < len(starts) else len(text)
        if any(low <= start and end <= high for start, end in tops[max(0, first - 1) : last]):
            begin, finish = 0, len(text)
        line, end = lines[max(0, bisect_right(line_starts, low) - 1)] if lines else (0, 0)
        if line <= low and high <= end and (line, end) != (low, high):
            begin, finish = line, end
        mark = (name, _LINE.sub("", edit.what), low - begin, high - begin, text[begin:finish])
        alike[mark] += 1  # alternatives may read the same: told apart by their order
        marks[edit] = (*mark, alike[mark])
    return marks
