"""Wrong results: the check that the original fails, held against the one that a candidate fails.

The words of a failed check fit any two tensors that differ. So a launch must take part in it as in the original, and
both sides must be what they were: the values that the kernel gets wrong, and those that it is held against. So must be
what the launch is given: the host may have made the mistake there, in values that the check does not see. A program
that computes all that has the bug and its reference, whatever else has gone from it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from shrinkray_gpu.runner.run import Comparison, Run

_KINDS = ("finite values", "values that are not finite")
"""By whether the two sides differ in that."""


@dataclass(frozen=True)
class ComparisonCheck:
    """Of the original's comparison; `recording` is the file with both of its sides."""

    original: Comparison
    recording: str
    apart: str = ""
    """What may be left of the distance between the sides, as a fraction, for the original to pass; empty: unknown."""
    unsteady: frozenset[str] = frozenset()
    """What differs between two runs of the original, of the keys of `Comparison.moved` and its `kind`: no candidate is
    held to it."""

    def steady_in(self, again: Comparison | None) -> ComparisonCheck:
        """The same without what another run of the original has otherwise. `again`: that was held against this one."""
        if again is None:
            return self
        kind = ["kind"] if again.kind != self.original.kind else []
        return replace(self, unsteady=frozenset([*again.moved, *kind]))

    def difference(self, run: Run) -> str:
        """In what the run's comparison is another, in words; empty if it is the same, or nothing is known of it."""
        seen = run.comparison
        if seen is None or not (seen.kernels or seen.trouble):
            return "no kernel takes part in the check that fails"
        if seen.trouble:
            return ""
        if seen.refused and not self.original.refused:
            return f"{seen.refused} is written in place, requires grad, and is a leaf: torch refuses that in grad mode"
        if seen.others and not self.original.others:
            return f"what {self.original.kernels[-1]} writes is no longer held against values that no kernel made"
        if bool(seen.others) != bool(self.original.others):
            return "one side of the check is no longer made by a kernel"
        if seen.alone != self.original.alone:
            return "the check is of other values"
        if {seen.kind, self.original.kind} > {"nan"} and "kind" not in self.unsteady:
            found, before = (_KINDS[each.kind == "nan"] for each in (seen, self.original))
            return f"the check fails of {found}, and the original's of {before}"
        if any(now != before for now, before in zip(seen.tolerance, self.original.tolerance)):
            ours, theirs = (_tolerance(each.tolerance) for each in (self.original, seen))
            return f"the check lets something else pass: {theirs} instead of {ours}"
        if lost := sorted(set(self.original.sources) - set(seen.sources)):
            return f"what {seen.kernels[-1]} writes no longer comes from {lost[0].rpartition(',')[0]}"
        return next((why for what, why in seen.moved.items() if what not in self.unsteady), "")

    def doubt(self, run: Run) -> str:
        """Why nothing is known of the run's comparison; else empty."""
        return run.comparison.trouble if run.comparison is not None else ""

    @property
    def kept(self) -> str:
        """What each candidate that is taken keeps, in a clause for people."""
        kernel, against = self.original.kernels[-1], "" if self.original.alone else "what that is held against"
        steady = [] if "input" in self.unsteady else [f"what {kernel} is given"]
        steady += [] if "actual" in self.unsteady else [f"what {kernel} computes"]
        steady += [against] if against and "expected" not in self.unsteady else []
        if not steady:
            return f"a kernel takes part in the check as {kernel} does in the original, in each accepted step"
        are = "are" if len(steady) > 1 else "is"
        last = f", and {steady[-1]}," if len(steady) > 1 else ""
        return f"{', '.join(steady[:-1] or steady)}{last} {are} as in the original, in each accepted step"

    @property
    def is_blind(self) -> bool:
        """Whether the values of the check tell nothing of how they were computed: none of them is finite."""
        return self.original.kind == "nan" and self.original.elements == self.original.total > 0

    def told(self) -> str:
        """What was seen, in a line for people."""
        one = self.original
        kernels = ", ".join(one.kernels[-2:])
        against = "what the host makes of it" if one.alone else ", ".join(one.others) or "values that no kernel made"
        apart = f"; {one.elements} of {one.total} elements apart, by up to {one.largest:.3g}" if not one.alone else ""
        if one.kind == "nan":
            apart = f"; {one.elements} of {one.total} elements are not finite" + " on one side only" * (not one.alone)
            apart += ": any other NaN would do as well, so no value is exchanged for another" * self.is_blind
        unsteady = "; its values differ from run to run, and not all are held" if self.unsteady else ""
        blame = f"; {one.blame}" if one.blame else ""
        return f"the check that fails holds what {kernels} wrote against {against}{apart}{unsteady}{blame}"


def _tolerance(tolerance: tuple[float, ...]) -> str:
    return ", ".join(f"{name}={value:g}" for name, value in zip(("rtol", "atol"), tolerance))
