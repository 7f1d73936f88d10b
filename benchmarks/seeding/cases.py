"""Which fault is planted where: every place of every operator in the kernels that a program runs, drawn by a seed.

The name of a fault fixes its half, and nothing that a run shows changes it. Half A is for looking at; half B is for
figures.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import libcst as cst

from . import packages
from .operators import OPERATORS, Operator
from .oracles import ORACLES, Asked
from .places import Edit, Source
from .programs import Program

OPERATOR_SHARE, PACKAGE_SHARE = 0.2, 0.4
A_PROGRAM = 4
"""Faults of one program at most, each by another operator."""
TRIES = 3
"""Places of one operator in one program that are tried until one shows a fault."""


@dataclass(frozen=True)
class Planted:
    """One fault in one file of a package, and the program that runs it."""

    program: Program
    operator: Operator
    file: str
    """Below the folder of the packages."""
    edit: Edit
    number: int
    """Among the places of this operator in this function."""
    on_gpu: Asked | None = None
    """How it is asked for on a GPU, where that is not as on the virtual one."""

    @property
    def asked(self) -> Asked:
        return self.on_gpu or ORACLES[self.operator.oracle]

    @property
    def name(self) -> str:
        return f"{self.program.key}/{self.operator.name}/{self.edit.function}/{self.number}"

    @property
    def half(self) -> str:
        return half_of(self.name)

    @cached_property
    def text(self) -> str:
        """The file with the fault."""
        return _source(self.file).with_edits([self.edit])

    @property
    def diff(self) -> str:
        """The lines that the fault changes, and nothing around them."""
        before, after = ([line.strip() for line in text.splitlines()] for text in (_source(self.file).text, self.text))
        return "\n".join(list(difflib.unified_diff(before, after, n=0, lineterm=""))[2:])


def half_of(name: str) -> str:
    return "AB"[hashlib.sha256(name.encode()).digest()[0] & 1]


@lru_cache(maxsize=64)
def _source(file: str) -> Source:
    return Source((packages.SITE / file).read_text(encoding="utf-8"))


@lru_cache(maxsize=16)
def _texts(package: str) -> Mapping[str, str]:
    folder = packages.SITE / package
    files = sorted(folder.rglob("*.py"), key=lambda path: (len(path.parts), str(path)))
    return {str(path.relative_to(packages.SITE)): path.read_text(encoding="utf-8") for path in files}


def file_of(program: Program, kernel: str) -> str:
    """Where a kernel is defined: in a module that the program imports, else nearest to the package's top. Empty: not
    found."""
    defined = re.compile(rf"^\s*def {re.escape(kernel)}\(", re.MULTILINE)
    imported = {name.replace(".", "/") + ".py" for name in re.findall(r"^from ([\w.]+) import", program.text, re.M)}
    found = [file for file, text in _texts(program.package).items() if defined.search(text)]
    return next((file for file in found if file in imported), found[0] if found else "")


def places(program: Program, kernels: Sequence[str], operators: Sequence[Operator] = OPERATORS) -> Iterator[Planted]:
    """Every fault that the operators can plant in these kernels, or in the host code of their files."""
    where: dict[str, set[str]] = {}
    for kernel in kernels:
        if file := file_of(program, kernel):
            where.setdefault(file, set()).add(kernel)
    for file, names in where.items():
        try:
            source = _source(file)
        except cst.ParserSyntaxError:
            continue
        for operator in operators:
            numbers: Counter[str] = Counter()
            for edit in operator.plants(source):
                if operator.kernel and edit.function not in names:
                    continue
                yield Planted(program, operator, file, edit, numbers[edit.function])
                numbers[edit.function] += 1


class Memory:
    """What runs of this machine have shown, in a file, so that a draw does not repeat them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known = self._kept()

    def _kept(self) -> dict[str, Any]:
        known: dict[str, Any] = json.loads(self._path.read_text()) if self._path.exists() else {}
        return known

    def get(self, key: str, make: Callable[[], Any]) -> Any:
        """What is known of the key, else what `make` tells; None is not remembered. Draws beside each other write to
        the same file."""
        if key not in self._known:
            if (made := make()) is None:
                return None
            self._known |= self._kept() | {key: made}
            self._path.parent.mkdir(parents=True, exist_ok=True)
            new = self._path.with_suffix(f".{os.getpid()}")
            new.write_text(json.dumps(self._known, indent=0, sort_keys=True))
            new.replace(self._path)
        return self._known[key]


def draw(
    programs: Sequence[Program],
    *,
    half: str,
    seed: int,
    kernels: Callable[[Program], Sequence[str]],
    shows: Callable[[Planted], bool],
    limit: int,
    operators: Sequence[Operator] = OPERATORS,
    share: float = OPERATOR_SHARE,
) -> Iterator[Planted]:
    """Faults of a half that this machine's oracles see, in an order that the seed fixes.

    `kernels` tells what a program runs (nothing where it does not end well), `shows` whether the oracle sees a fault.
    No operator (`share`) and no package has more than its share of `limit`. An operator that has had fewer faults comes
    first.
    """
    planted, sources = Counter[str](), Counter[str]()
    had: dict[str, set[str]] = {}
    drawn = 0
    asked = [one for one in operators if ORACLES[one.oracle].exists]
    for _ in range(A_PROGRAM):
        for program in _turns(programs, seed):
            if drawn >= limit:
                return
            if sources[program.package] >= max(1, PACKAGE_SHARE * limit):
                continue
            free = [one for one in asked if planted[one.name] < max(1, share * limit)]
            free = [one for one in free if one.name not in had.setdefault(program.key, set())]
            free.sort(key=lambda one: (planted[one.name], _order(seed, program.key + one.name)))
            if (found := _first(program, free, half, seed, kernels, shows)) is not None:
                planted[found.operator.name] += 1
                sources[program.package] += 1
                had[program.key].add(found.operator.name)
                drawn += 1
                yield found


def _first(
    program: Program,
    operators: Sequence[Operator],
    half: str,
    seed: int,
    kernels: Callable[[Program], Sequence[str]],
    shows: Callable[[Planted], bool],
) -> Planted | None:
    names = kernels(program)
    for operator in operators if names else ():
        mine = [one for one in places(program, names, [operator]) if one.half == half]
        mine.sort(key=lambda one: _order(seed, one.name))
        for one in mine[:TRIES]:
            if shows(one):
                return one
    return None


def _turns(programs: Sequence[Program], seed: int) -> Iterator[Program]:
    """One program of each package in turn."""
    by_package: dict[str, list[Program]] = {}
    for program in sorted(programs, key=lambda one: _order(seed, one.key)):
        by_package.setdefault(program.package, []).append(program)
    names = sorted(by_package, key=lambda one: _order(seed, one))
    while any(by_package.values()):
        for name in names:
            if by_package[name]:
                yield by_package[name].pop(0)


def _order(seed: int, name: str) -> bytes:
    return hashlib.sha256(f"{seed} {name}".encode()).digest()
