"""Twins: a candidate run as it is and once more in another way, to see whether its kernels do the same.

A wrong result needs a judge, and the script's own assertion is a poor one: almost any change of meaning keeps it
failing. The same program on the same inputs with one knob turned is a better one: both runs mean the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from shrinkray_gpu.runner.inside.compare.compare import NOTHING
from shrinkray_gpu.runner.knob_settings import PLAIN, KnobSetting
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.run import Difference, Run
from shrinkray_gpu.runner.scratch_folder import scratch_folder

UNTURNED = "there was nothing to turn"
VIRTUAL = "no kernel runs on the virtual GPU, so there are no outputs to compare"
HOPELESS = (NOTHING, UNTURNED)
"""Beginnings of `Run.incomparable` where the program itself is the reason, and another try would say the same."""
AGAIN = "again"

Ask = Callable[[KnobSetting, str, str], Run]
"""Runs the candidate in a way; its outputs go to the first file, and are compared with those in the second."""


def repetitions(runs: int) -> tuple[KnobSetting, ...]:
    """The same run so often in all. Each repetition has a name of its own, or they would count as one."""
    return tuple(KnobSetting(AGAIN if number == 2 else f"{AGAIN} ({number})") for number in range(2, runs + 1))


def echo(way: KnobSetting) -> KnobSetting:
    """The plain run once more, where the twin in this way runs: in a lane, or in another process with nothing turned.
    It tells what the knob does from what any two runs, or any two processes, do."""
    return KnobSetting(AGAIN) if way.cheap else KnobSetting(AGAIN, environment={"SHRINK_AGAIN": "1"})


def with_hash_seed(setup: Setup) -> Setup:
    """Sets and dicts of strings go by hashes that Python draws anew for each process."""
    return replace(setup, environment={"PYTHONHASHSEED": "0", **setup.environment})


def compare_runs(ways: tuple[KnobSetting, ...], ask: Ask, *, scratch: str, virtual: bool) -> Run:
    """The plain run, with what the others do otherwise. Where the first shows nothing to compare, it is the only one;
    of repetitions, the first that differs is the last. Beside other ways they are asked for only if one differs."""
    if virtual:
        return replace(ask(PLAIN, "", ""), incomparable=VIRTUAL)
    with scratch_folder(scratch, "twins-") as folder:
        file = Path(folder) / "outputs"
        plain = ask(PLAIN, str(file), "")
        if plain.incomparable:
            return plain
        if not file.exists():
            return replace(plain, incomparable="it ended before its outputs could be read")
        differences: list[Difference] = []
        agreeing: list[str] = []
        doubts: list[str] = []
        for way in ways:
            if way.name.startswith(AGAIN) and not _worth_repeating(ways, differences):
                continue
            other = ask(way, "", str(file))
            why = _unusable(other, way) or other.incomparable
            if why:
                doubts.append(f"{why} ({way.name})")
                continue
            agreeing.append(way.name)
            differences += [replace(found, way=way.name) for found in other.differences]
    return replace(plain, differences=tuple(differences), compared=tuple(agreeing), incomparable="; ".join(doubts))


def with_other_compiler(run: Run, way: KnobSetting, other: KnobSetting, ask: Callable[[KnobSetting], Run]) -> Run:
    """The run, with what another compiler makes of the same kernels under the same knobs. It is not asked where the
    run has no kernel of its own to compare with that."""
    if run.trouble or not any(one.failure is None for one in run.compiles):
        return run
    both = replace(
        other,
        name=other.name if way == PLAIN else f"{other.name} {way.name}",
        knobs=way.knobs,
        environment={**way.environment, **other.environment},
    )
    seen = ask(both)
    turned = run.turned if way == PLAIN else {way.name: 1, **run.turned}  # what needs an environment nobody counted
    trouble = _unusable(seen, both)  # whether there was something to turn, the run itself tells
    return replace(
        run, turned=turned, elsewhere=seen.compiles, elsewhere_trouble="" if trouble == UNTURNED else trouble
    )


def _worth_repeating(ways: tuple[KnobSetting, ...], differences: list[Difference]) -> bool:
    if any(found.way.startswith(AGAIN) for found in differences):
        return False
    return bool(differences) or all(way.name.startswith(AGAIN) for way in ways)


def _unusable(run: Run, way: KnobSetting) -> str:
    """Why the other run cannot be held against the plain one."""
    if run.trouble:
        return f"the other run says nothing: {run.trouble}"
    if run.timed_out:
        return f"the other run was stopped after {run.seconds:.0f} s"
    if run.signal is not None:
        return f"the other run was ended by signal {run.signal}"
    if way.knobs and run.turned and not any(run.turned.values()):
        return UNTURNED
    return ""
