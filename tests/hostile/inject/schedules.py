"""What may befall a reduction, each drawn from a seed. By the library of `preload.c` in all processes, which injects
what a disk, a signal or a clock does; by signals to processes that are found in /proc; by a second command."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import struct
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from tests.hostile.inject.tool import SEES_A_GPU, SHRINK, Ended, Subject, Tool, started

SOURCE = Path(__file__).with_name("preload.c")
LEFT = ("best.py", "journal.jsonl", "result.json", "ISSUE.md", "report.html")
"""What a reduction that ends well leaves in its folder; the last two with a report only."""
EVER = 1 << 40
LONGEST = 600.0
"""Seconds that a reduction may take longer, where it waits for what never answers: the original's own limit is 300."""


@dataclass(frozen=True)
class Undisturbed:
    """What a subject comes to when nothing happens."""

    text: str
    seconds: float
    operations: int
    """Writes, new files and the like, by all processes."""
    left: tuple[str, ...] = ()
    """What it leaves in its folder."""


@dataclass(frozen=True)
class Disturbance:
    """One draw: what the library injects, and what is done to the tool while it runs."""

    what: str
    inject: Mapping[str, str]
    act: Callable[[Tool], int] = lambda tool: 0
    """Returns how often it did something."""
    told: tuple[str, ...] = ()
    """Where the command ends early, its message has one of these words."""
    environment: Mapping[str, str] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    """More of the command; also when it is resumed, as are the other two."""
    program: tuple[str, ...] = SHRINK
    """What Python is to run."""


Draw = Callable[[random.Random, Undisturbed, Subject, Path], Disturbance]


def no_room_once(chance: random.Random, known: Undisturbed, subject: Subject, folder: Path) -> Disturbance:
    """One write fails, or is cut short and the next one fails."""
    at = chance.randint(1, known.operations)
    return no_room(at, chance.choice((1, 2)))


def no_room(at: int, count: int) -> Disturbance:
    what = {"INJECT": "space", "INJECT_AT": str(at), "INJECT_COUNT": str(count)}
    name = "all from" if count == EVER else f"{count} from"
    return Disturbance(f"no room for writes: {name} number {at}", what, told=("No space left", "no room"))


def full_disk(chance: random.Random, known: Undisturbed, subject: Subject, folder: Path) -> Disturbance:
    return no_room(chance.randint(1, known.operations), EVER)


def interrupted_calls(chance: random.Random, known: Undisturbed, subject: Subject, folder: Path) -> Disturbance:
    """EINTR from reads, writes, opens and waits. Torch does not ask again where its read of random bytes is cut off."""
    one_in = chance.randint(3, 30)
    what = {"INJECT": "signals", "INJECT_ONE_IN": str(one_in), "INJECT_SEED": str(chance.randint(1, 1 << 30))}
    return Disturbance(f"one call in {one_in} is interrupted", what, told=("Unable to read from /dev/urandom",))


def suspended(chance: random.Random, known: Undisturbed, subject: Subject, folder: Path) -> Disturbance:
    """Ctrl-Z and fg: all its processes stop for some seconds, three times."""
    moments = _moments(chance, known, 3)
    lengths = [chance.uniform(0.5, 5.0) for _ in moments]

    def act(tool: Tool) -> int:
        done = 0
        for at, length in zip(moments, lengths):
            if not _wait(tool, at):
                break
            found = [tool.process.pid, *(one.pid for one in tool.carriers())]
            _signal(found, signal.SIGSTOP)
            time.sleep(length)
            _signal(found, signal.SIGCONT)
            done += 1
        return done

    return Disturbance(f"stopped at {_say(moments)} s for {_say(lengths)} s", {}, act)


def slow_disk(chance: random.Random, known: Undisturbed, subject: Subject, folder: Path) -> Disturbance:
    pause = chance.choice((1000, 3000, 10_000))
    return Disturbance(
        f"each write takes {pause / 1000:g} ms, each fsync {50 * pause / 1e6:g} s",
        {"INJECT": "slow", "INJECT_PAUSE_US": str(pause)},
    )


def killed_lanes(chance: random.Random, known: Undisturbed, subject: Subject, folder: Path) -> Disturbance:
    moments = _moments(chance, known, 5)
    return Disturbance(f"a lane killed at {_say(moments)} s", {}, _on(Tool.lanes, moments, signal.SIGKILL, chance))


def killed_servers(chance: random.Random, known: Undisturbed, subject: Subject, folder: Path) -> Disturbance:
    """A fork server, or what guards it."""
    moments = _moments(chance, known, 2)
    name, kind = chance.choice((("fork server", Tool.workers), ("keeper or guard", Tool.keepers)))
    return Disturbance(
        f"a {name} killed at {_say(moments)} s",
        {},
        _on(kind, moments, signal.SIGKILL, chance),
        told=("killed", "did not come up", "closed without"),
    )


def stopped_servers(chance: random.Random, known: Undisturbed, subject: Subject, folder: Path) -> Disturbance:
    """What starts and ends programs, all at once: they go on when they are needed next."""
    moments = _moments(chance, known, 2)

    def act(tool: Tool) -> int:
        done = 0
        for at in moments:
            if not _wait(tool, at):
                break
            while not (found := tool.keepers()) and tool.is_at_work():  # a busy machine has none yet
                time.sleep(0.05)
            done += _signal(found, signal.SIGSTOP)
        return done

    return Disturbance(f"keeper and guards stopped at {_say(moments)} s", {}, act)


def clock_jumps(chance: random.Random, known: Undisturbed, subject: Subject, folder: Path) -> Disturbance:
    moments = _moments(chance, known, 3)
    by = [chance.choice((-1, 1)) * chance.choice((5, 3600, 400 * 86400, 10**9)) for _ in moments]
    jumps = ",".join(f"{int(1000 * at)}:{seconds}" for at, seconds in zip(moments, by))
    return Disturbance(
        f"the clock jumps by {_say(by)} s at {_say(moments)} s", {"INJECT": "clock", "INJECT_JUMPS": jumps}
    )


def two_at_once(chance: random.Random, known: Undisturbed, subject: Subject, folder: Path) -> Disturbance:
    """Others of the same command, in between: all but one are refused."""
    lines = sorted(chance.randint(1, 40) for _ in range(2))
    words = chance.choice(("--resume", "--restart", ""))

    def act(tool: Tool) -> int:
        refused = 0
        for count in lines:
            while tool.is_at_work() and journal_lines(folder) < count:
                time.sleep(0.01)
            if not tool.is_at_work():
                break
            _signal([tool.process.pid], signal.SIGSTOP)  # else it may end before the other one has begun
            try:
                other = started(subject, *filter(None, [words]), folder=folder).ended(60)
            finally:
                _signal([tool.process.pid], signal.SIGCONT)
            if not tool.is_at_work():
                break
            wrong = other.code != 2 or "Another shrink is at work" not in other.message or other.late
            assert not wrong, f"the other one: {other}"
            refused += 1
        return refused

    what = f"another one with {words or 'the same words'} when the journal has {_say(lines)} lines"
    return Disturbance(what, {}, act)


def lost_device(chance: random.Random, known: Undisturbed, subject: Subject, folder: Path) -> Disturbance:
    """A lane, a cold process or a fork server answers nothing any more, as if in a call of a driver that never ends."""
    moments = _moments(chance, known, 2)
    kind = chance.choice((Tool.lanes, Tool.lanes, Tool.cold, Tool.workers))
    return Disturbance(
        f"one of the {kind.__name__} answers nothing from {_say(moments)} s on",
        {},
        _on(kind, moments, signal.SIGSTOP, chance),
        told=("answer", "still running"),
    )


def lost_for_good(chance: random.Random, known: Undisturbed, subject: Subject, folder: Path) -> Disturbance:
    """Nothing that could run a candidate answers any more: neither what is there nor what is started from then on."""
    lines = chance.randint(5, 60)

    def act(tool: Tool) -> int:
        stopped: set[int] = set()
        while tool.is_at_work() and tool.seconds() < LONGEST:
            if stopped or journal_lines(folder) >= lines:
                found = [pid for pid in tool.runs() if pid not in stopped]
                _signal(found, signal.SIGSTOP)
                stopped.update(found)
            time.sleep(0.02)
        return len(stopped)

    return Disturbance(f"nothing answers when the journal has {lines} lines", {}, act, told=("answer",))


def shared_gpu(chance: random.Random, known: Undisturbed, subject: Subject, folder: Path) -> Disturbance:
    """Somebody turns CUDA MPS on, as far as it is seen from outside: by the file that its clients look for."""
    lines, control = chance.randint(1, 40), folder.with_name(f"{folder.name}.mps") / "control"

    def act(tool: Tool) -> int:
        while tool.is_at_work() and journal_lines(folder) < lines:
            time.sleep(0.01)
        if not tool.is_at_work():
            return 0
        control.parent.mkdir()
        control.touch()
        while tool.is_at_work() and tool.seconds() < LONGEST:
            time.sleep(0.01)
        shutil.rmtree(control.parent)  # before it is resumed
        return 1

    return Disturbance(
        f"MPS is turned on when the journal has {lines} lines",
        {},
        act,
        told=("CUDA MPS was turned on meanwhile",),
        environment={"CUDA_MPS_PIPE_DIRECTORY": str(control.parent)},
        # A context for a lane there may be none. What needs no GPU is to end as without MPS.
        words=() if "--arch" in subject.words else ("--mode", "cold"),
        program=("-c", SEES_A_GPU),
    )


KINDS: dict[str, Draw] = {
    "no_room_once": no_room_once,
    "full_disk": full_disk,
    "interrupted_calls": interrupted_calls,
    "suspended": suspended,
    "slow_disk": slow_disk,
    "killed_lanes": killed_lanes,
    "killed_servers": killed_servers,
    "stopped_servers": stopped_servers,
    "clock_jumps": clock_jumps,
    "two_at_once": two_at_once,
    "lost_device": lost_device,
    "lost_for_good": lost_for_good,
    "shared_gpu": shared_gpu,
}


@dataclass(frozen=True)
class Outcome:
    """What came of one schedule. `problem` is empty where it ended as without it, or said what happened."""

    kind: str
    seed: int
    what: str
    injected: int
    code: int
    message: str
    seconds: float
    problem: str


def undisturbed(subject: Subject, folder: Path) -> Undisturbed:
    """The subject reduced, with its operations counted."""
    subject.write(folder)
    state = _state(folder)
    ended = started(subject, folder=folder, more=_more(state, folder, no_room(EVER, 1).inject)).ended(900)
    assert ended.code == 0 and not ended.late and not ended.left, ended
    left = tuple(name for name in LEFT if (folder / "failing.shrink" / name).exists())
    return Undisturbed(result(folder), ended.seconds, _counts(state)[0], left)


def outcome(kind: str, seed: int, subject: Subject, known: Undisturbed, folder: Path) -> Outcome:
    """Reduce the subject in a folder below this one under the schedule of that kind and seed. Where the reduction is
    over before anything befalls it, since the machine has less to do than when it was measured: sooner, once more."""
    for part in (1.0, 0.5, 0.25, 0.1):
        shorter = replace(known, seconds=part * known.seconds, operations=int(part * known.operations))
        (below := folder / str(part)).mkdir()
        drawn = KINDS[kind](random.Random(f"{kind} {seed}"), shorter, subject, below)
        came = under(drawn, kind, seed, subject, known, below)
        if came.injected or came.problem:
            break
    return came


def under(drawn: Disturbance, kind: str, seed: int, subject: Subject, known: Undisturbed, folder: Path) -> Outcome:
    subject.write(folder)
    state = _state(folder)
    limit = 10 * known.seconds + (LONGEST if kind.startswith("lost") else 120)
    words = ("--timeout", subject.timeout) if kind.startswith("lost") else ()  # else the original may take 300 s
    more = {**_more(state, folder, drawn.inject), **drawn.environment}
    tool = started(subject, *words, *drawn.words, folder=folder, more=more, program=drawn.program)
    problem, acted = "", 0
    try:
        acted = drawn.act(tool)
    except AssertionError as error:
        problem = str(error)
    ended = tool.ended(limit)
    injected = acted + _counts(state)[1]
    problem = problem or _problem(ended, drawn, known, folder)
    if not problem and ended.code:
        more, words = drawn.environment, (*drawn.words, "--resume")
        again = started(subject, *words, folder=folder, more=more, program=drawn.program).ended(limit)
        problem = _problem(again, None, known, folder)
        problem = problem and f"resumed: {problem}"
    return Outcome(kind, seed, drawn.what, injected, ended.code, ended.message, round(ended.seconds, 1), problem)


def _problem(ended: Ended, drawn: Disturbance | None, known: Undisturbed, folder: Path) -> str:
    """What is wrong with how it ended; empty if nothing is. Without a disturbance it must end well."""
    if ended.late:
        return f"a wait over the limit: {ended.err[-2000:]}"
    if "Traceback (most recent call last)" in ended.err + ended.out:
        return f"a traceback: {ended.err[-3000:]}"
    if "bug of shrink's own" in ended.err:
        return f"told as a bug of ours: {ended.err[-1500:]}"
    if ended.left:
        return f"processes left: {ended.left}"
    if ended.code == 0:
        text = result(folder)
        missing = [name for name in known.left if not (folder / "failing.shrink" / name).exists()]
        if missing and not (drawn and any(word in ended.err for word in drawn.told)):
            return f"nobody says that {missing} is missing: {ended.err[-1500:]}"
        return "" if text == known.text else f"another result: {text[-1500:]!r} {ended.err[-1500:]}"
    if drawn is None or ended.code not in (2, 3, 4):
        return f"exit code {ended.code}: {ended.err[-2000:]}"
    if not ended.message or "\n" in ended.message:
        return f"not one line: {ended.err[-2000:]}"
    if not any(word in ended.message for word in drawn.told):
        return f"it does not say what happened: {ended.message}"
    return ""


def journal_lines(folder: Path) -> int:
    path = folder / "failing.shrink" / "journal.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def result(folder: Path) -> str:
    path = folder / "repro_failing.py"
    return path.read_text() if path.exists() else ""


@cache
def library() -> Path:
    """preload.c, compiled for this machine. Raises FileNotFoundError without a C compiler."""
    import tempfile

    made = Path(tempfile.mkdtemp(prefix="inject-")) / "preload.so"
    command = [shutil.which("gcc") or shutil.which("cc") or "cc", "-O2", "-shared", "-fPIC", "-o", made, SOURCE, "-ldl"]
    subprocess.run(command, check=True)
    return made


def _more(state: Path, folder: Path, inject: Mapping[str, str]) -> dict[str, str]:
    if not inject:
        return {}
    return {"LD_PRELOAD": str(library()), "INJECT_STATE": str(state), "INJECT_BELOW": f"{folder}/", **inject}


def _state(folder: Path) -> Path:
    """The file that all processes share; beside the folder, so that what happens to it does not count."""
    state = folder.with_name(f"{folder.name}.state")
    state.write_bytes(bytes(64))
    return state


def _counts(state: Path) -> tuple[int, int]:
    operations, injected = struct.unpack_from("ll", state.read_bytes())
    return operations, injected


def _moments(chance: random.Random, known: Undisturbed, count: int) -> list[float]:
    return sorted(chance.uniform(0.3, known.seconds) for _ in range(count))


def _say(numbers: list[float] | list[int]) -> str:
    return ", ".join(f"{number:.1f}" if isinstance(number, float) else str(number) for number in numbers)


def _wait(tool: Tool, at: float) -> bool:
    """Until so many seconds after its start; False if it ended before."""
    while tool.is_at_work() and tool.seconds() < at:
        time.sleep(0.01)
    return tool.is_at_work()


def _on(
    kind: Callable[[Tool], list[int]], moments: list[float], number: signal.Signals, chance: random.Random
) -> Callable[[Tool], int]:
    def act(tool: Tool) -> int:
        done = 0
        for at in moments:
            if not _wait(tool, at):
                break
            while tool.is_at_work() and not (found := kind(tool)):
                time.sleep(0.01)
            if tool.is_at_work() and found:
                done += _signal([chance.choice(found)], number)
        return done

    return act


def _signal(pids: list[int], number: signal.Signals) -> int:
    done = 0
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
            done += 1
    return done
