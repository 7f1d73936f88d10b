"""The releases that are searched, in the order from the good end to the bad one."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from packaging.version import InvalidVersion, Version

from shrinkray_gpu.corpus.first_bad import Suspects
from shrinkray_gpu.errors import UsageError


@dataclass(frozen=True)
class ReleaseHistory:
    """Releases of one package. Backwards, where the good end is the newer one: then the fault ended there."""

    package: str
    releases: tuple[str, ...]
    """The first is the good end, the last the bad one."""

    @property
    def backwards(self) -> bool:
        return Version(self.releases[0]) > Version(self.releases[-1])

    def change(self, suspects: Suspects) -> tuple[str, ...]:
        """The releases of which one brought the change, oldest first. A fix came with the release after the last one
        that is bad."""
        if not self.backwards:
            return self.releases[suspects.first : suspects.last + 1]
        return tuple(reversed(self.releases[max(suspects.first - 1, 0) : suspects.last]))

    def change_words(self, suspects: Suspects) -> str:
        """`the fault began in triton 3.8.0`."""
        what = "ended" if self.backwards else "began"
        releases = self.change(suspects)
        if len(releases) == 1:
            return f"the fault {what} in {self.package} {releases[0]}"
        return f"the fault {what} in one of {self.package} {', '.join(releases)}"

    def range_words(self, suspects: Suspects) -> str:
        """`between triton 3.6.0 and 3.8.0`: a release before the change, and one that has it."""
        low, high = self.releases[max(suspects.first - 1, 0)], self.releases[suspects.last]
        low, high = (high, low) if self.backwards else (low, high)
        return f"between {self.package} {low} and {high}"


def history_of(package: str, good: str, bad: str, *, offered: Sequence[str]) -> ReleaseHistory:
    """The releases from `good` to `bad` among those that are offered, oldest first. A release may be named by its first
    numbers: 12.4 is the last 12.4.x. Raises UsageError for one that is not offered, and where both are one."""
    ends = [_named(package, text, option, offered) for text, option in ((good, "--good"), (bad, "--bad"))]
    low, high = sorted(map(offered.index, ends))
    if low == high:
        raise UsageError(
            f"--good and --bad are both {ends[0]}: name one release that shows the fault, and one that does not"
        )
    between = offered[low : high + 1]
    return ReleaseHistory(package, tuple(between if between[0] == ends[0] else reversed(between)))


def _named(package: str, text: str, option: str, offered: Sequence[str]) -> str:
    """By its version, the first numbers of it, or the commit behind the `+` of a nightly."""
    same = [each for each in offered if Version(each).local == text.lower()]
    try:
        wanted = Version(text)
    except InvalidVersion as error:
        if same:
            return same[-1]
        raise UsageError(f"{option} {text}: that is no release; write 3.7.1") from error
    longer = [each for each in offered if each.startswith(f"{text}.") and not Version(each).is_prerelease]
    whole = [each for each in offered if Version(each) == wanted or Version(each).public == text]
    same = same or (longer or whole if text.count(".") < 2 else whole or longer)  # 3.5 is 3.5.1, though it equals 3.5.0
    if not same:
        place = bisect_left([Version(each) for each in offered], wanted)
        near = offered[max(0, place - 2) : place + 2]
        there = f"near it there are {', '.join(near)}" if near else "there is no other"
        raise UsageError(f"{option} {text}: no {package} {text} can be installed here; {there}. Choose one of them")
    return same[-1]
