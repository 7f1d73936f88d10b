"""Journal: the folder `<stem>.shrink/`, where a reduction is whole at every moment and from which it goes on if killed.

`best.py` is the best candidate so far, replaced atomically. `journal.jsonl` only grows: a header, then one line for
each candidate judged, each accept, each answer given beside the search (cold confirmations, controls, fingerprints),
each drift and each watched run, and one for the lifted scripts. Each line carries a checksum. One that is not as it was
written, or as this version writes it, is left out: what it told is asked anew.

No text of best.py is lost. It grows only where a step is taken back; what goes then, what a person made of it in vain,
and what a new reduction finds there, is kept in other_faults/.

Resuming is replaying. The course of a reduction is deterministic, so a resumed one begins at the original program again
and has every answer read from here instead of judged: seconds later it stands where it was killed, and it ends in the
same result. Answers that are not final (unknown; the "no" of a flaky fault; a provisional "no" that the last round asks
again) are replayed too, in order, and are asked anew where that course would have asked anew.
"""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Literal, get_args

from shrinkray_gpu.errors import FolderGone, UsageError
from shrinkray_gpu.oracle.verdict import Verdict
from shrinkray_gpu.reduction.best_file import BestFile
from shrinkray_gpu.reduction.comment_above import KEPT, one_line, put_above
from shrinkray_gpu.reduction.extent import Extent
from shrinkray_gpu.reduction.journal_lines import (
    all_are,
    check_same,
    check_whole,
    line_of,
    locked_log,
    read_journal,
    take_lines,
    verdict_of,
    write_line,
)
from shrinkray_gpu.reduction.kept_aside import keep_aside
from shrinkray_gpu.reduction.lift_choice import LiftChoice
from shrinkray_gpu.reduction.program import Program, normalise, text_digest
from shrinkray_gpu.reduction.verdict_cache import VerdictCache

FORMAT = 2
"""1 had no checksums."""

CheckKind = Literal["confirmed", "probed", "guarded", "identified"]
"""What is asked beside the search: a cold run, a probe, the controls, the full fingerprint."""


class Journal:
    """One reduction's folder, open and locked until `close`."""

    def __init__(
        self,
        folder: Path,
        header: Mapping[str, Any],
        log: IO[bytes],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.folder = folder
        self.path = folder / "journal.jsonl"
        self.header = header
        self.resumed = False
        self.damaged = 0
        """Lines that were left out."""
        self._log = log
        self._inode = _inode(os.fstat(log.fileno()))
        self._best = BestFile(folder / "best.py", lambda: os.fsync(log.fileno()))
        self._strange = False
        """Whether best.py holds what no line tells of. Nothing is written over it until it was looked at."""
        self._verdicts = VerdictCache()
        self._answers: defaultdict[tuple[str, str], deque[Verdict]] = defaultdict(deque)
        self._values: dict[str, dict[int, str]] = {}
        self._lifted: tuple[str, ...] | None = None
        self._lifting: LiftChoice | None = None
        self._perturbed: Mapping[str, Any] | None = None
        self._accepts: list[Mapping[str, Any]] = []
        self._replay: deque[Mapping[str, Any]] = deque()
        self._floor: tuple[Any, ...] | None = None
        self._start: str | None = None
        self._clock, self._began, self._before = clock, clock(), 0.0

    @property
    def best_path(self) -> Path:
        return self._best.path

    @property
    def latest(self) -> str | None:
        """The best so far, whatever became of best.py; None before anything shorter than the original was found."""
        return self._best.latest

    # Opening

    @classmethod
    def open(
        cls,
        folder: Path,
        *,
        original: Program,
        seed: int,
        width: int,
        settings: Mapping[str, Any],
        version: str = "",
        resume: bool = False,
        restart: bool = False,
    ) -> Journal:
        """Begin, or go on with, the reduction of `original` in `folder`.

        `settings` are the options that change verdicts (oracle, arguments, architecture ...), as plain JSON values.
        Seed and width of a resumed reduction are those it began with: see `header`.
        """
        folder = Path(folder)
        path = folder / "journal.jsonl"
        header = {
            "shrink": version,
            "format": FORMAT,
            "original": text_digest(original),
            "seed": seed,
            "width": width,
            "settings": json.loads(json.dumps(dict(settings), default=str)),
        }
        busy = f"Another shrink is at work in {folder}. Wait for it, or choose another --output."
        log = locked_log(path, elsewhere="Choose another place with --output.", busy=busy, private=False)
        try:
            earlier = None if restart else read_journal(log)
            if earlier is not None and not resume and earlier.is_unfinished:
                raise UsageError(
                    f"{folder} holds an unfinished reduction. Add --resume to go on with it or --restart to begin anew."
                )
            if earlier is not None and resume:
                check_whole(earlier, folder)
                check_same(earlier.header, header, folder)
                journal = cls(folder, earlier.header, log)
                journal.resumed = True
                journal.damaged = earlier.damaged + take_lines(earlier.events, journal._take)
                journal._replay.extend(journal._accepts)
            else:
                journal = cls(folder, header, log)
                if not resume:
                    journal._move_aside()
                log.truncate(0)
                journal._write(header)
            journal._best.within(original.extent)
            journal._strange = resume and journal._best.data() is not None and not journal._wrote_best(original)
        except BaseException:
            log.close()
            raise
        return journal

    def _take(self, line: Mapping[str, Any]) -> None:
        """Raises one of UNFIT where the line does not tell what an earlier run of the tool found out."""
        event, key = line.get("event"), line.get("key", "")
        if event == "judged":
            self._verdicts.expect(key, verdict_of(line), final=line.get("final", True))
        elif event in get_args(CheckKind):
            self._answers[str(event), key].append(verdict_of(line))
        elif event == "drift":
            self._verdicts.expect_drift()
        elif event == "watched":
            self._values[key] = {int(k): v for k, v in line["values"].items()}
        elif event == "lifted":
            self._lifted = all_are(line["texts"], str)
        elif event == "lifting":
            self._lifting = LiftChoice.from_json(line)
        elif event == "perturbed":
            self._perturbed = line["variant"]
        elif event == "accept":
            all_are([line["text"], line["key"]], str)
            self._accepts.append({**line, "size": all_are(line["size"], int, float)})
            self._before = line.get("at", self._before)
        elif event == "start":  # a best.py edited by hand took over: all accepts before belong to another course
            self._begin_at(line["text"])

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, t: type[BaseException] | None, e: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        try:
            self._best.close()
        finally:
            self._log.close()

    def flush(self) -> None:
        """Wait until best.py is on disk, and raise what kept it from there."""
        self._best.flush()

    @property
    def is_gone(self) -> bool:
        """Whether somebody deleted the journal, or put another one in its place."""
        try:
            return _inode(os.stat(self.path)) != self._inode
        except OSError:
            return True

    # The start

    def start(self, original: Program) -> Program:
        """The program that this course begins with: the original, or a hand-edited best.py that took over earlier."""
        return original if self._start is None else original.with_text(self._start)

    def hand_edit(self, original: Program) -> Program | None:
        """The text of best.py if no line tells of it, else None: a person changed it, or such a line was damaged."""
        text = self._best.read() if self._strange else None
        if text is None or self._wrote_best(original):
            self._keep_strange()
            return None
        return original.with_text(normalise(text))

    def _wrote_best(self, original: Program) -> bool:
        """Whether best.py is as this reduction left it."""
        if (text := self._best.read()) is None:
            return False
        ours = {text_digest(self.start(original)), *(line["text"] for line in self._accepts)}
        if self._lifting is not None and self._lifting.text is not None:
            ours.add(text_digest(original.with_text(self._lifting.text)))
        return text_digest(original.with_text(normalise(text))) in ours

    def _keep_strange(self) -> None:
        """From now on best.py may be written over; what it holds is kept if no line tells of it."""
        if self._strange and (data := self._best.data()) is not None:
            keep_aside(self.folder, "edited_best", data)
        self._strange = False

    def _move_aside(self) -> None:
        """A new reduction begins: the best of an earlier one is none of this one."""
        if (data := self._best.data()) is not None:
            keep_aside(self.folder, "earlier_best", data)
            self._best.path.unlink()

    def take_over(self, program: Program) -> None:
        """A hand-edited best.py faults, and is the start from now on."""
        self._strange = False
        self._best.note(program.text)
        self._write({"event": "start", "key": program.key, "text": program.text})
        self._begin_at(program.text)
        self._replay.clear()
        self._floor = None

    def _begin_at(self, text: str) -> None:
        """What was accepted before belongs to another course, and none of its drifts will be met again."""
        self._start, self._accepts = text, []
        self._verdicts.expect_no_drift()

    # Verdicts

    def recall(self, key: str, *, insist: bool = False) -> Verdict | None:
        """What is known of a candidate; if `insist`, a provisional "no" does not count."""
        return self._verdicts.recall(key, insist=insist)

    def knows(self, key: str) -> bool:
        """Whether `recall` may have an answer. Takes none away from a replay."""
        return self._verdicts.knows(key)

    def record_verdict(self, key: str, verdict: Verdict, *, final: bool = True) -> None:
        """Unknown is never final."""
        final = final and verdict.is_known
        if final:
            self._verdicts.keep(key, verdict)
        line = line_of("judged", key, verdict)
        if not final:
            line["final"] = False
        self._write(line)

    def record_drift(self) -> None:
        """The everyday test is tighter from now on: what it said "yes" to counts no more. A "no" stays."""
        if not self._verdicts.tighten():
            self._write({"event": "drift"})

    def recall_answer(self, kind: CheckKind, key: str) -> Verdict | None:
        """What was answered beside the search, in the order in which it was taken; each answer once."""
        answers = self._answers.get((kind, key))
        return answers.popleft() if answers else None

    def record_answer(self, kind: CheckKind, key: str, verdict: Verdict) -> None:
        self._write(line_of(kind, key, verdict))

    def recall_values(self, key: str) -> Mapping[int, str] | None:
        return self._values.get(key)

    def record_values(self, key: str, values: Mapping[int, str]) -> None:
        self._values[key] = dict(values)
        self._write({"event": "watched", "key": key, "values": {str(k): v for k, v in values.items()}})

    def recall_lifted_scripts(self) -> tuple[str, ...] | None:
        return self._lifted

    def record_lifted_scripts(self, texts: Sequence[str]) -> None:
        """Keep the scripts that were made of the original's faulty launch."""
        self._lifted = tuple(texts)
        self._write({"event": "lifted", "texts": list(texts)})

    def recall_lift(self) -> LiftChoice | None:
        return self._lifting

    def record_lift(self, choice: LiftChoice) -> None:
        """Keep what this reduction works on. A lifted script shows the fault already: it is the best so far, be it that
        the tool is stopped before the search begins."""
        before, self._lifting = self._lifting, choice
        self._write({"event": "lifting", **choice.to_json()})
        if choice.text is not None:
            self._save(choice.text)
        elif before is not None and before.text is not None:  # it would not do
            self._best.remove(before.text)

    def recall_perturbation(self) -> Mapping[str, Any] | None:
        return self._perturbed

    def record_perturbation(self, variant: Mapping[str, Any]) -> None:
        """Keep the perturbation of a flaky original: chance chose it, and may choose another one next time."""
        self._perturbed = dict(variant)
        self._write({"event": "perturbed", "variant": self._perturbed})

    # The best so far

    def best(self, program: Program, *, size: tuple[Any, ...], by: str, smaller: bool = True) -> None:
        """`program` is the best from now on. `smaller` is False where it may be larger (a rollback, the layout).

        The line is written before the file: a kill between the two leaves an older best.py, which is still ours and not
        taken for one edited by hand. While a killed course is replayed, best.py on disk is ahead of us and stays.
        """
        text = text_digest(program)
        self._best.note(program.text)
        if self._replay:
            expected = self._replay.popleft()
            if expected["text"] == text:
                if not self._replay:
                    self._save(program.text)  # in case the kill came between line and file
                return
            # Another course (say, a newer version of the tool): best.py stays until something smaller is found.
            self._floor = tuple((self._replay[-1] if self._replay else expected)["size"])
            self._replay.clear()
        at = round(self._before + self._clock() - self._began, 2)  # seconds of work, those before a kill too
        line = {"event": "accept", "key": program.key, "text": text, "size": list(size), "pass": by, "at": at}
        self._accepts.append(line)
        self._write(line)
        if smaller and self._floor is not None and size >= self._floor:
            return
        self._floor = None
        self._save(program.text)

    def _save(self, text: str) -> None:
        """Into best.py, unless what it holds was not looked at yet."""
        if self._strange:
            self._best.note(text)
        else:
            self._best.replace(text)

    def roll_back(self, program: Program, *, size: tuple[Any, ...], by: str, why: str) -> Path | None:
        """The best was taken back, and `program` is it again. Returns where the smaller text is kept, if there is one.
        (Of a replay it is there already.)"""
        kept, taken = None, self._best.latest
        if taken is not None and taken != program.text:
            label = f"{KEPT} this smaller program was the best, and was taken back."
            reason = f"# why        {one_line(why or by)}"
            kept = keep_aside(self.folder, "taken_back", put_above([label, reason], taken).encode())
        self.best(program, size=size, by=by, smaller=False)
        return kept

    def begin_with(self, program: Program, *, size: tuple[Any, ...], most: Extent | None = None) -> None:
        """A lifted script is the best before anything is tried. What a person made of best.py, which never goes beyond
        `most`, stays: it is yet to be looked at, or is what this course begins with."""
        self._best.within(most)
        if self._start is not None:
            return
        if self._replay and self._replay[0]["text"] == text_digest(program) and self.best_path.exists():
            self._replay.popleft()
        else:
            self.best(program, size=size, by="lift")

    def put_back(self, program: Program) -> None:
        """What a person made of best.py does not fault. A replay ends in saving ours; without one it is done here."""
        self._keep_strange()
        if self._accepts and not self._replay:
            self._save(program.text)

    def end(self) -> None:
        """The reduction ran to its end; a new one in this folder needs no --restart."""
        self.flush()
        self._write({"event": "end"}, sync=True)

    def _write(self, line: Mapping[str, Any], *, sync: bool = False) -> None:
        """Raises FolderGone where nobody could ever read it."""
        if os.fstat(self._log.fileno()).st_nlink == 0 and self.is_gone:
            raise FolderGone(f"{self.path} was deleted")
        write_line(self._log, line)
        if sync:
            os.fsync(self._log.fileno())


def _inode(file: os.stat_result) -> tuple[int, int]:
    return file.st_dev, file.st_ino
