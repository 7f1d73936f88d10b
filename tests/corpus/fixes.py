"""A fix beside a reproducer: `fix.toml`, the change that mends the program it came from, for the reproducer's text.

    note = "what the change does to the mechanism"
    [[replace]]
    find = "text that occurs once in the reproducer"
    with = "text in its place"

The corpus keeps a reproducer as `repro_NAME.py`, the benchmarks as `smallest.py`; both become a Case here.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import tomlkit

from shrinkray_gpu.corpus.case import Case, MachineNeeds, cases

ROOT = Path(__file__).parents[2]
ON_THE_VIRTUAL_GPU = ("compile", "launch")
"""What a benchmark's program.toml says of a fault that shows where nothing is launched."""
STATIC = {"tma_bias_dot"}
"""Benchmarks whose fault shows on a device, and by a static rule on the virtual GPU, too."""


@dataclass(frozen=True)
class Mechanism:
    """One reproducer, and the fix that says what its fault comes of."""

    case: Case
    source: Path
    """The reproducer as it is kept."""

    @property
    def name(self) -> str:
        return self.source.parent.name

    @property
    def group(self) -> str:
        return self.source.parents[1].name

    @property
    def text(self) -> str:
        return self.source.read_text(encoding="utf-8")

    def fixed(self) -> str:
        """The reproducer's text with the fix applied. Raises ValueError unless each place is there exactly once."""
        return self.with_fix(self.text)

    def with_fix(self, text: str) -> str:
        """The same for another text of the program."""
        told = tomlkit.parse((self.source.parent / "fix.toml").read_text(encoding="utf-8")).unwrap()
        for change in told["replace"]:
            if text.count(change["find"]) != 1:
                raise ValueError(f"{self.name}: fix.toml: {change['find']!r} occurs {text.count(change['find'])} times")
            text = text.replace(change["find"], change["with"])
        return text

    def written(self, folder: Path, text: str) -> Case:
        """The case with this text for its reproducer, in a folder of its own beside the modules that it imports."""
        made = folder / self.name
        shutil.copytree(self.source.parent, made)
        (made / f"repro_{self.name}.py").write_text(text, encoding="utf-8")
        return replace(self.case, folder=made)


def mechanisms() -> list[Mechanism]:
    """All programs of the corpus, then those of the benchmarks. Of IR, the releases that mend its pass are the fix."""
    return [*(Mechanism(case, case.repro) for case in cases(ROOT / "corpus") if not case.is_ir), *benchmarks()]


def benchmarks() -> Iterator[Mechanism]:
    """Each program of the benchmark with its smallest reproducer known."""
    for path in sorted((ROOT / "benchmarks" / "programs").glob("*/program.toml")):
        told = tomlkit.parse(path.read_text(encoding="utf-8")).unwrap()
        virtual = told["where"] in ON_THE_VIRTUAL_GPU or path.parent.name in STATIC
        case = Case(
            folder=path.parent,
            title=told["title"],
            klass=told["where"],
            mechanism=told["mechanism"],
            oracle=tuple(told["oracle"]),
            needs=MachineNeeds(gpu=not virtual, architecture="sm_90"),
        )
        yield Mechanism(case, path.parent / told["smallest"]["file"])
