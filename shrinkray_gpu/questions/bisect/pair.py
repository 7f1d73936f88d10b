"""Two packages of which a fault may need both: each is searched with the other at its bad end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shrinkray_gpu.questions.bisect.bisect import Bisection


@dataclass(frozen=True)
class PairBisection:
    """What both searches came to. Where the good end of one shows the fault, beside the bad end of the other, that
    package has no part in it."""

    first: Bisection
    second: Bisection

    @property
    def parts(self) -> list[Bisection]:
        """The searches of the packages that have a part."""
        return [each for each in (self.first, self.second) if not each.good_end_is_bad]

    @property
    def found(self) -> bool:
        return bool(self.parts) and all(each.found for each in self.parts)

    def verdict(self) -> str:
        """One line."""
        if not self.parts:
            return (
                f"not found: {self._ends(0, -1)} shows the fault, and so does {self._ends(-1, 0)}. Either each bad one "
                "brings it alone, or the good ends are not good: search --over each by itself"
            )
        said = "; ".join(each.verdict() for each in self.parts)
        if len(self.parts) == 2:
            return f"{'a fault of the pair: ' * self.found}{said}; {self._ends(0, -1)} and {self._ends(-1, 0)} are good"
        other = self.second if self.parts == [self.first] else self.first
        return f"{said}; {other.history.package} has no part in it"

    def _ends(self, first: int, second: int) -> str:
        ends = ((self.first, first), (self.second, second))
        return " with ".join(f"{each.history.package} {each.history.releases[end]}" for each, end in ends)

    def table(self) -> str:
        return f"{self.first.table()}\n{self.second.table()}"

    def to_json(self) -> dict[str, Any]:
        parts = [each.history.package for each in self.parts]
        searches = [each.to_json() for each in (self.first, self.second)]
        return {"found": self.found, "verdict": self.verdict(), "parts": parts, "searches": searches}
