"""The black box: what a process wrote down can be read after its death, however that came."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu.runner.inside.capture.blackbox import NAMED, SUSPECTS, BlackBox, read, recover, suspects
from shrinkray_gpu.runner.inside.capture.schema import BROKEN


def told(kernel: str, *words: str) -> dict[str, Any]:
    """The record of a launch of a kernel with these parameters."""
    source = {"kind": "function", "name": kernel, "text": f"def {kernel}({', '.join(words)}):\n    pass\n"}
    plain = {"kernel": kernel, "trouble": "", "options": [], "allocator": False, "definitions": [source]}
    return {**plain, "grid": [1], "arguments": [given(word, "0") for word in words]}


def given(name: str, text: str) -> dict[str, Any]:
    return {"name": name, "constexpr": False, "kind": "value", "text": text}


def state(grid: int = 1, *values: tuple[int, str], tuning: bool = False) -> dict[str, Any]:
    return {"grid": [grid], "values": values, "tuning": tuning}


def entry(kernel: str, time: int, *marks: str) -> dict[str, Any]:
    known = {name: name in marks for name in ("tuning", "raised", "fault")}
    return {"time": time, "record": {"kernel": kernel}, **known}


def names(entries: list[dict[str, Any]]) -> list[str]:
    return [record["kernel"] for record in suspects(entries)]


def test_each_kind_is_told_once_and_has_the_latest_scalars(tmp_path: Path) -> None:
    box = BlackBox(str(tmp_path))
    for n in range(5):
        box.before("a", lambda: told("a", "x", "n"), state(n, (1, str(n))))
    box.before("b", lambda: told("b"), state())
    box.again("a", state(9, (1, "7")))
    found = recover(str(tmp_path))
    assert found is not None
    last, other = found["launches"]
    assert (last["kernel"], last["grid"], last["arguments"]) == ("a", [9], [given("x", "0"), given("n", "7")])
    assert other["kernel"] == "b" and found["children"] == []
    assert len((tmp_path / f"{os.getpid()}.jsonl").read_text().splitlines()) == 3


def test_more_kinds_than_slots_leave_the_latest(tmp_path: Path) -> None:
    box = BlackBox(str(tmp_path))
    for n in range(700):
        box.before(n, lambda n=n: told(f"k{n}"), state())  # type: ignore[misc]
    found = recover(str(tmp_path))
    assert found is not None
    assert [launch["kernel"] for launch in found["launches"]] == [f"k{n}" for n in range(699, 699 - NAMED, -1)]


def test_a_line_cut_off_and_a_state_too_long_for_its_slot_do_no_harm(tmp_path: Path) -> None:
    box = BlackBox(str(tmp_path))
    box.before("a", lambda: told("a", "x"), state(3, (0, "1" * 5000)))
    with open(tmp_path / f"{os.getpid()}.jsonl", "a") as f:
        f.write('{"kind": 1, "rec')
    found = recover(str(tmp_path))
    assert found is not None and found["launches"][0]["grid"] == [1]  # as at first


def test_a_fork_has_a_box_of_its_own(tmp_path: Path) -> None:
    box = BlackBox(str(tmp_path))
    box.before("a", lambda: told("a"), state())
    box.event("launch", {"kernel": "a"})  # its worker tells these
    pid = os.fork()
    if pid == 0:
        box.before("a", lambda: told("a", "child"), state(4))
        box.event("launch", {"kernel": "a", "grid": [4]})
        os._exit(0)
    os.waitpid(pid, 0)
    own, child = read(str(tmp_path))
    assert (own["process"], own["first"], own["launches"]) == (os.getpid(), True, [])
    assert (child["process"], child["command"], child["launches"]) == (
        pid,
        ["fork", "of", str(os.getpid())],
        [{"kernel": "a", "grid": [4]}],
    )
    assert child["entries"][0]["record"]["process"] == pid and "process" not in own["entries"][0]["record"]


def test_what_a_killed_process_wrote_is_there(tmp_path: Path) -> None:
    program = f"""
import os, signal, sys
sys.path.insert(0, {os.getcwd()!r})
from shrinkray_gpu.runner.inside.capture.blackbox import BlackBox
box = BlackBox({str(tmp_path)!r})
for n in range(1000):
    box.before("a", lambda: {told("a", "x")!r}, {{"values": [(0, str(n))]}})
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", program]).returncode == -9
    found = recover(str(tmp_path))
    assert found is not None and found["launches"][0]["arguments"] == [given("x", "999")]


def test_a_folder_that_is_gone_stops_nobody(tmp_path: Path) -> None:
    box = BlackBox(str(tmp_path / "box"))
    for file in (tmp_path / "box").iterdir():
        file.unlink()
    (tmp_path / "box").rmdir()
    box.before("a", lambda: told("a"), state())
    assert recover(str(tmp_path / "box")) is None


def test_order_of_suspects() -> None:
    real = [entry("first", 1), entry("second", 2)]
    trials = [entry("trial", 3, "tuning"), entry("another", 4, "tuning")]
    assert names(real) == ["second", "first"]
    # The autotuner did not live to choose: its last trial is it. It did: the real launches come first.
    assert names([*real, *trials]) == ["another", "trial", "second", "first"]
    assert names([*trials, entry("chosen", 5)]) == ["chosen", "another", "trial"]
    assert names([*trials, *real, entry("chosen", 5)]) == ["chosen", "second", "first", "another", "trial"]
    # One that raised is known, but not if others came after it.
    assert names([*real, entry("bad", 9, "raised", "tuning")]) == ["bad"]
    assert names([entry("survived", 1, "raised"), entry("later", 2)]) == ["later", "survived"]
    # Nor is it forgotten, however many came after it.
    many = [entry("survived", 1, "raised", "tuning"), *(entry("later", 2 + at) for at in range(2 * SUSPECTS))]
    assert names(many) == ["later"] * (SUSPECTS - 1) + ["survived"]
    # Of several that fault the host learns of the first.
    assert names([entry("one", 1, "fault"), entry("two", 2, "fault"), entry("three", 3, "raised")]) == ["one"]


def test_after_the_suspects_come_kernels_that_an_instrument_might_name() -> None:
    many = [entry("early", 0), *(entry("late", time) for time in range(1, 2 * SUSPECTS))]
    assert names(many) == ["late"] * SUSPECTS + ["early"]


def test_the_record_is_plain_json(tmp_path: Path) -> None:
    box = BlackBox(str(tmp_path))
    box.before("a", lambda: told("a"), state())
    assert json.loads(json.dumps(recover(str(tmp_path))))["launches"][0]["kernel"] == "a"


LINES = [
    "5",
    "[]",
    "null",
    '{"kind": 0}',
    '{"kind": "0", "record": {}}',
    '{"kind": 0, "record": null}',
    '{"command": "python", "first": 3}',
    '{"launch": 1, "compile": []}',
]
"""Lines of JSON that no process of ours writes."""
STATES = ['{"grid": "4"}', '{"values": [[9, "1"]]}', '{"values": [["0", 1]]}', '{"values": 1}', "3", '{"over": 1}']


@pytest.mark.parametrize("line", LINES)
def test_a_line_that_is_none_of_ours_is_left_out(tmp_path: Path, line: str) -> None:
    box = BlackBox(str(tmp_path))
    with open(tmp_path / f"{os.getpid()}.jsonl", "a") as f:
        f.write(line + "\n")
    box.before("a", lambda: told("a", "x"), state(4))
    found = recover(str(tmp_path))
    assert found is not None and [(each["kernel"], each["grid"]) for each in found["launches"]] == [("a", [4])]


@pytest.mark.parametrize("text", STATES)
def test_of_a_state_that_is_none_of_ours_the_kind_is_told_as_it_was_at_first(tmp_path: Path, text: str) -> None:
    box = BlackBox(str(tmp_path))
    box.before("a", lambda: told("a", "x"), json.loads(text))
    found = recover(str(tmp_path))
    assert found is not None
    [launch] = found["launches"]
    assert (launch["grid"], launch["arguments"]) == ([1], [given("x", "0")])


@pytest.mark.parametrize("part", ["trouble", "grid", "arguments", "options", "allocator", "definitions"])
def test_a_record_without_one_of_its_parts_cannot_be_lifted(tmp_path: Path, part: str) -> None:
    box = BlackBox(str(tmp_path))
    box.before("a", lambda: {name: value for name, value in told("a").items() if name != part}, state())
    found = recover(str(tmp_path))
    assert found is not None
    [launch] = found["launches"]
    assert (launch["kernel"], launch["trouble"]) == ("a", f"{BROKEN}launch.{part} is missing")
