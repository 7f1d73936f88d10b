"""The sticky error in which a run ended, and who says so: the driver, a static rule, a child, or the error's text."""

from __future__ import annotations

from collections.abc import Collection

from shrinkray_gpu.device import error_table
from shrinkray_gpu.oracle import speech
from shrinkray_gpu.runner.inside.static import rules
from shrinkray_gpu.runner.inside.static.rule import Rule
from shrinkray_gpu.runner.run import Launch, Run

ASSERTED = 710
"""A device assertion failed."""
OUTSIDE = {700, 717}
"""One access far out of bounds is the one or the other, by where its address happens to fall. Seen on the H100: 700 in
a cold process and 717 in a forked one, for the same program."""


def sticky_code(run: Run) -> tuple[int, str]:
    """The run's sticky error and who says so: the driver, a static rule, a child, or (plain) the error text."""
    if run.driver_error:
        return run.driver_error, "a static rule predicts" if run.virtual else "the driver says"
    for launch in run.launches:
        if launch.synced and (rule := static_rule(launch)):
            return rule.code, f"the static rule {rule.name} says"
    for child in run.children:
        if error := error_table.sticky_in(child):
            return error.code, "a child process says"
    if not driver_was_asked(run) and speech.has_failed(run):
        for said in speech.failure_words(run):
            if error := error_table.sticky_in(said.text):
                return error.code, f"its {said.place} says"
    return 0, ""


def static_rule(launch: Launch) -> Rule | None:
    """Which static rule this launch breaks; None if none."""
    return rules.of_fault(launch.fault)[0] if launch.fault else None


def is_sure(run: Run) -> bool:
    """Whether a device would end in the errors that static rules tell of this run, each time."""
    return all(rule.sure for launch in run.launches if (rule := static_rule(launch)))


def undecided_by(run: Run, names: Collection[str]) -> str:
    """A launch on which one of these static rules has no opinion, and why; empty where there is none."""
    for launch in run.launches:
        if launch.undecided:
            rule, why = rules.of_fault(launch.undecided)
            if rule.name in names:
                return f"static:{rule.name} cannot tell of launch {launch.kernel} ({why}): ask a GPU, without --arch"
    return ""


def driver_was_asked(run: Run) -> bool:
    """A plain process is nobody's to ask, and one that a signal ended could not be asked any more."""
    return run.mode != "plain" and run.signal is None
