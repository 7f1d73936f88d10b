"""The sentences of a page in Markdown, and how long they are. `python -m tests.prose` measures the site's pages.

Only prose counts: no code, tables, headings, comments, nor what a command wrote between two comments. A code span, a
link's text and a number are words like any other.
"""

from __future__ import annotations

import re
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
LONGEST = 25
MEAN = 16.0

WRITTEN = {"docs/ISSUE_tma_misaligned.md"}
"""Pages that a command wrote from one end to the other."""

NOT_PROSE = (
    re.compile(r"^<!-- (\w+): begin.*?<!-- \1: end -->", re.S | re.M),  # what a command writes
    re.compile(r"<!--.*?-->", re.S),
    re.compile(r"^( *)(```+).*?^\1\2", re.S | re.M),
    re.compile(r"^#.*$", re.M),
    re.compile(r"^ *\|.*$", re.M),
    re.compile(r"!\[[^\]]*\]\([^)]*\)"),
)
ITEM = re.compile(r"^ *(?:[-*]|\d+\.) ")
CODE_SPAN = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.S)
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
COLON = re.compile(r":(?=\s|$)")
END = re.compile(r"(?<=[.!?])[)\"*]*\s+(?=[\"(*]*[A-Z0-9\[])")


@dataclass(frozen=True)
class Prose:
    """The sentences of one page."""

    page: Path
    sentences: tuple[str, ...]

    @property
    def mean(self) -> float:
        """Words a sentence."""
        return statistics.mean(map(words, self.sentences)) if self.sentences else 0.0

    @property
    def long(self) -> tuple[str, ...]:
        return tuple(sentence for sentence in self.sentences if words(sentence) > LONGEST)


def words(sentence: str) -> int:
    return sum(any(letter.isalnum() for letter in word) for word in sentence.split())


def paragraphs(text: str) -> Iterator[str]:
    """Each paragraph and each item of a list, on one line. Four spaces more than the text before begin code."""
    for pattern in NOT_PROSE:
        text = pattern.sub("\n", text)
    lines: list[str] = []
    indent = 0
    for line in [*text.splitlines(), ""]:
        item = ITEM.match(line)
        depth = len(line) - len(line.lstrip())
        if not line.strip() or item:
            if lines:
                yield " ".join(lines)
            lines = []
        if not line.strip():
            continue
        if item:
            indent = item.end()
            line = line[indent:]
        elif not lines and depth < 2:
            indent = 0
        if lines or item or depth < indent + 4:
            lines.append(line.strip())


def sentences(text: str) -> Iterator[str]:
    """A sentence ends at its mark, and where its paragraph ends. Code spans, which may hold any mark, are one word."""
    for paragraph in paragraphs(text):
        plain = LINK.sub(r"\1", CODE_SPAN.sub("Code", paragraph))
        yield from (part for part in END.split(plain) if words(part))


def prose(page: Path) -> Prose:
    return Prose(page, tuple(sentences(page.read_text())))


def pages() -> list[Path]:
    """README and what lies beside it, and the site."""
    beside = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
    found = [*(ROOT / name for name in beside), *sorted((ROOT / "docs").glob("*.md"))]
    return [page for page in found if str(page.relative_to(ROOT)) not in WRITTEN]


def complaint(found: Prose) -> str:
    """What is wrong with a page's sentences, or nothing."""
    said = [f"{words(sentence)} words, {LONGEST} are the most: {sentence}" for sentence in found.long]
    said += [f"two colons in: {sentence}" for sentence in found.sentences if len(COLON.findall(sentence)) > 1]
    if found.mean > MEAN:
        said.append(f"{found.mean:.1f} words a sentence, {MEAN:.0f} are the most on average")
    return "\n".join(f"{found.page.relative_to(ROOT)}: {line}" for line in said)


if __name__ == "__main__":
    chosen = [ROOT / name for name in sys.argv[1:]] or pages()
    for found in map(prose, chosen):
        sys.stdout.write(
            f"{found.page.name:22} {len(found.sentences):4} sentences, {found.mean:5.1f} words on average\n"
        )
        if sys.argv[1:]:
            sys.stdout.write(complaint(found) + "\n")
