"""What a course begins with: the original, what a person made of best.py, or the faulty launch alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from shrinkray_gpu.reduction.cached_test import CachedTest
from shrinkray_gpu.reduction.journal import Journal
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.state import State
from shrinkray_gpu.reduction.steps import Steps


def begin(original: Program, journal: Journal, state: State, steps: Steps, test: CachedTest) -> None:
    """Go on from a best.py that was edited by hand, if it shows the fault; else from where the journal begins."""
    start, note, checks = journal.start(original), partial(state.tell, "note"), steps.checks
    edited = journal.hand_edit(original)
    if edited is not None:
        found = "best.py is ahead of its damaged journal" if journal.damaged else "best.py was edited by hand"
        left = "going on without it; it is kept in other_faults/"
        if not edited.parses or not test.consider([edited], smaller=False)[0]:
            journal.put_back(start)
            note(f"{found} and does not fault: {left}")
        elif why := checks.controls.slip_reason(edited) or checks.fingerprints.slip_reason(edited):
            journal.put_back(start)
            note(f"{found} and shows another fault ({why}): {left}")
        else:
            journal.take_over(edited)
            start = edited
            note(f"{found} and still faults: going on from it")
    steps.begin(start)


def lift(scripts: Callable[[], Sequence[str]], journal: Journal, state: State, steps: Steps, test: CachedTest) -> None:
    """Before all passes: the faulty launch alone, which makes every later try cheaper."""
    state.pass_name = "lift"
    texts = journal.recall_lifted_scripts()
    if texts is None:
        test.ending.check()
        texts = tuple(scripts())
        journal.record_lifted_scripts(texts)
    candidates = [state.current.with_text(text) for text in texts]
    for candidate, faults in zip(candidates, test.consider(candidates)):
        if faults and candidate.key not in steps.checks.controls.refuted:
            steps.accept(candidate)
            steps.checks.controls.settle()  # all that follows would be built on it
            if state.current is candidate:
                return
