"""The matrix as text, Markdown, CSV and data."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from shrinkray_gpu.evidence.text_tables import aligned, clipped, markdown_table
from shrinkray_gpu.oracle.statistics import upper
from shrinkray_gpu.questions.sweep.sweep import CellKind, Matrix, MatrixCell

_LONGEST = 90


def table(matrix: Matrix) -> str:
    """A line for each configuration, and what follows."""
    return "\n".join([*aligned(_rows(matrix)), "", *summary(matrix)])


def markdown(matrix: Matrix, command: str) -> str:
    told = "\n".join(f"- {line}" for line in summary(matrix))
    return f"    {command}\n\n{markdown_table(_rows(matrix))}\n\n{told}\n"


def summary(matrix: Matrix) -> list[str]:
    """How many of which kind, where values were put, and what did nothing."""
    counts = [(kind, sum(cell.kind is kind for cell in matrix.cells)) for kind in CellKind]
    told = ", ".join(f"{n} {kind.value}" for kind, n in counts if n)
    lines = [f"{len(matrix.cells)} configurations: {told} ({matrix.place}; triton {matrix.versions.get('triton')})"]
    lines += [f"changed {where}" for where in matrix.cells[0].program.where]
    lines += [f"{name} changes no kernel and no launch: does it reach them?" for name in matrix.idle]
    if not any(cell.code or cell.builds for cell in matrix.cells):
        lines.append("no configuration compiles a kernel: what is told here is of the host's code alone")
    passing = [cell for cell in matrix.cells if cell.kind is CellKind.PASSES]
    if matrix.runs == 1:
        lines.append("one run each says nothing of faults that come and go; --runs 20 would")
    elif passing:
        most = max(upper(0, cell.rate.runs, 0.05) for cell in passing)
        lines.append(f"passes: not one fault in {matrix.runs} runs, so in under {_percent(most)} of runs (95 % sure)")
    others = sorted({fault for cell in matrix.cells for fault, _ in cell.others})
    lines += [f"not what was asked for, and counted as passed: {clipped(fault, _LONGEST)}" for fault in others]
    return lines


def to_csv(matrix: Matrix) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    head = ["kind", "faults", "runs", "rate", "low", "high", "unknown", "seconds", "fault", "other", "doubt"]
    writer.writerow([*(axis.name for axis in matrix.axes), *head])
    for cell in matrix.cells:
        low, high = cell.rate.interval
        numbers = [cell.rate.sightings, cell.rate.runs, f"{cell.rate.estimate:.4f}", f"{low:.4f}", f"{high:.4f}"]
        words = [_listed(cell.faults), _listed(cell.others), cell.doubt]
        values = [setting.value for setting in cell.settings]
        writer.writerow([*values, cell.kind.value, *numbers, cell.unknown, f"{cell.seconds:.2f}", *words])
    return out.getvalue()


def to_json(matrix: Matrix) -> dict[str, Any]:
    return {
        "oracle": matrix.oracle,
        "runs": matrix.runs,
        "place": matrix.place,
        "versions": dict(matrix.versions),
        "axes": {axis.name: list(axis.values) for axis in matrix.axes},
        "idle": matrix.idle,
        "cells": [
            {
                "settings": {setting.name: setting.value for setting in cell.settings},
                "kind": cell.kind.value,
                "faults": cell.rate.sightings,
                "runs": cell.rate.runs,
                "interval": list(cell.rate.interval),
                "unknown": cell.unknown,
                "seen": dict(cell.faults),
                "others": dict(cell.others),
                "doubt": cell.doubt,
                "seconds": round(cell.seconds, 3),
            }
            for cell in matrix.cells
        ],
    }


def rate_text(cell: MatrixCell) -> str:
    """`30 of 100`."""
    return f"{cell.rate.sightings} of {cell.rate.runs}" if cell.rate.runs else "-"


def between(cell: MatrixCell) -> str:
    """`21 to 40 %`, the 95 % interval."""
    if not cell.rate.runs:
        return "-"
    low, high = cell.rate.interval
    return f"{100 * low:.0f} to {_percent(high)}"


def _rows(matrix: Matrix) -> list[list[str]]:
    head = [*(axis.name for axis in matrix.axes), "faults", "rate", "95 % interval", "outcome", "fault"]
    return [head, *map(_row, matrix.cells)]


def _row(cell: MatrixCell) -> list[str]:
    rate = f"{100 * cell.rate.estimate:.0f} %" if cell.rate.runs else "-"
    said = cell.faults[0][0] if cell.faults else cell.doubt
    more = f" (and {len(cell.faults) - 1} more kinds)" if len(cell.faults) > 1 else ""
    values = [setting.value for setting in cell.settings]
    return [*values, rate_text(cell), rate, between(cell), cell.kind.value, clipped(said, _LONGEST) + more]


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _listed(faults: Sequence[tuple[str, int]]) -> str:
    return "; ".join(f"{count} x {fault}" for fault, count in faults)
