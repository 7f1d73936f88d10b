"""The lines above a repro that say what it shows, on what, and how it is run."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shrinkray_gpu.device import architectures
from shrinkray_gpu.evidence.secrets_found import without_secret_words, without_secrets
from shrinkray_gpu.evidence.versions import __version__
from shrinkray_gpu.reduction.comment_above import add_comment

_NAMES = {
    "gpu": "",
    "driver": "driver ",
    "torch": "torch ",
    "triton": "Triton ",
    "helion": "Helion ",
    "python": "Python ",
}


def platform_of(versions: Mapping[str, str], arch: int | None) -> str:
    """What it was seen on, in a line."""
    words = [f"{word}{versions[name]}" for name, word in _NAMES.items() if versions.get(name)]
    return ", ".join([*([f"compiled for {architectures.name(arch)} without a GPU"] if arch else []), *words])


@dataclass(frozen=True)
class Header:
    """What stands above the repro in its file."""

    shows: str
    """The fault, in words."""
    check: str
    """The command of ours that shows it, where `python FILE` does not do so on any GPU; else empty."""
    origin: str
    compare: str = ""
    """How its code is compared with that of another compiler, where that is what it shows; else empty."""

    def above(self, text: str, name: str, *, versions: Mapping[str, str], arch: int | None, argv: Sequence[str]) -> str:
        """The repro, a file of this name, under it. Lines that must stay the first ones stay. What is too wide goes on
        in the next line, but for commands, which are to be copied."""
        words = shlex.join(["python", name, *without_secret_words(argv)])
        run = [f"{words}   (on {architectures.name_with_article(arch)} GPU)" if arch else words]
        run += [self.check] if self.check else []
        rows = [*_wrapped(f"Shows: {self.shows}"), *_wrapped(f"Seen: {platform_of(versions, arch)}")]
        rows += [f"Run: {how}" for how in run]
        rows += _wrapped(f"Compare: {self.compare}") if self.compare else []
        return add_comment(
            text, [without_secrets(row) for row in rows] + [f"From: {self.origin}, by shrinkray_gpu {__version__}"]
        )


def _wrapped(row: str) -> list[str]:
    return textwrap.wrap(" ".join(row.split()), 118, break_long_words=False, break_on_hyphens=False)
