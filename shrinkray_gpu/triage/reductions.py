"""The cheapest member of a cluster, reduced by a process of its own: what goes wrong in one never ends the triage."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

from shrinkray_gpu.device import architectures
from shrinkray_gpu.device.own_commands import AROUND, EndedCommand, finished
from shrinkray_gpu.errors import Interrupted, NoKernelInvolved, NotReproduced
from shrinkray_gpu.events import Failed, printed_result
from shrinkray_gpu.triage.clusters import FailureMember
from shrinkray_gpu.triage.reruns import TriagePlace

REDUCED, LEFT, FAILED, STOPPED = "reduced", "left as it is", "not reduced", "interrupted"
MEMBERS = 3
"""Of a cluster that are tried at most, where the cheapest does not show its fault any more: it may be flaky unseen."""
_COPIED = ("ISSUE.md", "report.html")


@dataclass(frozen=True)
class Reducing:
    """What the user asks of all reductions."""

    seconds: float
    """Of search, for each."""
    words: tuple[str, ...] = ()
    """More options of `shrink`."""
    resumes: bool = False
    """Whether it goes on with what an earlier call began, with the versions of now."""

    @property
    def jobs(self) -> int | None:
        """The lanes of each, where the words say so."""
        parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
        parser.add_argument("--jobs", type=int)
        try:
            found: int | None = parser.parse_known_args(list(self.words))[0].jobs
        except argparse.ArgumentError:  # for `shrink` to complain of
            return None
        return found


def command(member: FailureMember, place: TriagePlace, asked: Reducing, folder: Path, seconds: float) -> list[str]:
    """What a person would type."""
    words = ["--quiet", "--json", "--resume" if asked.resumes else "--restart", "--max-time", f"{seconds:g}"]
    words += ["--python", place.python, "--cwd", str(place.cwd)]
    for name, value in place.environment.items():
        words += ["--env", f"{name}={value}"]
    if place.arch is not None:
        words += ["--arch", architectures.name(place.arch)]
    words += [*asked.words, "--output", str((folder / "repro.py").absolute())]
    ours = [sys.executable, "-m", "shrinkray_gpu"]
    report = member.reports[0]
    if report.capsule:
        return [*ours, "capsule", report.capsule, *words]
    return [*ours, *words, "--kernel-only", "-m", "pytest", *place.settings.words, report.node]


def reduced(
    members: Sequence[FailureMember],
    place: TriagePlace,
    asked: Reducing,
    folder: Path,
    seconds: float,
    over: Event | None = None,
) -> dict[str, Any]:
    """Reduce the first of these that shows its fault into `folder`. Returns what came of it: `state`, `why` and more,
    as JSON has it. `over`: interrupts it, as Ctrl-C does."""
    for member in members:
        told, code = _reduced(member, place, asked, folder, seconds, over)
        if code != NotReproduced.exit_code:
            break
    return told


def _reduced(
    member: FailureMember,
    place: TriagePlace,
    asked: Reducing,
    folder: Path,
    seconds: float,
    over: Event | None,
) -> tuple[dict[str, Any], int | None]:
    """The same of one, and the exit code of its command."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return {"state": FAILED, "member": member.name, "why": f"cannot create {folder}: {error.strerror}"}, None
    done = finished(command(member, place, asked, folder, seconds), place.cwd, seconds + AROUND, over=over)
    told = {"member": member.name, **_outcome(done, folder, place.cwd)}
    if told["state"] in (LEFT, FAILED) and not (folder / "repro.py").exists():
        shutil.rmtree(folder, ignore_errors=True)
    return told, done.code if done is not None else None


def _outcome(done: EndedCommand | None, folder: Path, cwd: Path) -> dict[str, Any]:
    """`cwd`: of the command, from which it names its files."""
    if done is None:
        return {"state": FAILED, "why": "it did not end in time"}
    found = printed_result(done.out)
    if done.code in (0, Interrupted.exit_code) and found and not done.interrupted:
        _bring_up((cwd / found["attachment"]).parent if found["attachment"] else None, folder)
        return {
            "state": REDUCED,
            "why": "",
            "output": "repro.py",
            "issue": "ISSUE.md" if (folder / "ISSUE.md").is_file() else "",
            "lines": found["after"][0],
            "tokens": found["after"][1],
            **{name: found.get(name) for name in ("spec", "fault", "same", "ended", "verified", "final_runs")},
            "verdict": (found.get("verdict") or {}).get("verdict", ""),
        }
    if done.interrupted:
        return {"state": STOPPED, "why": "interrupted; the same command goes on with it"}
    why = _complaint(done)
    if done.code == NoKernelInvolved.exit_code:
        return {"state": LEFT, "why": f"it fails for no reason of a GPU's: {why}"}
    return {"state": FAILED, "why": f"{why} (exit code {done.code})"}


def _complaint(done: EndedCommand) -> str:
    """What the command ended with: its last event, or else the last line that it said."""
    with suppress(ValueError):
        told = json.loads(next(reversed(done.out.splitlines()), "{}"))
        if told.get("event") == Failed.name:
            return str(told["text"]).splitlines()[0]
    lines = [line for line in done.said.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"


def _bring_up(attachment: Path | None, folder: Path) -> None:
    """The attachment beside the repro, where a reader looks for it."""
    if attachment is None:
        return
    for name in _COPIED:
        if (attachment / name).is_file():
            shutil.copyfile(attachment / name, folder / name)
    if (attachment / "artifacts").is_dir():
        shutil.copytree(attachment / "artifacts", folder / "artifacts", dirs_exist_ok=True)


def relative(path: str | Path) -> str:
    """As the user would type it."""
    return os.path.relpath(path)
