"""Replay: every case of a corpus is run again, and judged by the Fault that it was kept for.

    from shrinkray_gpu import replay
    for outcome in replay("corpus", arch="sm_90"):
        print(outcome.case.name, outcome)

One worker runs all cases of an environment, each in a forked child (a fresh context on a GPU), several at a time; so
replaying costs little more than compiling. A case says for itself what it needs; what is missing is named.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from shrinkray_gpu.cells.cell import CellEngine
from shrinkray_gpu.cells.this_machine import ThisMachine
from shrinkray_gpu.corpus import case as corpus_case
from shrinkray_gpu.corpus.case import Case
from shrinkray_gpu.corpus.case_cells import CaseCell, ReplayPlace
from shrinkray_gpu.corpus.expectation import CaseOutcome
from shrinkray_gpu.corpus.replay_tables import OutcomeMatrix
from shrinkray_gpu.events import Hear, Replayed, nobody, saying
from shrinkray_gpu.options import arch_number

Say = Callable[[str], None]


def replay(
    cases: Sequence[Case] | Path | str,
    *,
    python: str = sys.executable,
    arch: int | str | None = None,
    jobs: int | None = None,
    runs: int | None = None,
    environment: Mapping[str, str] | None = None,
    say: Say | None = None,
    on_event: Hear | None = None,
) -> list[CaseOutcome]:
    """Run the cases, or all of the corpus in this folder, with this interpreter; `arch` (90 or `sm_90`) on the virtual
    GPU. Outcomes in the order of the cases: whatever is wrong with a case is its own outcome.

    `runs`: of each case, instead of what it asks for. `on_event` is called with the events `message` and `replayed`,
    `say` with each line for the user. Raises UsageError where the interpreter cannot run anything, or the folder has no
    cases.
    """
    hear = on_event or nobody
    place = ReplayPlace(python, arch_number(arch), tuple(sorted((environment or {}).items())))
    if isinstance(cases, (str, Path)):
        cases = corpus_case.cases(Path(cases))
    cells = [CaseCell(case, place, runs) for case in cases]
    with closing(ThisMachine(jobs, say=saying(say, hear))) as machine:
        return outcomes_of(cells, machine, hear=hear)


def outcomes_of(
    cells: Sequence[CaseCell],
    engine: CellEngine,
    *,
    done: Callable[[int, CaseOutcome], None] = lambda index, outcome: None,
    hear: Hear = nobody,
    found: dict[int, CaseOutcome] | None = None,
) -> list[CaseOutcome]:
    """Run the cells, but for those whose outcome `found` has, by their indices. Outcomes in the order of the cells;
    `done` and `hear` are told of each as it comes, and `found` gets it."""
    # Cases with an environment wait for a worker of their own: the others need not, and come after them.
    found = {} if found is None else found
    left = [index for index in range(len(cells)) if index not in found]
    order = sorted(left, key=lambda index: not cells[index].case.environment)
    order.sort(key=lambda index: [cell.place for cell in cells].index(cells[index].place))
    for at, row in engine.run([cells[index] for index in order]):
        outcome = CaseOutcome.of(cells[order[at]].case, row)
        found[order[at]] = outcome
        hear(Replayed(outcome.case.name, str(outcome), outcome.why, round(outcome.seconds, 1)))
        done(order[at], outcome)
    return [found[index] for index in range(len(cells))]


def by_environment(cells: Sequence[CaseCell], outcomes: Sequence[CaseOutcome]) -> OutcomeMatrix:
    """The outcomes in columns, in the order of the cells' places. Of two places with one name the second has its own
    words, too."""
    columns: dict[ReplayPlace, list[CaseOutcome]] = {}
    for cell, outcome in zip(cells, outcomes, strict=True):
        columns.setdefault(cell.place, []).append(outcome)
    matrix: dict[str, list[CaseOutcome]] = {}
    for place, column in columns.items():
        name = next((outcome.environment for outcome in column if outcome.versions), column[0].environment)
        matrix[name if name not in matrix else f"{name} ({place})"] = column
    return matrix
