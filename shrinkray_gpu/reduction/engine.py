"""Engine: runs the passes over a Program, round after round, until nothing gets smaller.

It joins the parts of a course (`course_start`, `rounds`, `for_the_reader`), and ends it with the best so far. It knows
no process, no GPU and no clock but those passed in. The course itself, and never timing, decides what it looks at and
when: the same seed and width give the same result.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Literal

from shrinkray_gpu.reduction.cached_test import CachedTest, once
from shrinkray_gpu.reduction.checks.check_plan import CheckPlan
from shrinkray_gpu.reduction.course import Course
from shrinkray_gpu.reduction.course_start import begin, lift
from shrinkray_gpu.reduction.edit_finder import EditFinder
from shrinkray_gpu.reduction.for_the_reader import lay_out, with_layout
from shrinkray_gpu.reduction.grown_trials import GrownTrials
from shrinkray_gpu.reduction.interestingness import InterestingnessTest
from shrinkray_gpu.reduction.journal import Journal
from shrinkray_gpu.reduction.keep import kept_nodes
from shrinkray_gpu.reduction.limits import Ending, SearchStopped
from shrinkray_gpu.reduction.outcome import Listeners, PassLike, Reduction
from shrinkray_gpu.reduction.pass_search import PassSearch
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.rewrites import Rewrites
from shrinkray_gpu.reduction.rounds import Rounds
from shrinkray_gpu.reduction.spending import cost_table
from shrinkray_gpu.reduction.state import State
from shrinkray_gpu.reduction.steps import Steps
from shrinkray_gpu.reduction.worth import Worth


def reduce_program(
    program: Program,
    *,
    passes: Sequence[PassLike],
    test: InterestingnessTest,
    journal: Journal,
    checks: CheckPlan = CheckPlan(),  # noqa: B008 (frozen)
    course: Course = Course(),  # noqa: B008 (frozen)
    rewrites: Rewrites = Rewrites(),  # noqa: B008 (frozen)
    report: Listeners = Listeners(),  # noqa: B008 (frozen)
) -> Reduction:
    """Reduce `program`, which faults, to the smallest program found that still does.

    `test` says of candidates whether they fault; `checks` are asked of accepted programs beside the search, and may
    take them back; `course` says how to go on and when to stop; `report` hears of it on the way.
    """
    return Engine(
        program,
        passes=passes,
        test=test,
        journal=journal,
        checks=checks,
        course=course,
        rewrites=rewrites,
        report=report,
    ).reduce()


class Engine:
    """One course under way, from the start to the end."""

    def __init__(
        self,
        program: Program,
        *,
        passes: Sequence[PassLike],
        test: InterestingnessTest,
        journal: Journal,
        checks: CheckPlan,
        course: Course,
        rewrites: Rewrites,
        report: Listeners,
    ) -> None:
        self.original = program
        self.passes = [each for each in passes if each.name not in course.skip]
        self.interestingness, self.journal, self.plan = test, journal, checks
        self.course, self.rewrites, self.report = course, rewrites, report
        self.state = state = State(program, program, report.progress)
        worth = Worth(self.passes, state, course.clock, fast=course.fast)
        self.ending = ending = Ending(course.stop, course.deadline, course.clock, worth.check)
        other_fault = once(report.other_fault)
        self.steps = steps = Steps(state, journal, checks, other_fault=other_fault)
        self.checks = steps.checks
        self.test = CachedTest(test, state, journal, steps.checks, ending, other_fault=other_fault, flaky=course.flaky)
        self.finder = EditFinder(state, self.test, ending, instrument=rewrites.instrument, keep=course.keep)
        self.searching = PassSearch(state, steps, self.test, self.finder, course)
        trials = GrownTrials(state, steps, self.test, self.finder, self.searching, self.passes)
        self.rounds = Rounds(self.passes, state, steps, self.test, ending, worth, self.searching, trials)

    def reduce(self) -> Reduction:
        state, layout = self.state, self.rewrites.layout
        ended: Literal["done", "stopped", "out of time", "stopped early", "interrupted"] = "done"
        early = ""
        try:
            begin(self.original, self.journal, state, self.steps, self.test)
            # What the user wants kept would be lost in the launch alone.
            if self.rewrites.lifts is not None and not kept_nodes(state.current, frozenset(self.course.keep)):
                lift(self.rewrites.lifts, self.journal, state, self.steps, self.test)
            early = self.rounds.to_the_end()
            if layout is not None:
                lay_out(layout, state, self.steps, self.test)
            if early:
                ended = "stopped early"
            else:
                self.journal.end()
            state.tell("note", cost_table(state.counts.passes))
        except SearchStopped as e:
            ended = e.why
            with contextlib.suppress(KeyboardInterrupt):
                self.checks.before_leaving(state.counts.considered)
        except KeyboardInterrupt:
            ended = "interrupted"
        laid_out = layout is None or ended in ("done", "stopped early")
        return Reduction(
            program=state.best if laid_out or layout is None else with_layout(layout, state.best),
            ended=ended,
            line=tuple(step.program for step in self.steps.line.steps),
            cost=state.counts.cost(state.round),
            checks=self.checks.results(),
            early=early,
        )
