"""What an oracle needs of the runs that it judges. The runner and the calibration read it, and nobody else decides.

An oracle that needs another kind of run says so here: one field, what two oracles make of it together, and, where the
worker must do something, the line in `on` that tells the runner.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.runner.inside.compare.comparison import AGAINST, GOES_ON, UNSTEADY, UNWRITTEN
from shrinkray_gpu.runner.inside.launches.launch_log import INTERPRETED
from shrinkray_gpu.runner.inside.static.rules import ASKED, RULES
from shrinkray_gpu.runner.knob_settings import KnobSetting
from shrinkray_gpu.runner.pool import Script

BUILD = "build:"
"""In `wants`, before a regular expression: the worker runs the host code of a build whose words match it."""


@dataclass(frozen=True, kw_only=True)
class Needs:
    """Of one oracle, or of several together (`|`)."""

    run: bool = True
    """Whether `judge` must be asked, with a Run of ours."""
    text: bool = False
    """Whether `judge_text` must be asked, with the candidate's text."""
    stages: frozenset[str] = frozenset()
    """IR stages that the runner must deliver: `ttir`, `ttgir`, `llir`, `ptx`, `sass`."""
    builds: frozenset[str] = frozenset()
    """Regular expressions that are looked for in what nvcc says of a build."""
    rules: frozenset[str] = frozenset()
    """Static rules that launches on the virtual GPU are held against, beside those that always are."""
    twins: tuple[KnobSetting, ...] = ()
    """Ways in which the runner must run each candidate once more and compare the outputs (`Run.differences`)."""
    elsewhere: KnobSetting | None = None
    """Another compiler, by which each candidate is compiled as well (`Run.elsewhere`)."""
    sanitizer: str = ""
    """The compute-sanitizer tool that candidates must run under (`Run.records`); empty: none."""
    timing: bool = False
    """Whether time is the question: candidates run with nothing beside them, and tell what they hang in."""
    seconds: float | None = None
    """After which a run hangs, where the oracle itself says so."""
    interpreted: bool = False
    """Whether the virtual GPU must run kernels by Triton's interpreter, since the fault hangs on what they write."""
    checked: bool = False
    """Whether a check of what kernels wrote is the question, and nothing else that the script may die of."""
    compared: str = ""
    """The recording of the check that the original fails: what candidates check is held against it."""
    unsteady: tuple[str, ...] = ()
    """What of that differs between two runs of the original, see `ComparisonCheck`."""
    written: bool = False
    """Whether runs must tell what the host gets of memory that nobody wrote, since the original gets nothing of it."""
    draws_go_on: bool = False
    """Whether cases that the original checks one after another must draw other numbers than those before them."""
    asserts: bool = False
    """Whether the script's own errors are the question, so that the virtual GPU must leave assertions as they are."""

    @property
    def plain(self) -> bool:
        """Whether a process as its user starts it may answer: nobody compares it, and nobody reads its code."""
        return not (self.text or self.stages or self.builds or self.twins or self.elsewhere or self.sanitizer)

    @property
    def unlimited(self) -> bool:
        """Whether time is the question and only the user can say how much of it."""
        return self.timing and self.seconds is None

    @property
    def wants(self) -> tuple[str, ...]:
        """What the worker must deliver beside the everyday facts."""
        named = [*(BUILD + pattern for pattern in self.builds), *(ASKED + rule for rule in self.rules)]
        named += [AGAINST + self.compared] * bool(self.compared) + [GOES_ON] * self.draws_go_on
        named += [UNWRITTEN] * self.written
        named += [UNSTEADY + " ".join(self.unsteady)] * bool(self.unsteady)
        return tuple(sorted({*self.stages, *named, *[INTERPRETED] * self.interpreted}))

    def on(self, script: Script, *, virtual: bool) -> Script:
        """The script, run as these needs ask for. Raises UsageError where nobody named the other compiler."""
        if self.elsewhere is not None and not self.elsewhere.python:
            raise UsageError("an oracle regressed: is for shrink FILE and --check: this command compares no releases")
        return dataclasses.replace(
            script,
            asserts=self.asserts or not virtual,
            wants=self.wants,
            twins=self.twins,
            elsewhere=self.elsewhere,
            sanitizer=self.sanitizer,
            tell=self.timing,
        )

    def __or__(self, other: Needs) -> Needs:
        """What both need together. Raises UsageError where no single run can be had that answers both."""
        tools = dict.fromkeys(tool for tool in (self.sanitizer, other.sanitizer) if tool)
        if len(tools) > 1:
            either = " or ".join(tools)
            raise UsageError(f"a program runs under one tool of compute-sanitizer at a time: choose {either}")
        others = dict.fromkeys(way for way in (self.elsewhere, other.elsewhere) if way)
        if len(others) > 1:
            either = " or ".join(way.name for way in others)
            raise UsageError(f"a program is compared with one other compiler at a time: choose {either}")
        return Needs(
            run=self.run or other.run,
            text=self.text or other.text,
            stages=self.stages | other.stages,
            builds=self.builds | other.builds,
            rules=self.rules | other.rules,
            twins=tuple(dict.fromkeys((*self.twins, *other.twins))),
            elsewhere=self.elsewhere or other.elsewhere,
            sanitizer=self.sanitizer or other.sanitizer,
            timing=self.timing or other.timing,
            seconds=other.seconds if self.seconds is None else self.seconds,
            interpreted=self.interpreted or other.interpreted,
            checked=self.checked or other.checked,
            compared=self.compared or other.compared,
            unsteady=self.unsteady or other.unsteady,
            written=self.written or other.written,
            draws_go_on=self.draws_go_on or other.draws_go_on,
            asserts=self.asserts or other.asserts,
        )


UNASKED = Needs(asserts=True, rules=frozenset(rule.name for rule in RULES if rule.asked and not rule.named))
"""Of a run without an oracle: whatever fault it shows may be the one."""
