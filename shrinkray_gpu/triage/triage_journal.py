"""What a triage has found out so far, a line each, so that a second call goes on where the first one ended."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.reduction.journal_lines import locked_log, read_journal, take_lines, write_line
from shrinkray_gpu.triage.reported import ReportedFailure
from shrinkray_gpu.triage.reruns import Rerun

FILE = "journal.jsonl"
RECORD = "session.jsonl"
"""Of a pytest that is run here, a line a test: one that was interrupted goes on with the tests that did not end."""
FORMAT = 1


@dataclass(frozen=True)
class ReportsPart:
    """The reports of one shard."""

    list: str
    """A digest of what all shards share out."""
    reports: Mapping[int, ReportedFailure]
    """By their places among all."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ReportsPart:
        return cls(data["list"], {int(at): ReportedFailure(**each) for at, each in data["reports"].items()})


def _changes(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """`triton 3.6.0 then, 3.9.0 now`; empty where all is as it was."""
    both = {name: (before.get(name, "not there"), now.get(name, "not there")) for name in sorted({*before, *now})}
    return ", ".join(f"{name} {then} then, {this} now" for name, (then, this) in both.items() if then != this)


class TriageFindings:
    """What is known so far."""

    def __init__(self) -> None:
        self.reruns: dict[str, Rerun] = {}
        """By what was run."""
        self.first_runs: dict[str, Rerun] = {}
        """Of tests that were run to find those that fail, by the test."""
        self.begun: set[str] = set()
        """Clusters whose reduction was begun here with these versions."""
        self.reductions: dict[str, dict[str, Any]] = {}
        """By cluster."""
        self.failures: list[ReportedFailure] | None = None
        """Those of the tests that were run; None where they were not."""
        self.part: ReportsPart | None = None
        """Of a shard whose runs are made: which reports are its own."""

    def take(self, line: Mapping[str, Any]) -> None:
        """What a line of a journal tells."""
        if line["event"] == "rerun":
            self.reruns[line["subject"]] = Rerun.from_json(line["found"])
        elif line["event"] == "first run":
            self.first_runs[line["subject"]] = Rerun.from_json(line["found"])
        elif line["event"] == "reducing":
            self.begun.add(line["cluster"])
        elif line["event"] == "reduced":
            self.reductions[line["cluster"]] = line["found"]
        elif line["event"] == "session":
            self.failures = [ReportedFailure(**each) for each in line["failures"]]
        elif line["event"] == "part":
            self.part = ReportsPart.from_json(line["part"])


class TriageJournal(TriageFindings):
    """The journal of one folder, open and locked until `close`. Raises UsageError where it is of other settings."""

    def __init__(
        self, folder: Path, settings: Mapping[str, Any], ran: Mapping[str, str], *, restart: bool = False
    ) -> None:
        super().__init__()
        self.ran = ran
        """Which versions run the failures."""
        self.outdated = ""
        """Which versions ran what an earlier call found, if they are others now: all of it is forgotten then."""
        self.session_record = folder / RECORD
        busy = f"another triage is at work in {folder}: wait for it, or choose another --output"
        self._log = locked_log(folder / FILE, elsewhere="Choose another place by --output", busy=busy)
        header = {"triage": FORMAT, "settings": json.loads(json.dumps(dict(settings))), "ran": dict(ran)}
        earlier = None if restart else read_journal(self._log)
        if earlier is not None and {**earlier.header, "ran": header["ran"]} == header:
            self.outdated = _changes(earlier.header.get("ran", {}), ran)
        if earlier is None or self.outdated:
            self._log.truncate(0)
            self.session_record.unlink(missing_ok=True)
            write_line(self._log, header)
        elif earlier.header != header:
            self._log.close()
            raise UsageError(
                f"{folder} holds a triage with other settings (interpreter, architecture, folder): choose another "
                "--output, or add --restart to begin anew"
            )
        else:
            take_lines(earlier.events, self.take)

    def close(self) -> None:
        self._log.close()

    def keep_rerun(self, subject: str, found: Rerun) -> None:
        self.reruns[subject] = found
        write_line(self._log, {"event": "rerun", "subject": subject, "found": found.to_json()})

    def keep_first_run(self, subject: str, found: Rerun) -> None:
        self.first_runs[subject] = found
        write_line(self._log, {"event": "first run", "subject": subject, "found": found.to_json()})

    def keep_begun(self, cluster: str) -> None:
        self.begun.add(cluster)
        write_line(self._log, {"event": "reducing", "cluster": cluster})

    def keep_reduction(self, cluster: str, found: Mapping[str, Any]) -> None:
        self.reductions[cluster] = dict(found)
        write_line(self._log, {"event": "reduced", "cluster": cluster, "found": dict(found)})

    def keep_part(self, part: ReportsPart) -> None:
        self.part = part
        write_line(self._log, {"event": "part", "part": asdict(part)})

    def keep_failures(self, failures: Sequence[ReportedFailure]) -> None:
        self.failures = list(failures)
        write_line(self._log, {"event": "session", "failures": [asdict(each) for each in failures]})
