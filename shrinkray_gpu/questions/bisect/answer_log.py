"""What the releases answered, in `<stem>.bisect/journal.jsonl` as it comes: a search that was killed goes on from it.

The first line is the question, with digests in the place of secrets. Each line ends with a checksum, and what a kill
left of the last one is cut off. Nobody else may read the file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.evidence.secrets_found import SECRET, SHOWN, without_secret_words, without_secrets
from shrinkray_gpu.oracle import Answer, Fault
from shrinkray_gpu.questions.bisect.release_runs import ReleaseAnswer
from shrinkray_gpu.reduction.journal_lines import locked_log, take_lines, unsealed, whole_lines, write_line

FILE = "journal.jsonl"
_USER_OF_URL = re.compile(r"(?<=://)[^\s/@]+(?=@)")


@dataclass(frozen=True)
class AnswerLog:
    """Open and locked. `earlier` are the answers that were there already, by release, in order; `begun` is the question
    that they answer, and empty where there is none."""

    path: Path
    begun: Mapping[str, Any]
    earlier: tuple[tuple[str, ReleaseAnswer], ...]
    log: IO[bytes]

    def begin(self, question: Mapping[str, Any]) -> None:
        """What was there is forgotten only now, when the question has proved to make sense."""
        self.log.truncate(0)
        write_line(self.log, {"question": question})

    def add(self, release: str, said: ReleaseAnswer) -> None:
        line: dict[str, Any] = {"release": release, "answer": said.answer.value, "why": said.why}
        if said.fault is not None:
            line["fault"] = asdict(said.fault)
        write_line(self.log, line)


@contextmanager
def answer_log(folder: Path, question: Mapping[str, Any], *, restart: bool) -> Iterator[AnswerLog]:
    """The log of this question in the folder. An earlier one may know more of it: what was found out at its beginning.
    `restart`: as if there were none; it stays there until `begin`.

    Raises UsageError where it cannot be written, another command writes it, or it is of another question.
    """
    path = folder / FILE
    busy = f"another shrink bisect works in {folder}: wait for its end, or stop it"
    with locked_log(path, elsewhere="Copy FILE to a folder that can be written", busy=busy) as log:
        yield AnswerLog(path, {}, (), log) if restart else _read(path, question, log)


def settings_with_digests(environment: Mapping[str, str]) -> dict[str, str]:
    """Environment variables, with digests for the values that are told to nobody."""
    return {
        name: _with_digest(value, SHOWN if SECRET.search(name) else without_secrets(value))
        for name, value in environment.items()
    }


def url_with_digest(url: str) -> str:
    """A URL with a digest for who may read it: a name and a password, or a token."""
    return _with_digest(url, _USER_OF_URL.sub(SHOWN, url))


def words_with_digests(argv: Sequence[str]) -> list[str]:
    return [*map(_with_digest, argv, without_secret_words(argv))]


def _with_digest(text: str, shown: str) -> str:
    return text if shown == text else f"{shown} sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _read(path: Path, question: Mapping[str, Any], log: IO[bytes]) -> AnswerLog:
    whole = whole_lines(log)
    if not whole:
        return AnswerLog(path, {}, (), log)
    lines = [unsealed(line) for line in whole]
    begun = (lines[0] or {}).get("question", {})
    other = [name for name, value in question.items() if begun.get(name) != value]
    if other:
        raise UsageError(
            f"{path} is of another question ({', '.join(other)} changed): --restart forgets it and begins anew"
        )
    earlier: list[tuple[str, ReleaseAnswer]] = []
    told = [line for line in lines[1:] if line is not None]
    take_lines(told, lambda line: earlier.append((line["release"], _answer(line))))
    return AnswerLog(path, begun, tuple(earlier), log)


def _answer(line: Mapping[str, Any]) -> ReleaseAnswer:
    given = line.get("fault")
    return ReleaseAnswer(Answer(line["answer"]), line["why"], fault=Fault.from_json(given) if given else None)
