"""What the rows of ablation.py say: which passes a reduction hangs on, and which programs each pass helps.

A pass helps a program if without it the result has more tokens or lacks a guard, or the reduction takes more tries or
more CPU seconds. Loops, literals and characters are polish: the table names those programs, and no verdict counts them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

SAME = ("arch", "jobs", "options", "torch", "triton", "tool")
"""What two rows must share to be compared: all else on the machine changes seconds only."""
NOISE_SHARE, NOISE = 0.1, 10
"""A difference in tries counts if it is more than this share and more than this number; a lesser one may be chance."""

CHEAPER = 0.2
"""A difference in CPU seconds counts if it is more than this share."""
FIGURE = {
    "smaller": "tokens", "larger": "tokens", "faster": "tries", "slower": "tries", "cheaper": "cpu", "dearer": "cpu",
}  # fmt: skip
"""The figure that shows an effect; what is `plainer` has none."""

Row = dict[str, Any]
Pairs = Mapping[str, Sequence[tuple[Row, Row]]]
"""By program, rows of the same seed: with all passes, and without the pass in question."""


def drops(row: Row, schedule: Sequence[str]) -> list[str]:
    """The passes whose absence can change this reduction, in the order of the schedule."""
    active = set(row["steps"]) | {name for name, bill in row["bills"].items() if bill["taken"]}
    return [name for name in schedule if name in active]


def sentence(row: Row) -> str:
    without = f"without {row['dropped']}" if row["dropped"] else "with all passes"
    if "error" in row:
        return f"{row['program']:26} {without:24} ERROR {row['error'].splitlines()[-1]}"
    return f"{row['program']:26} {without:24} {row['tokens']:5} tokens {row['tries']:6} tries {row['wall']:7.1f} s"


@dataclass(frozen=True)
class Figures:
    """What one or more reductions of a program came to, each number the mean over the seeds."""

    guards: float
    """The first place of the tool's order of sizes, before the tokens: how much of what kept it safe is gone."""
    tokens: float
    tries: float
    cpu: float
    """Seconds of all processes together."""
    rest: tuple[float, ...]
    """The later places of that order: loops, literals, characters."""


def figures(rows: Sequence[Row]) -> Figures:
    guards, tokens, *rest = (mean(column) for column in zip(*(row["size"] for row in rows)))
    return Figures(guards, mean(row["tokens"] for row in rows), mean(row["tries"] for row in rows),
                   mean(row["cpu"] for row in rows), tuple(rest))  # fmt: skip


def effect(whole: Figures, without: Figures) -> str:
    """What the pass does for this program, the first of these that differs: size, tries, CPU seconds, polish."""
    if (whole.guards, whole.tokens) != (without.guards, without.tokens):
        return "smaller" if (whole.guards, whole.tokens) < (without.guards, without.tokens) else "larger"
    if abs(whole.tries - without.tries) > max(NOISE, NOISE_SHARE * whole.tries):
        return "faster" if whole.tries < without.tries else "slower"
    if abs(whole.cpu - without.cpu) > CHEAPER * whole.cpu:
        return "cheaper" if whole.cpu < without.cpu else "dearer"
    return "plainer" if whole.rest < without.rest else "nothing"


def table(results: Row) -> str:
    """By pass: programs in which it took a step, what they come to with it and without, and whom it helps."""
    whole = {(row["program"], row["seed"]): row for row in results["rows"] if row["dropped"] is None}
    pairs: dict[str, dict[str, list[tuple[Row, Row]]]] = {name: {} for name in results["passes"]}
    failed: dict[str, list[str]] = {}
    unlike = 0
    for row in (row for row in results["rows"] if row["dropped"] is not None):
        other = whole.get((row["program"], row["seed"]), {"error": ""})
        if "error" in row and "error" not in other:
            failed.setdefault(row["dropped"], []).append(row["program"])
        if "error" in row or "error" in other:
            continue
        same = [name for name in SAME if name != "tool"]
        if row["source"] != other["source"] or any(row["on"][name] != other["on"][name] for name in same):
            continue
        unlike += row["on"]["tool"] != other["on"]["tool"]
        pairs.setdefault(row["dropped"], {}).setdefault(row["program"], []).append((other, row))
    head = ["pass", "programs", "tokens, with and without", "tries", "CPU s", "smaller by it", "fewer tries by it",
            "cheaper tries by it", "plainer by it", "better without it", "verdict"]  # fmt: skip
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    left: Counter[str] = Counter()
    measured = {(row["program"], row["seed"], row["dropped"]) for row in results["rows"]}
    good = [row for row in whole.values() if "error" not in row]
    for row in good:
        left.update(name for name in drops(row, results["passes"])
                    if (row["program"], row["seed"], name) not in measured)  # fmt: skip
    for name, programs in pairs.items():
        lines.append("| " + " | ".join([name, *_cells(programs), _verdict(programs, failed.get(name, []), left[name])]))
        lines[-1] += " |"
    errors = [f"- {sentence(row)}" for row in results["rows"] if "error" in row]
    notes = [f"\n{len(good)} reductions with all passes; {left.total()} without one of them are not measured yet."]
    notes += [f"{unlike} pairs are of two states of the tool."] if unlike else []
    return "\n".join([*lines, *notes, *errors])


def _effects(programs: Pairs) -> dict[str, list[str]]:
    """By effect, the programs that the pass has it on, each with the figure that shows it."""
    found: dict[str, list[str]] = {}
    for program, pairs in programs.items():
        whole, without = (figures(rows) for rows in zip(*pairs))
        kind = effect(whole, without)
        of = FIGURE.get(kind, "")
        shown = f" {getattr(whole, of):g} → {getattr(without, of):g}" if of else ""
        shown += " (guards)" if whole.guards != without.guards else ""
        found.setdefault(kind, []).append(program + shown)
    return found


def _cells(programs: Pairs) -> list[str]:
    compared = [[figures(rows) for rows in zip(*pairs)] for pairs in programs.values()]
    sums = [[sum(getattr(one[at], name) for one in compared) for at in (0, 1)] for name in ("tokens", "tries", "cpu")]
    effects = _effects(programs)
    kinds = [", ".join(effects.get(kind, [])) for kind in ("smaller", "faster", "cheaper", "plainer")]
    better = ", ".join(program for kind in ("larger", "slower", "dearer") for program in effects.get(kind, []))
    shown = ["{:.0f} → {:.0f}".format(*pair) if compared else "" for pair in sums]
    return [str(len(compared)), *shown, *kinds, better]


def _verdict(programs: Pairs, failed: Sequence[str], left: int) -> str:
    """Nothing is said of a pass that is not measured yet in any program."""
    effects = _effects(programs)
    helped = sum(len(effects.get(kind, [])) for kind in ("smaller", "faster", "cheaper"))
    words = [f"helps {('none', 'one')[helped] if helped < 2 else 'several'}"] if programs else []
    words += [f"no result without it: {', '.join(failed)}"] if failed else []
    words += [f"{left} not measured yet"] if left else []
    return "; ".join(words) or "took no step"
