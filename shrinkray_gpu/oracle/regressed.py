"""`regressed:FIGURE:RELEASE`: this compiler's code of a kernel is worse than that of another release, by a figure.

Each candidate is compiled by both, and runs nowhere. Two compilers differ a little everywhere, and a search finds that.
What could make a difference up is refused: another kernel of the program, other launch options than the original's,
operations that the original's kernel has not, a figure that outgrows the original's, and next to nothing of it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from shrinkray_gpu.device import code_figures
from shrinkray_gpu.oracle import speech
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.oracle.oracle import Oracle
from shrinkray_gpu.oracle.verdict import Verdict, lacks, shows, unclear
from shrinkray_gpu.runner.inside.launches.compilation import without_locations
from shrinkray_gpu.runner.run import Compilation, Run


@dataclass(frozen=True)
class CodeFigure:
    """One of `Figures`, by its name there."""

    name: str
    unit: str
    """In a sentence: `144 bytes of spills`."""
    floor: int
    """Less than this is noise: an old figure below it counts as this, and the two must be so far apart."""


FIGURES = {
    each.name: each
    for each in (
        CodeFigure("spills", "bytes of spills a thread", 32),
        CodeFigure("registers", "registers a thread", 16),
        CodeFigure("instructions", "machine instructions", 64),
        CodeFigure("shared", "bytes of shared memory", 1024),
    )
}
KEPT = 0.8
"""Of the original's ratio, what a candidate must show."""
LEAST = 1.1
"""The ratio from which on there is a regression."""
SHARE = 0.25
"""Of the original's difference, what a candidate must show, too: the same ratio of next to nothing is noise."""
GROWTH = 1.1
"""What a figure of a candidate may be, as a multiple of the original's."""
STAGES = frozenset({"ttir"})
"""Wanted beside those that have the figures."""
_OPERATION = re.compile(r"\b(?:arith|math|scf|cf|tensor|tt|ttng|llvm)\.\w+")
_ANYWHERE = re.compile(
    r"arith\.(?:constant|addi|subi|muli|andi|cmpi|extsi|extui|trunci|index_cast\w*)|llvm\.\w+"
    r"|tt\.(?:func|return|get_program_id|make_range|splat|expand_dims|broadcast|addptr|ptr|load|store"
    r"|divisibility|pointee_type|noinline|contiguity|constancy)"
)
"""Operations of addresses and masks, and names that are none: a smaller kernel may have other ones of these."""
_HELD = (
    *("num_warps", "num_ctas", "num_stages", "maxnreg", "enable_fp_fusion", "ptx_options"),
    *("waves_per_eu", "matrix_instr_nonkdim", "kpack"),
)
"""Options of a launch that make a compiler spill, or keep it from that."""
OTHERWISE = "the program itself compiles it otherwise there"
"""By other options: then the figures say nothing of the two compilers."""


@dataclass(frozen=True)
class FigurePair:
    """The figure of one kernel by both compilers."""

    kernel: str
    here: int
    there: int
    options: Mapping[str, Any] = field(default_factory=dict)
    """The launch's, of those in `_HELD`."""
    operations: frozenset[str] = frozenset()
    """Kinds of Triton's operations in the kernel, but for those in `_ANYWHERE`."""

    def ratio(self, floor: int) -> float:
        """Here over there; of nothing there, over the floor."""
        return self.here / max(self.there, floor)


@dataclass(frozen=True)
class OriginalRegression:
    """What the original showed: the pair that is the regression, and which kernels there were beside it."""

    pair: FigurePair
    others: frozenset[str]
    ended_well: bool


@dataclass(frozen=True, kw_only=True)
class RegressedOracle(Oracle):
    """A kernel's figure is worse here than by the other release."""

    figure: CodeFigure
    release: str
    original: OriginalRegression | None = None
    """None before calibration."""

    def binds(self, fault: Fault) -> bool:
        return False  # the question is about code; how the run ends is compared in `verdict`

    def verdict(self, run: Run) -> Verdict:
        known = self.original
        if known is not None and (ruled_out := self._ruled_out(run, known)):
            return lacks(ruled_out)
        if unasked := self._unasked(run):
            return unasked
        pairs, doubts = self._pairs(run)
        if known is not None:
            # A pass may have renamed the kernel, never to the name of another one.
            pairs = [pair for pair in pairs if pair.kernel not in known.others]
        worst = self._worst(pairs)
        if doubts and (worst is None or not self._regressed(worst)):
            return unclear("; ".join(doubts))
        if worst is None:
            lost = ", ".join(dict.fromkeys(one.kernel for one in run.compiles if one.failure is None))
            return lacks(f"Triton {self.release} does not compile {lost}, or the original has another such kernel")
        told = self._told(worst)
        if not self._regressed(worst):
            return lacks(told)
        return self._compared(worst, known, told, turned=bool(run.turned)) if known is not None else shows(told)

    def calibrate(self, reference: Run) -> RegressedOracle:
        tuned = super().calibrate(reference)
        pairs, _ = self._pairs(reference)
        worst = self._worst(pairs)
        if worst is None or not self._regressed(worst):
            return tuned
        others = frozenset(one.kernel for one in reference.compiles) - {worst.kernel}
        return tuned._with(original=OriginalRegression(worst, others, not speech.has_failed(reference)))

    def refusal(self, run: Run) -> str:
        if self._unasked(run) is not None:
            return ""
        pairs, doubts = self._pairs(run)
        worst = self._worst(pairs)
        if worst is not None and self._regressed(worst):
            return ""
        if otherwise := [doubt for doubt in doubts if OTHERWISE in doubt]:
            return f"there is nothing to compare: {otherwise[0]}. Give it the same options by both releases"
        if worst is None:
            return ""
        return f"there is no regression to reduce: {self._told(worst)}. Name another figure or release"

    def _ruled_out(self, run: Run, known: OriginalRegression) -> str:
        """Why the run here says no by itself, whatever the other compiler makes of its kernels; empty: it does not."""
        compiled = [one for one in run.compiles if one.failure is None]
        if compiled and known.ended_well and speech.has_failed(run):
            return f"{speech.ending(run)}, and the original ends well"
        if run.turned or not compiled:
            return ""
        why = f"the kernel that regressed is not compiled, only {', '.join(sorted(known.others))}"
        for one in (one for one in compiled if one.kernel not in known.others):
            figure = self._of(one)
            if figure is None:
                return ""
            best = _pair(one, figure, 0)  # nothing there: no pair of this figure is worse here
            told = f"kernel {one.kernel}: {figure} {self.figure.unit}, whatever Triton {self.release} makes of it"
            verdict = self._compared(best, known, told, turned=False) if self._regressed(best) else lacks(told)
            if verdict.faults:
                return ""
            why = verdict.why
        return why

    def _unasked(self, run: Run) -> Verdict | None:
        """Where the two compilers cannot be compared."""
        if not any(one.failure is None for one in run.compiles):
            return lacks(f"no kernel was compiled, {speech.ending(run)}")
        if run.elsewhere is None:
            return unclear(f"Triton {self.release} was not asked")
        if run.elsewhere_trouble:
            return unclear(f"by Triton {self.release}: {run.elsewhere_trouble}")
        return None

    def _pairs(self, run: Run) -> tuple[list[FigurePair], list[str]]:
        """The kernels that both compiled, and what is not known of others of these. A kernel that is compiled several
        times, by an autotuner for one, is paired in this order."""
        there = dict(_numbered(run.elsewhere or ()))
        pairs, doubts = [], []
        for key, here in _numbered(run.compiles):
            other = there.get(key)
            if here.failure is not None or other is None or other.failure is not None:
                continue
            mine, theirs = self._of(here), self._of(other)
            if mine is None or theirs is None:
                doubts.append(f"the code of {here.kernel} does not tell its {self.figure.name}")
                continue
            if other_options := _other_options(here, other):
                doubts.append(f"kernel {here.kernel}: {OTHERWISE}, with {other_options}")
                continue
            pairs.append(_pair(here, mine, theirs))
        return pairs, doubts

    def _of(self, compiled: Compilation) -> int | None:
        figures = code_figures.figures(compiled.kernel, compiled.ir, compiled.shared)
        return None if figures is None else int(getattr(figures, self.figure.name))

    def _worst(self, pairs: Iterable[FigurePair]) -> FigurePair | None:
        return max(pairs, key=lambda pair: pair.ratio(self.figure.floor), default=None)

    def _regressed(self, pair: FigurePair) -> bool:
        floor = self.figure.floor
        return pair.here - pair.there >= floor and pair.ratio(floor) >= LEAST

    def _told(self, pair: FigurePair) -> str:
        times = f", {pair.ratio(self.figure.floor):.2f} times" if self._regressed(pair) else ""
        return f"kernel {pair.kernel}: {pair.here} {self.figure.unit}, {pair.there} by Triton {self.release}{times}"

    def _compared(self, pair: FigurePair, known: OriginalRegression, told: str, *, turned: bool) -> Verdict:
        """Of a regression in a candidate: whether it may be the original's. Where a control turned something it is
        asked only whether the regression is still there: options and figures are other ones then."""
        floor, wanted = self.figure.floor, known.pair.ratio(self.figure.floor)
        if pair.ratio(floor) < KEPT * wanted:
            return lacks(f"{told}; the original has {wanted:.2f} times")
        if turned:
            return shows(told)
        if pair.here - pair.there < SHARE * (known.pair.here - known.pair.there):
            return lacks(f"{told}: next to nothing of the original's {known.pair.here} and {known.pair.there}")
        for mine, original in ((pair.here, known.pair.here), (pair.there, known.pair.there)):
            if mine > max(GROWTH * original, floor):
                return lacks(f"{told}: more than in the original ({original}), so it is another one")
        if new := pair.operations - known.pair.operations:
            return lacks(f"{told}, with {', '.join(sorted(new))}, which the original's kernel has not")
        changed = [name for name in _HELD if pair.options.get(name) != known.pair.options.get(name)]
        if changed:
            name = changed[0]
            return lacks(f"{told}, with {name}={pair.options.get(name)} for {known.pair.options.get(name)}")
        return shows(told)


def _pair(compiled: Compilation, here: int, there: int) -> FigurePair:
    options = {name: compiled.options.get(name) for name in _HELD}
    return FigurePair(compiled.kernel, here, there, options, _operations(compiled.ir.get("ttir", "")))


def _other_options(here: Compilation, there: Compilation) -> str:
    """The first option that both releases know and that is not the same there; empty: they all are."""
    known = [name for name in _HELD if name in here.options and name in there.options]
    changed = [name for name in known if (here.options[name] or None) != (there.options[name] or None)]
    return f"{changed[0]}={there.options[changed[0]]} for {here.options[changed[0]]}" if changed else ""


def _operations(ttir: str) -> frozenset[str]:
    named = _OPERATION.findall(without_locations(ttir))
    return frozenset(name for name in named if not _ANYWHERE.fullmatch(name))


def _numbered(compiles: Iterable[Compilation]) -> Iterator[tuple[tuple[str, int], Compilation]]:
    seen: Counter[str] = Counter()
    for one in compiles:
        seen[one.kernel] += 1
        yield (one.kernel, seen[one.kernel]), one
