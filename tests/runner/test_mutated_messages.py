"""What a candidate's process may send in place of a report: a run that tells nothing, or one that can be judged; never
an exception, and no wait over the limit."""

from __future__ import annotations

import copy
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from shrinkray_gpu import lift
from shrinkray_gpu.oracle import Fault, parse
from shrinkray_gpu.oracle.adopt import adopt
from shrinkray_gpu.runner.inside.capture import blackbox
from shrinkray_gpu.runner.inside.process import wire
from shrinkray_gpu.runner.lanes import Lane, Worker
from shrinkray_gpu.runner.output_pipes import OutputPipes
from shrinkray_gpu.runner.private_setup import private_setup
from shrinkray_gpu.runner.request import Request, RunSettings
from shrinkray_gpu.runner.run import Run
from tests.damage import damaged
from tests.e2e.programs import NARROW_TILES

ORACLES = [parse(spec, folder=Path()) for spec in ("misaligned address", "exception:IndexError", "timeout", "exit:1")]
STRANGE_TEXTS = ("", "5", "\udc80", "é" * 300)
NUMBERS = (-1, 0, 1 << 70, 1 << 2000, 1e300, 0.5)
ODD = (None, True, *NUMBERS, *STRANGE_TEXTS, [], [1, "a"], [[[1]]], {}, {"": None}, {"a": 1})
FIELDS = tuple(each.name for each in fields(Run))
SETTINGS = RunSettings(wants=("ttir", "figures"), capture="launch", values=True)
HANGING = {"hanging": "device", "launches": [], "compiles": [], "line": 3, "number": 1}
WHOLE = 0.05
LIMIT = 0.2
Place = tuple[Any, ...]


def body(text: bytes) -> bytes:
    return wire.LENGTH.pack(len(text)) + text


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What lanes really say: of a launch that faults, of a Python error."""
    folder = tmp_path_factory.mktemp("lanes")
    own = {"python": sys.executable, "imports": ("torch", "triton"), "own": (), "arch": 90}
    setup = private_setup(folder, os.environ, **own)
    found: list[dict[str, Any]] = []
    with closing(Worker(setup)) as worker:
        for source in (NARROW_TILES, "print([1][3])\n"):
            lane = worker.spawn()
            assert lane.wait_ready(60)
            request = {**Request(source, str(folder / "failing.py"), cwd=str(folder)).message(), **SETTINGS.message()}
            request |= {"temporary": setup.scratch, "number": 1}
            with OutputPipes() as streams:
                wire.send(lane.link, request, streams.writers)
                found.append(wire.receive(lane.link, 60)[0])
    assert found[0]["launches"] and found[0]["captured"] and found[1]["failure"]["type"] == "IndexError"
    return [*found, HANGING]


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wire, "WHOLE", WHOLE)
        yield str(tmp_path_factory.mktemp("scratch"))


def answered(sent: bytes, status: int | None, scratch: str, *, closes: bool = True) -> Run:
    """The run of a candidate whose process sends these bytes, and ends or goes on."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(sent)
        if closes:
            theirs.shutdown(socket.SHUT_WR)
        began = time.monotonic()
        run, _ = Lane(ours, lambda seconds: status, scratch, lambda: ()).run(
            Request("pass", "/failing.py"), SETTINGS, mode="fork", seconds=LIMIT
        )
        assert time.monotonic() - began < 60, "nobody waits for ever"
    return run


def check(run: Run) -> None:
    """All that is asked of a run."""
    for oracle in ORACLES:
        assert oracle.judge(run).is_known or run.exit is None or run.trouble or run.failure, run
    Fault.of(run)
    adopt(run)
    json.dumps(run.to_json())
    lift.candidates(run)
    lift.obstacles(run)


def place_in(data: st.DataObject, value: Any) -> Place:
    """One that is as likely to be near the root as far from it."""
    at: Place = ()
    while isinstance(value, (dict, list)) and value and (not at or data.draw(st.booleans())):
        key = data.draw(st.sampled_from(list(value) if isinstance(value, dict) else range(len(value))))
        at, value = (*at, key), value[key]
    return at


def at(message: Any, place: Place) -> Any:
    for key in place:
        message = message[key]
    return message


def put(message: Any, place: Place, value: Any) -> Any:
    changed = copy.deepcopy(message)
    at(changed, place[:-1])[place[-1]] = value
    return changed


STATUSES = st.sampled_from([0, 1, -9, -11, -wire.LOST, None])


@settings(max_examples=1000, deadline=None, derandomize=True, database=None)
@given(st.data())
def test_no_damage_to_a_message_is_thrown(reports: list[dict[str, Any]], scratch: str, data: st.DataObject) -> None:
    whole = body(json.dumps(data.draw(st.sampled_from(reports))).encode())
    closes = data.draw(st.integers(0, 9)) > 0  # each other one is waited for
    check(answered(data.draw(damaged(whole)), data.draw(STATUSES), scratch, closes=closes))


@settings(max_examples=1000, deadline=None, derandomize=True, database=None)
@given(st.data())
def test_no_odd_value_in_a_message_is_thrown(reports: list[dict[str, Any]], scratch: str, data: st.DataObject) -> None:
    message = data.draw(st.sampled_from(reports))
    for _ in range(data.draw(st.integers(1, 2))):
        place = place_in(data, message)
        inner = at(message, place[:-1])
        if isinstance(inner, dict) and data.draw(st.integers(0, 5)) == 0:
            place = (*place[:-1], data.draw(st.sampled_from(("more", *FIELDS))))
        message = put(message, place, data.draw(st.sampled_from(ODD)))
    check(answered(body(json.dumps(message).encode()), data.draw(STATUSES), scratch))


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(st.data())
def test_no_odd_value_in_what_a_lane_says_first_is_thrown(scratch: str, data: st.DataObject) -> None:
    device = {"name": "H100", "arch": 90, "free": 1 << 36}
    hello = {"hello": 1 << 22, "fence": ["writes", "TCP"], "device": device, "number": 0}
    message = put(hello, place_in(data, hello), data.draw(st.sampled_from(ODD)))
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(data.draw(st.one_of(st.just(whole := body(json.dumps(message).encode())), damaged(whole))))
        theirs.close()
        lane = Lane(ours, lambda seconds: None, scratch, lambda: ())
        assert lane.wait_ready(LIMIT) == bool(lane.pid) != bool(lane.trouble)
        assert not lane.pid or lane.pid > 1 and isinstance(lane.device.get("free", 0), int)


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What a process leaves that dies at its second launch."""
    folder = tmp_path_factory.mktemp("box")
    program = f"""
import os, sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from shrinkray_gpu.runner.inside.capture.blackbox import BlackBox
from tests.runner.inside.test_capture_blackbox import state, told
box = BlackBox({str(folder)!r})
for name in ("a", "b"):
    box.before(name, lambda: told(name, "x"), state(3, (0, "64")))
if not os.fork():
    box.before("a", lambda: told("a", "child"), state(4))
    box.event("launch", {{"kernel": "a", "grid": [4]}})
    os._exit(0)
os.wait()
os._exit(7)
"""
    assert subprocess.run([sys.executable, "-c", program]).returncode == 7
    return {path.name: path.read_bytes().rstrip(b"\0") for path in folder.iterdir()}


NAMES = ("", "x.jsonl", "12.jsonl", "x.latest", "trouble.", "trouble.x", "-1.jsonl", "é.jsonl", "5" * 30 + ".jsonl")


@settings(max_examples=300, phases=[Phase.generate], deadline=None, derandomize=True, database=None)
@given(st.data())
def test_no_damage_to_a_black_box_is_thrown(box: dict[str, bytes], scratch: str, data: st.DataObject) -> None:
    folder = Path(scratch, "box")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, content in box.items():
        name = data.draw(st.sampled_from([name, name, name, *NAMES]))
        if name:
            (folder / name).write_bytes(data.draw(st.one_of(damaged(content), st.just(content))))
    recovered = blackbox.recover(str(folder))
    if recovered is not None:
        check(Run("fork", None, 9, captured=recovered))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b'{"a": [' + b"[]," * (wire.MOST + 1) + b"[]]}", "too many values"),
        (b'{"a": ' + b"[" * wire.DEEPEST + b"]" * wire.DEEPEST + b"}", "nested too deep"),
        (b'{"a": ' * wire.DEEPEST + b"1" + b"}" * wire.DEEPEST, ""),
    ],
)
def test_a_message_takes_no_more_of_the_tool_than_it_should(text: bytes, why: str) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, ThreadPoolExecutor(1) as threads:
        sends = threads.submit(theirs.sendall, body(text))
        try:
            wire.receive(ours, 10)
            assert not why
        except wire.BrokenMessage as error:
            assert why and why in str(error)
        sends.result()
