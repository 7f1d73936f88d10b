"""Speculation: what will most likely be asked next is judged beside what is asked, where lanes would idle.

An answer that was not asked for in the end is thrown away, and a try that has not begun by then is cancelled. So is
what was begun before the test changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import replace
from typing import Any

from shrinkray_gpu.judging.candidate import Candidate
from shrinkray_gpu.judging.tiered_test import TieredTest
from shrinkray_gpu.oracle.verdict import Verdict
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner.run import Run

DRIED = 200
"""Dry runs made ahead that are kept."""


class Ahead:
    """A test that begins tries before they are asked for. Used by one thread at a time.

    `scarce` says that lanes are: then only the dry run of a try is made ahead, in which its kernels are compiled.
    `at_once`: tries under way up to which others are begun. By default half of the lanes, since most of these are never
    asked for, and what is asked next must neither wait for them nor share its core with them.
    """

    def __init__(self, test: TieredTest, *, scarce: bool = False, at_once: int | None = None) -> None:
        self.test, self.scarce = test, scarce
        self.at_once = test.lanes // 2 if at_once is None else at_once
        self._likely: Iterator[Program] = iter(())
        self._begun: dict[str, Future[Verdict]] = {}
        self._dried: dict[str, Candidate] = {}
        """Candidates of which no more than the dry run was begun."""
        self._policy = test.policy

    def judge(self, programs: Sequence[Program]) -> list[Verdict]:
        """Verdicts in the order of the programs."""
        self._drop_outdated()
        self._begun = {text: future for text, future in self._begun.items() if not future.cancel()}
        self._dried = {text: dried for text, dried in self._dried.items() if not _cancel(dried)}
        asked = []
        for program in programs:
            begun, dried = self._begun.pop(program.text, None), self._dried.pop(program.text, None)
            if begun is not None or dried is not None:
                self.test.tally.count_foreseen()
            asked.append(begun or self.test.begin(dried or self.test.candidate(program.text)))
        self._wait(asked)
        return [future.result() for future in asked]

    def foresee(self, likely: Iterable[Program]) -> None:
        """What will most likely be asked after the next call, soonest first.

        Chance decides on a flaky fault, and would decide otherwise on another day: there nothing is done ahead."""
        if self.test.policy.repeats is None and self.test.pool.jobs > 1:
            self._likely = iter(likely)

    def insist(self, on: bool) -> None:
        self.test.insist(on)

    def values(self, program: Program) -> Mapping[int, str]:
        return self.test.values(program)

    def _wait(self, asked: Sequence[Future[Verdict]]) -> None:
        """Keep the lanes busy with what is likely to be asked next, until all that was asked is answered."""
        likely, self._likely = self._likely, iter(())
        while waiting := [future for future in asked if not future.done()]:
            self._drop_outdated()
            busy: list[Future[Any]] = [*waiting, *self._begun.values(), *self._dry_runs()]
            busy = [future for future in busy if not future.done()]
            program = next(likely, None) if len(busy) <= self.at_once else None
            if program is None:
                wait(busy if len(busy) > self.at_once else waiting, return_when=FIRST_COMPLETED)
            elif program.text not in self._begun and program.text not in self._dried:
                self.test.tally.count_begun_ahead()
                self._begin(program.text)

    def _begin(self, text: str) -> None:
        dry, candidate = self.test.dry, self.test.candidate(text)
        if dry is None or dry.given_up or not self.scarce:
            self._begun[text] = self.test.begin(candidate)
            return
        while len(self._dried) >= DRIED:
            del self._dried[next(iter(self._dried))]
        self._dried[text] = replace(candidate, begun=self.test.beside(dry.run, candidate))

    def _drop_outdated(self) -> None:
        if self._policy is self.test.policy:
            return
        self._policy = self.test.policy
        begun: list[Future[Any]] = [*self._begun.values(), *self._dry_runs()]
        for future in begun:
            future.cancel()
        self._begun, self._dried = {}, {}

    def _dry_runs(self) -> Iterator[Future[Run]]:
        return (each.begun for each in self._dried.values() if each.begun is not None)


def _cancel(dried: Candidate) -> bool:
    return dried.begun is not None and dried.begun.cancel()
