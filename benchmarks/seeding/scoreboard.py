"""The results file: a row a run, with figures by operator and package and 95 % intervals."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .truth import VERDICTS

SHORT = 25
"""Lines of a repro that a maintainer reads at once."""
ABOUT = (
    "Faults planted in released kernels and reduced. true: the fix, carried to what is left of its place, makes the "
    "repro pass. Rows in the order of runs; none is ever taken out. Written by benchmarks/seeded.py."
)


def load(path: Path) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"about": ABOUT, "runs": []}
    return result


def row_of(board: dict[str, Any], key: Mapping[str, Any]) -> dict[str, Any]:
    """The last row of this key, to go on with; else a new one."""
    for row in reversed(board["runs"]):
        if all(row.get(name) == value for name, value in key.items()):
            return row  # type: ignore[no-any-return]
    row = {**key, "faults": []}
    board["runs"].append(row)
    return row


def save(path: Path, board: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(json.dumps(board, indent=1) + "\n")
    new.replace(path)


def figures(faults: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Counts, medians and intervals of a row's faults."""
    counts = {verdict: sum(one["verdict"] == verdict for one in faults) for verdict in VERDICTS}
    lines = [one["lines"] for one in faults if one["lines"]]
    judged = [one for one in faults if one["verdict"] in ("true", "slipped", "undecided")]
    short = sum(one["verdict"] == "true" and one["lines"] <= SHORT for one in faults)
    return {
        "planted": len(faults),
        **counts,
        f"true, {SHORT} lines or fewer": short,
        "true, of all": interval(counts["true"], len(faults)),
        "slipped or undecided, of those reduced": interval(len(judged) - counts["true"], len(judged)),
        "lines": statistics.median(lines) if lines else 0,
        "seconds": round(sum(one["seconds"] for one in faults), 1),
        "seconds, median": round(statistics.median(one["seconds"] for one in faults), 1) if faults else 0,
        "gpu_seconds": round(sum(one["gpu_seconds"] for one in faults), 1),
        "kernels": len({(one["package"], one["kernel"]) for one in faults if one["kernel"]}),
    }


def interval(count: int, total: int, z: float = 1.96) -> list[float]:
    """The share in percent, and Wilson's interval at 95 %."""
    if not total:
        return []
    share, square = count / total, z * z
    middle = (share + square / (2 * total)) / (1 + square / total)
    width = z / (1 + square / total) * math.sqrt(share * (1 - share) / total + square / (4 * total * total))
    return [round(100 * one, 1) for one in (share, max(0.0, middle - width), min(1.0, middle + width))]


def grouped(faults: Iterable[Mapping[str, Any]], by: str) -> dict[str, dict[str, int]]:
    """Counts of the verdicts by operator or package."""
    result: dict[str, dict[str, int]] = {}
    for one in faults:
        group = result.setdefault(one[by], dict.fromkeys(VERDICTS, 0))
        group[one["verdict"]] += 1
    return dict(sorted(result.items()))


def table(board: Mapping[str, Any]) -> str:
    """All rows as one table, then the last row by operator and package, then what did not come out true."""
    head = ["commit", "half", "seed", "planted", *VERDICTS, "lines", "seconds", "gpu s"]
    rows = [head, ["---"] * len(head)]
    for row in board["runs"]:
        told = figures(row["faults"])
        cells = [row["commit"], row["half"], row["seed"], told["planted"], *(told[one] for one in VERDICTS)]
        rows.append([str(one) for one in (*cells, told["lines"], told["seconds, median"], told["gpu_seconds"])])
    parts = ["\n".join(f"| {' | '.join(row)} |" for row in rows)]
    if board["runs"]:
        last = board["runs"][-1]["faults"]
        for by in ("operator", "package"):
            rows = [[by, *VERDICTS], ["---"] * (1 + len(VERDICTS))]
            rows += [[name, *map(str, counts.values())] for name, counts in grouped(last, by).items()]
            parts.append("\n".join(f"| {' | '.join(row)} |" for row in rows))
        told = figures(last)
        shares = ("true, of all", "slipped or undecided, of those reduced", f"true, {SHORT} lines or fewer", "kernels")
        parts.append("\n".join(f"{name}: {told[name]}" for name in shares))
        parts += [f"{one['verdict']}: {one['name']}: {one['why']}" for one in last if one["verdict"] != "true"]
    return "\n\n".join(parts)
