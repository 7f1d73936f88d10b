"""Carries a change of the original over to a reduced program: a three-way merge of lines, and of words within lines.

Lines and words are gone from the reduced one, names are others, blocks are dedented. So what was changed is looked up
by its surroundings: lines by likeness and order (see alignment), words by the words beside them (see swaps), whole new
lines by the nearest line of their block that is left. A name that the change uses is told by its new name, or by the
value that took its place; where it is gone without trace, that part of the change does not fit. A wrong guess would
tell a sound program as one with another fault, so in doubt a part does not fit either.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from shrinkray_gpu.same_fault.patch.alignment import likeness, same_lines
from shrinkray_gpu.same_fault.patch.correspondence import BlockChange, foreign
from shrinkray_gpu.same_fault.patch.swaps import Misfit, WordSpan, place, swaps
from shrinkray_gpu.source import logical_lines
from shrinkray_gpu.source.logical_lines import LogicalLine, kind

PAIRED = 0.5
"""The least likeness of a line and what the change makes of it; below that one goes and another comes."""


@dataclass(frozen=True)
class MergedText:
    text: str | None
    """The changed program; None if nothing of the change fits."""
    whole: bool = True
    why: str = ""
    """What does not fit, unless it is whole."""


@dataclass(frozen=True)
class _Entry:
    """A line of the original, of the changed program, or of both."""

    old: int | None
    new: int | None


@dataclass(frozen=True)
class _OutputLine:
    """A line of the result: what stands before it, its blocks, its text, whether it opens a block."""

    lead: str
    depth: int
    text: str
    opens: bool = False


def words(text: str) -> list[tuple[int, tuple[str, ...]]]:
    """What a text says, without comments and spacing."""
    return [(line.depth, line.words) for line in logical_lines.read(text)]


class Merge:
    """The change from `original` to `patched`, worked out once; `carry` applies it to many candidates."""

    def __init__(self, original: str, patched: str, name: str) -> None:
        self.name, self.patched = name, patched
        self.old, self.new = logical_lines.read(original), logical_lines.read(patched)
        self.said = tuple(line.words for line in self.old)
        self.entries = tuple(_entries(self.said, [line.words for line in self.new]))
        self.names = {word for said in self.said for word in said}
        added = [self.new[e.new].words for e in self.entries if e.old is None and e.new is not None]
        self.brought = {said[x] for said in added for x in range(len(said)) if _binds(said, x)}
        """Names that new lines bring in."""
        self.tops: dict[int, int] = {}
        """By line of the changed program: the original's line that opens the outermost block there."""
        self.around: dict[int, tuple[int, ...]] = {}
        """By entry that goes in or out: the entries of the headers that it goes into or out of."""
        top = -1
        for at, entry in enumerate(self.entries):
            if entry.old is not None and self.old[entry.old].depth == 0:
                top = entry.old
            if entry.new is not None:
                self.tops[entry.new] = top
            if self.block_shift(entry):
                self.around[at] = tuple(self._around(at, new=self.block_shift(entry) > 0))

    def block_shift(self, entry: _Entry) -> int:
        """By how many blocks a line goes in (or out, if negative)."""
        if entry.old is None or entry.new is None:
            return 0
        return self.new[entry.new].depth - self.old[entry.old].depth

    def carry(self, candidate: str) -> MergedText:
        """The candidate with all of the change that fits."""
        work = _Work(self, candidate if candidate.endswith("\n") else candidate + "\n")
        text = work.result()
        missing = next(iter(work.misfits), "")
        if not work.fitted:
            return MergedText(None, False, f"{self.name} does not fit any more: {missing}")
        try:
            ast.parse(text)
        except (SyntaxError, ValueError):
            return MergedText(None, False, f"{self.name} does not fit any more: with it the program is not Python")
        if words(text) == words(candidate):
            return MergedText(None, False, f"{self.name} changes nothing here: the program is so already")
        if not missing:
            return MergedText(text)
        count = work.fitted + len(work.misfits)
        return MergedText(text, False, f"only {work.fitted} of {count} changes of {self.name} fit ({missing})")

    def _around(self, at: int, *, new: bool) -> Iterator[int]:
        """The headers of the blocks that are around a line in one of the two texts only."""
        lines = self.new if new else self.old
        index = self.entries[at].new if new else self.entries[at].old
        depth = lines[index or 0].depth
        for before in range(at - 1, -1, -1):
            entry = self.entries[before]
            index = entry.new if new else entry.old
            if index is not None and lines[index].depth < depth:
                depth = lines[index].depth
                if (entry.old if new else entry.new) is None:
                    yield before


def _entries(old: Sequence[tuple[str, ...]], new: Sequence[tuple[str, ...]]) -> Iterator[_Entry]:
    """Both texts as one sequence. Where lines were replaced, those that are alike make a pair."""
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from (_Entry(i, j) for i, j in zip(range(i1, i2), range(j1, j2)))
            continue
        pairs = same_lines(old[i1:i2], new[j1:j2])[1]
        i, j = i1, j1
        for a, b in sorted((i1 + x, j1 + y) for x, y in pairs.items()):
            if likeness(old[a], new[b]) >= PAIRED:
                yield from (_Entry(x, None) for x in range(i, a))
                yield from (_Entry(None, y) for y in range(j, b))
                yield _Entry(a, b)
                i, j = a + 1, b + 1
        yield from (_Entry(x, None) for x in range(i, i2))
        yield from (_Entry(None, y) for y in range(j, j2))


def _binds(said: Sequence[str], x: int) -> bool:
    return said[x - 1] in ("def", "class", "import", "as", "for") if x else said[1:2] == ("=",)


class _Work:
    """One candidate being changed."""

    def __init__(self, merge: Merge, text: str) -> None:
        self.merge, self.text = merge, text
        self.mine = logical_lines.read(text)
        self.fitted = 0
        self.misfits: list[str] = []
        self.became = BlockChange(merge.old, self.mine)
        self.done: set[int] = set()
        """Entries of lines that came or went here too."""

    def result(self) -> str:
        changed: dict[int, str] = {}
        gone: set[int] = set()
        before: dict[int, list[_OutputLine]] = defaultdict(list)
        for at, entry in enumerate(self.merge.entries):
            if entry.old is None or (entry.new is not None and self._unchanged(entry)):
                continue
            try:
                mine = self.became.line(entry.old)
                if entry.new is not None:
                    changed[mine] = self._reworded(entry.old, entry.new, mine)
                elif likeness(self.merge.said[entry.old], self.mine[mine].words) < PAIRED:
                    raise Misfit(f"{self.became.quotation(entry.old)} is gone")
                else:
                    gone.add(mine)
                    self.done.add(at)
                    self.fitted += 1
            except Misfit as misfit:
                self.misfits.append(str(misfit))
        for run in self._runs():
            try:
                self._put(run, before)
                self.done.update(run)
                self.fitted += 1
            except Misfit as misfit:
                self.misfits.append(str(misfit))
        return self._assembled(changed, gone, before)

    def _unchanged(self, entry: _Entry) -> bool:
        assert entry.old is not None and entry.new is not None
        return self.merge.said[entry.old] == self.merge.new[entry.new].words

    # Words within a line

    def _reworded(self, old: int, new: int, mine: int) -> str:
        was, now, line = self.merge.said[old], self.merge.new[new], self.mine[mine]
        edits: list[tuple[int, int, str]] = []
        for group in swaps(was, now.words):
            try:
                places = [place(was, now.words, line.words, swap) for swap in group]
                edits += [self._edit(now, line, new, swap.new, where) for swap, where in zip(group, places)]
                self.fitted += 1
            except Misfit as misfit:
                self.misfits.append(f"{misfit}, in {self.became.quotation(old)}")
        piece, end = "", line.spans[0][0]
        for start, stop, put in sorted(edits, key=lambda edit: edit[:2]):
            if start < end:
                raise Misfit(f"two changes of {self.became.quotation(old)} overlap there")
            piece += self.text[end:start] + put
            end = stop
        return piece + self.text[end : line.end]

    def _edit(
        self, now: LogicalLine, line: LogicalLine, new: int, part: range, where: WordSpan
    ) -> tuple[int, int, str]:
        """First and last offset in our text, and what to put there."""
        put = self._told(new, part)
        if where.low < where.high:
            start, stop = line.spans[where.low][0], line.spans[where.high - 1][1]
            if not put and where.high < len(line.spans):
                stop = line.spans[where.high][0]
            return start, stop, put
        source = self.merge.patched
        if where.behind:
            offset = line.spans[where.low - 1][1]
            return offset, offset, source[now.spans[part.start - 1][1] : now.spans[part.start][0]] + put
        offset = line.spans[where.low][0]
        return offset, offset, put + source[now.spans[part.stop - 1][1] : now.spans[part.stop][0]]

    def _told(self, new: int, part: range) -> str:
        """Words of the changed program, by the names that things have in the candidate."""
        if not part:
            return ""
        line = self.merge.new[new]
        piece, end = "", line.spans[part.start][0]
        for x in part:
            start, stop = line.spans[x]
            piece += self.merge.patched[end:start] + self._name(line.words, x, new)
            end = stop
        return piece

    def _name(self, said: Sequence[str], x: int, new: int) -> str:
        word = said[x]
        if kind(word) != "name" or word in self.became.present or word not in self.merge.names or foreign(said, x):
            return word
        if became := self.became.name(word, self.merge.tops[new]):
            return became
        if word in self.merge.brought:
            return word
        raise Misfit(f"{word}, which the change uses, is gone")

    # Whole new lines

    def _runs(self) -> Iterator[range]:
        """Entries of new lines that follow each other."""
        first = None
        for at, entry in enumerate((*self.merge.entries, _Entry(0, 0))):
            if entry.old is None:
                first = at if first is None else first
            elif first is not None:
                yield range(first, at)
                first = None

    def _put(self, run: range, before: dict[int, list[_OutputLine]]) -> None:
        """Beside the nearest line of their block that is left: after one above them, or before one below."""
        lines = [new for at in run if (new := self.merge.entries[at].new) is not None]
        top = self.merge.new[lines[0]].depth
        rendered = []
        for new in lines:
            line = self.merge.new[new]
            text = self._told(new, range(len(line.words))) + self.merge.patched[line.spans[-1][1] : line.end]
            rendered.append((line.depth - top, text, line.words[-1] == ":"))
        if rendered[-1][2]:  # a block around lines that were there before
            inside = [self.merge.entries[at].old for at, headers in self.merge.around.items() if run[-1] in headers]
            kept = [self.became.line(old) for old in inside if old is not None and old in self.became.at]
            if not kept:
                raise Misfit(f"the lines that {rendered[-1][1].strip()!r} is put around are gone")
        found = [*self._above(run.start, top), *self._below(run.stop, top)]
        if not found:
            raise Misfit(f"nothing is left of the block around {rendered[0][1].strip()!r}")
        _, index, base = min(found)
        before[index] += [_OutputLine("", base + depth, text, opens) for depth, text, opens in rendered]

    def _above(self, first: int, depth: int) -> Iterator[tuple[int, int, int]]:
        """Lines of the block above a new one: how far away, our line to stand before, our depth."""
        for at in range(first - 1, -1, -1):
            here, mine, ours = self._at(at)
            if here == depth and mine is not None:
                end = mine + 1
                while end < len(self.mine) and self.mine[end].depth > self.mine[mine].depth:
                    end += 1
                yield first - at, end, ours
            if here is not None and here < depth:
                if here == depth - 1 and mine is not None and self.mine[mine].words[-1] == ":":
                    yield first - at, mine + 1, ours + 1
                return

    def _below(self, last: int, depth: int) -> Iterator[tuple[int, int, int]]:
        for at in range(last, len(self.merge.entries)):
            here, mine, ours = self._at(at)
            if here is not None and here < depth:
                return
            if here == depth and mine is not None:
                while mine and self.mine[mine - 1].words[0] == "@":
                    mine -= 1
                yield at - last + 1, mine, ours

    def _at(self, at: int) -> tuple[int | None, int | None, int]:
        """Of an entry: its depth (None for a new line), our line that it became, and the depth of that."""
        entry = self.merge.entries[at]
        if entry.old is None:
            return None, None, 0
        moved, mine = self._moved(at), self.became.at.get(entry.old)
        return self.merge.old[entry.old].depth + moved, mine, self.mine[mine].depth + moved if mine is not None else 0

    def _moved(self, at: int) -> int:
        """By how many blocks a line goes in or out, if those blocks came or went here too."""
        fits = at in self.merge.around and self.done.issuperset(self.merge.around[at])
        return self.merge.block_shift(self.merge.entries[at]) if fits else 0

    # The result

    def _assembled(self, changed: Mapping[int, str], gone: set[int], before: Mapping[int, list[_OutputLine]]) -> str:
        moves = {
            self.became.at[e.old]: self._moved(at) for at, e in enumerate(self.merge.entries) if e.old in self.became.at
        }
        unit = next((self._margin(line) for line in self.mine if line.depth == 1), "    ")
        out: list[_OutputLine] = []
        end = 0
        for at, line in enumerate(self.mine):
            out += before.get(at, ())
            if at not in moves:  # a line that the reduction made goes with the one before it
                same = at > 0 and line.depth >= self.mine[at - 1].depth
                moves[at] = moves[at - 1] if same else 0
            if at not in gone:
                text = changed.get(at, self.text[line.spans[0][0] : line.end])
                out.append(
                    _OutputLine(self.text[end : line.start], line.depth + moves[at], text, line.words[-1] == ":")
                )
            end = line.end
        out += before.get(len(self.mine), ())
        pieces = []
        for one, after in zip(out, [*out[1:], None]):
            pieces.append(one.lead + unit * one.depth + one.text)
            if one.opens and (after is None or after.depth <= one.depth):
                pieces.append(unit * (one.depth + 1) + "pass\n")
        return "".join(pieces) + self.text[end:]

    def _margin(self, line: LogicalLine) -> str:
        return self.text[line.start : line.spans[0][0]]
