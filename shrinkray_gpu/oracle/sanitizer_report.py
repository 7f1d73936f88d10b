"""`sanitizer:TOOL[:REGEX]`: compute-sanitizer has a record that matches, of the kind that the original has.

For faults that no CUDA error tells: a race, uninitialised memory, an overrun that stays inside mapped memory. A dry run
has no records: there a static rule that the launch breaks stands for the one that memcheck will have.
"""

from __future__ import annotations

from dataclasses import dataclass

from shrinkray_gpu.device import sanitizer_records
from shrinkray_gpu.device.record import Record
from shrinkray_gpu.oracle import speech
from shrinkray_gpu.oracle.driver_error import static_rule, undecided_by
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.oracle.guarded_pattern import Pattern
from shrinkray_gpu.oracle.oracle import Oracle
from shrinkray_gpu.oracle.verdict import Verdict, lacks, shows, unclear
from shrinkray_gpu.runner.run import Run

NONE: frozenset[str] = frozenset()
PREDICTED = {"memcheck": frozenset({"bounds", "alignment"})}
"""By the tool: static rules of which each launch that breaks one leaves a record."""


@dataclass(frozen=True, kw_only=True)
class SanitizerOracle(Oracle):
    """A record of the tool matches. How the program ends is no part of the question: most such programs end well."""

    pattern: Pattern | None = None
    """None: any record of something on the device."""
    kinds: frozenset[str] = frozenset()
    """The kinds of the original's matching records, without sizes and places; empty before calibration."""

    def verdict(self, run: Run) -> Verdict:
        if not run.records and run.virtual and self.needs.rules:
            return self._predicted(run)
        if not run.records:
            return unclear(f"a {run.mode} run was not under compute-sanitizer, so nobody looked for records")
        seen = self._records(run)
        fitting = [record for record in seen if self._matches(record)]
        same = [record for record in fitting if not self.kinds or record.kind in self.kinds]
        if same:
            first = same[0]
            where = f" at {first.kernel} in {first.file}:{first.line}" if first.file else ""
            return shows(f"{self.needs.sanitizer}: {first.title}{where} ({len(same)} records)")
        if fitting:
            wanted = " or ".join(sorted(self.kinds))
            return lacks(f"{self.needs.sanitizer} says {fitting[0].kind!r}, not {wanted!r} as of the original")
        if seen:
            return lacks(f"{self.needs.sanitizer} says {speech.clip(seen[0].title)!r}, which is not what is looked for")
        return lacks(f"{self.needs.sanitizer} has no record, {speech.ending(run)}")

    def calibrate(self, reference: Run) -> SanitizerOracle:
        kinds = frozenset(record.kind for record in self._records(reference) if self._matches(record))
        return super().calibrate(reference)._with(kinds=kinds)

    def binds(self, fault: Fault) -> bool:
        return False  # an access that the sanitizer stops ends in another CUDA error than without it, or in none

    def _predicted(self, run: Run) -> Verdict:
        for launch in run.launches:
            rule = static_rule(launch)
            if rule is not None and rule.name in self.needs.rules:
                return shows(f"launch of {launch.kernel}{list(launch.grid)}: {launch.fault}")
        undecided = undecided_by(run, self.needs.rules)
        return unclear(undecided) if undecided else lacks(f"no launch breaks a static rule, {speech.ending(run)}")

    def _records(self, run: Run) -> list[Record]:
        *texts, _summary = run.records
        return [sanitizer_records.record(text, self.needs.sanitizer) for text in texts]

    def _matches(self, record: Record) -> bool:
        if self.pattern is None:
            return bool(record.kernel)
        return bool(self.pattern.search(record.device_text))
