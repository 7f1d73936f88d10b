"""What lines and names of the original became in a reduced program, as far as there is no doubt.

Lines are found by likeness and order (see alignment), headers of blocks by what is in the block, names by the lines
that they stand in.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from shrinkray_gpu.same_fault.patch.alignment import same_lines, same_words
from shrinkray_gpu.same_fault.patch.swaps import Misfit
from shrinkray_gpu.source.logical_lines import LogicalLine, kind

CLEAR = 0.03
"""By how much the best alignment must beat the one in which the changed line is another: else it could be that."""

Votes = Mapping[int, Mapping[str, "Counter[str]"]]


class BlockChange:
    """The lines `old` of the original, held against those of one candidate, `mine`."""

    def __init__(self, old: Sequence[LogicalLine], mine: Sequence[LogicalLine]) -> None:
        self.old, self.mine = old, mine
        self.said = tuple(line.words for line in old)
        self.score, self.at = same_lines(self.said, [line.words for line in mine])
        self.sure = self._headers()
        self.present = {word for line in mine for word in line.words}
        self._votes = self._renamings()

    def line(self, old: int) -> int:
        """Our line that a line of the original became, if there is no doubt."""
        mine = self.at.get(old)
        if mine is None:
            raise Misfit(f"{self.quotation(old)} is gone")
        said = self.said[old]
        if mine not in self.sure and (said != self.mine[mine].words or self.said.count(said) > 1):
            score, at = same_lines(self.said, [line.words for line in self.mine], apart=(old, mine))
            if mine in at.values() and self.score - score < CLEAR:
                raise Misfit(f"what {self.quotation(old)} became may be another line")
        return mine

    def name(self, word: str, block: int) -> str:
        """What a name became that is gone from the candidate: in this outermost block, by its first line, or else in
        all of the text. Empty if nobody knows, or several names are as likely."""
        for where in (block, -1):
            votes = self._votes.get(where, {}).get(word)
            if votes:
                (became, most), *others = votes.most_common(2)
                if not others or others[0][1] < most:
                    return became
        return ""

    def quotation(self, old: int) -> str:
        text = " ".join(self.said[old])
        return repr(text if len(text) <= 60 else text[:57] + "...")

    def _headers(self) -> set[int]:
        """Headers of blocks by what is in the block: `def kernel(x):` is like any function, its body is not.

        Corrects `at`, and returns our headers that more lines below speak for than for any other.
        """
        speak: dict[int, Counter[int]] = defaultdict(Counter)
        theirs, ours = _headers_of(self.old), _headers_of(self.mine)
        for old, mine in self.at.items():
            for header in ours[mine]:
                same = (x for x in theirs[old] if self.said[x][0] == self.mine[header].words[0])
                speak[header].update(same)
        came = {mine: old for old, mine in self.at.items()}
        sure = set()
        for header, votes in speak.items():
            (best, most), *others = votes.most_common(2) or [(-1, 0)]
            if most and (not others or others[0][1] < most) and self.at.get(best, header) == header:
                self.at.pop(came.get(header, -1), None)
                self.at[best] = header
                sure.add(header)
        return sure

    def _renamings(self) -> Votes:
        """What names became, by the outermost block that they stand in, and under -1 for all of the text."""
        votes: dict[int, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
        block = -1
        for old, said in enumerate(self.said):
            if self.old[old].depth == 0:
                block = old
            mine = self.mine[self.at[old]].words if old in self.at else said
            if mine == said:
                continue
            for x, y in same_words(said, mine).items():
                if said[x] != mine[y] and said[x] not in self.present and kind(said[x]) == "name":
                    if not foreign(said, x) and not foreign(mine, y):
                        votes[block][said[x]][mine[y]] += 1
                        votes[-1][said[x]][mine[y]] += 1
        return votes


def foreign(said: Sequence[str], x: int) -> bool:
    """Whether a name is an attribute or a keyword argument: the library's word, not the program's."""
    if x and said[x - 1] == ".":
        return True
    return said[x + 1 : x + 2] == ("=",) and x > 0 and said[x - 1] in "(,"


def _headers_of(lines: Sequence[LogicalLine]) -> list[tuple[int, ...]]:
    """The headers of the blocks around each line."""
    found: list[tuple[int, ...]] = []
    stack: list[int] = []
    for at, line in enumerate(lines):
        del stack[line.depth :]
        found.append(tuple(stack))
        stack.append(at)
    return found
