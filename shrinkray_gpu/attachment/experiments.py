"""Control experiments on the repro: each variant of its text, and each environment that a reader can set, tried once.

They are asked of fresh contexts, several at once, the most telling first, until a time is over; what was not tried then
is told as such. The program as it is comes first: where that does not fault, the others show nothing.
"""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from itertools import groupby, zip_longest

from shrinkray_gpu.attachment.text_edits import command
from shrinkray_gpu.attachment.variants import Knob, Variant, knobs
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.runner import knob_settings
from shrinkray_gpu.same_fault.controls import Control, ControlOutcome, Controls, outcome

SECONDS = 30.0
"""For all experiments; those under way then are waited for."""
MOST = 48
"""Variants that are tried, at most."""
NOT_TRIED = "not tried"
_COMPILING = ("DISABLE_PTXAS_OPT=1",)
_ON_A_GPU = ("CUDA_LAUNCH_BLOCKING=1", "PYTORCH_NO_CUDA_MEMORY_CACHING=1", "TRITON_INTERPRET=1")
MEANING = {
    "DISABLE_PTXAS_OPT=1": "ptxas without optimisation (-O0)",
    "CUDA_LAUNCH_BLOCKING=1": "each launch waits for its end",
    "PYTORCH_NO_CUDA_MEMORY_CACHING=1": "each tensor in an allocation of its own",
    "TRITON_INTERPRET=1": "Triton's interpreter, no compiler",
}
SAME = {"DISABLE_PTXAS_OPT=1": "ptxas=-O0"}
"""Variables that a knob stands for, which any lane can turn: a variable would take a worker of its own."""
Say = Callable[[str], None]


@dataclass(frozen=True)
class Experiment:
    """One change, how to make it by hand, and what came of it."""

    knob: str
    kind: str
    """As of a `Knob`; `environment` for a variable."""
    value: str
    command: str
    outcome: str
    """`passes`, `faults`, `not applicable`, `not tried`."""
    why: str = ""
    text: str = ""
    """The changed program; empty for an environment."""

    @property
    def passes(self) -> bool:
        return self.outcome == ControlOutcome.PASSES.value

    @property
    def faults(self) -> bool:
        return self.outcome == ControlOutcome.FAULTS.value


@dataclass(frozen=True)
class KnobResults:
    """All values of one knob, in their order."""

    name: str
    kind: str
    current: str
    experiments: tuple[Experiment, ...]
    """The one with the current value is the program as it is."""
    innermost: bool = False

    @property
    def passing(self) -> tuple[Experiment, ...]:
        return tuple(one for one in self.experiments if one.passes)

    @property
    def nearest(self) -> Experiment:
        """The passing one fewest values away from the current one."""
        values = [each.value for each in self.experiments]
        current = values.index(self.current) if self.current in values else 0
        return min(self.passing, key=lambda one: abs(values.index(one.value) - current))

    @property
    def matters(self) -> bool | None:
        """Whether the knob decides about the fault; None where nothing but the current value answered."""
        others = [one for one in self.experiments if one.value != self.current]
        return True if self.passing else False if any(one.faults for one in others) else None

    @property
    def boundary(self) -> str:
        """From which value on it passes, in words; a knob need not be monotonous."""
        answered = [one for one in self.experiments if one.passes or one.faults]
        runs = [(word, [one.value for one in some]) for word, some in groupby(answered, lambda one: one.outcome)]
        if self.kind in ("dtype", "flag", "environment"):
            grouped = {word: [value for said, values in runs if said == word for value in values] for word, _ in runs}
            return "; ".join(f"{word} with {', '.join(values)}" for word, values in grouped.items())
        return "; ".join(
            _range(word, values, first=i == 0, last=i == len(runs) - 1) for i, (word, values) in enumerate(runs)
        )


def _range(word: str, values: list[str], *, first: bool, last: bool) -> str:
    values = [value.removesuffix(" (default)") for value in values]
    if first and last:
        return f"{word} at each of {', '.join(values)}" if len(values) > 1 else f"{word} at {values[0]}"
    if first and len(values) > 1:
        return f"{word} up to {values[-1]}"
    if last and len(values) > 1:
        return f"{word} from {values[0]} on (tried to {values[-1]})"
    return f"{word} at {', '.join(values)}"


@dataclass(frozen=True)
class Experiments:
    """What the experiments say together."""

    control: Experiment
    """The program as it is: it must fault."""
    rows: tuple[KnobResults, ...] = ()
    seconds: float = 0.0
    left_out: str = ""
    """Why there are none; empty where there are."""

    @property
    def experiments(self) -> tuple[Experiment, ...]:
        return tuple(one for row in self.rows for one in row.experiments)

    @property
    def nearest(self) -> Experiment | None:
        """The passing variant of the fewest and smallest changes: a value beside the current one before one far off."""
        found = [
            (_distance(row, one), at, one)
            for at, row in enumerate(self.rows)
            for one in row.passing
            if one.text and one.value != row.current
        ]
        return min(found, key=lambda each: each[:2])[2] if found else None


def _distance(row: KnobResults, one: Experiment) -> tuple[int, int]:
    values = [each.value for each in row.experiments]
    steps = abs(values.index(one.value) - values.index(row.current))
    return (steps, one.command.count("-e "))


def run_experiments(
    text: str,
    file: str,
    controls: Controls,
    *,
    gpu: bool,
    jobs: int,
    argv: Sequence[str] = (),
    seconds: float = SECONDS,
    say: Say = lambda text: None,
    stop: Callable[[], bool] = lambda: False,
) -> Experiments:
    """Try what can be varied in this text, which stands in `file`; nothing more once `stop` says so."""
    started, words = time.monotonic(), f" {shlex.join(argv)}" if argv else ""
    how = f"python {shlex.quote(file)}{words}"

    def ask(one: Experiment, control: Control) -> Experiment:
        result, why = _attempt(controls, control, one.text or text)
        # Without the addresses and dumps that a message may hold, on one line.
        return replace(one, outcome=result.value, why=re.sub(r"\s+", " ", why)[:160])

    plain = ask(Experiment("the program as it is", "plain", "", how, NOT_TRIED), Control("as it is"))
    if not plain.faults:
        why = f"the repro itself: {plain.outcome} ({plain.why})"
        return Experiments(plain, seconds=time.monotonic() - started, left_out=why)
    found = knobs(text)
    names = [*_COMPILING, *(_ON_A_GPU if gpu else ())]
    # One of each knob after the other: where the time is short, each has its nearest values tried.
    turns = [one for turn in zip_longest(*(knob.variants for knob in found)) for one in turn if one is not None][:MOST]
    done: dict[tuple[str, str], Experiment] = {}

    def ask_in_time(one: Experiment, control: Control) -> Experiment:
        if stop() or time.monotonic() > started + seconds:
            return replace(one, why="the time for experiments was over")
        return ask(one, control)

    def environment(name: str) -> Experiment:
        one = Experiment(name, "environment", name, f"{name} {how}", NOT_TRIED)
        return ask_in_time(one, Control(name, knob_settings.parse_setting(SAME.get(name, name))))

    def variant(one: Variant) -> Experiment:
        by_hand = command(text, one.edits, file) + words
        experiment = Experiment(one.knob, "", one.value, by_hand, NOT_TRIED, text=one.text)
        return ask_in_time(experiment, Control(f"{one.knob}={one.value}"))

    with ThreadPoolExecutor(max(1, jobs)) as threads:
        # Those that need a process of their own take longest, and begin first.
        pending = [threads.submit(environment, name) for name in names]
        pending += [threads.submit(variant, one) for one in turns]
        for one in (future.result() for future in as_completed(pending)):
            done[one.knob, one.value] = one
            say(f"control experiments: {len(done)} of {len(pending)}, {time.monotonic() - started:.0f} s ...")
    rows = [_row(knob, done, plain) for knob in found]
    rows += [KnobResults(name, "environment", "unset", (done[name, name],)) for name in names]
    return Experiments(plain, tuple(rows), time.monotonic() - started)


def _attempt(controls: Controls, control: Control, text: str) -> tuple[ControlOutcome, str]:
    """As `Controls.attempt`, for a text that needs no carrying over. Of a compiler's fault a variant that compiles has
    shown that it passes, whatever becomes of it then: what it needs to run may have been reduced away."""
    reference = controls.reference
    fault = Fault.of(reference) if reference is not None else None
    for _ in range(max(1, controls.repeats)):
        run = controls.run(text, control.way)
        result, why = outcome(run, controls.oracle.judge(run), control, reference)
        compiled = bool(run.compiles) and all(compile.failure is None for compile in run.compiles)
        if result is ControlOutcome.NOT_APPLICABLE and fault is not None and fault.phase == "compile" and compiled:
            result, why = ControlOutcome.PASSES, f"it compiles; then {why}"
        if result is not ControlOutcome.PASSES:
            break
    return result, why


def _row(knob: Knob, done: dict[tuple[str, str], Experiment], plain: Experiment) -> KnobResults:
    shown = []
    for value in knob.values:
        one = done.get((knob.name, value))
        if value == knob.current:
            one = Experiment(knob.name, knob.kind, value, plain.command, plain.outcome, plain.why)
        if one is None:
            one = Experiment(knob.name, knob.kind, value, "", NOT_TRIED, "more variants than are tried")
        shown.append(one)
    return KnobResults(knob.name, knob.kind, knob.current, tuple(shown), knob.innermost)
