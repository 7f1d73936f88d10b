"""`shrink mcp`, asked by the official client over stdio. Most are skipped where the package `mcp` is missing."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu.cli.background import Background, Running
from tests.e2e.command import SHRINK, environment

INSTALLED = importlib.util.find_spec("mcp") is not None
PYTHON = os.environ.get("SHRINK_TEST_PYTHON", sys.executable)
"""The interpreter with torch and Triton, where that of the tests has `mcp` and not these."""
BROKEN = """\
import torch
import triton
import triton.language as tl


@triton.jit
def broken(x, N: tl.constexpr):
    tl.store(x + tl.arange(0, N), 1.0)


unused = [n for n in range(10)]
broken[(1,)](torch.zeros(4, device="cuda"), N=3)
"""


SLEEPS = "import time\nprint('asleep', flush=True)\ntime.sleep(300)\n"
COUNTS = """\
import signal, sys, time
seen = []
signal.signal(signal.SIGINT, lambda *_: seen.append(1))
print("begun", flush=True)
while not seen:
    time.sleep(0.05)
time.sleep(1)
print(len(seen), flush=True)
"""


def until(holds: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.1)


def running(text: str) -> Running:
    out, said = tempfile.NamedTemporaryFile(), tempfile.NamedTemporaryFile()
    return Running(subprocess.Popen([sys.executable, "-c", text], stdout=out, stderr=said), out, said)


def test_a_stop_before_the_search_is_no_repro(tmp_path: Path) -> None:
    (tmp_path / "sleeps.py").write_text(SLEEPS)
    background = Background()
    name = background.start(["--json", "--arch", "sm_90", "--jobs", "1", "sleeps.py"], tmp_path)
    found = background.commands[name]
    until(lambda: '"phase"' in found.read(found.out))
    found.stop()
    until(lambda: found.status()["state"] != "running")
    assert found.status()["exit_code"] == 130
    result = found.result()
    assert result["state"] == "failed" and "interrupted" in result["error"] and "text" not in result, result
    background.close()


def test_it_is_told_to_stop_once_and_its_time_ends_with_it() -> None:
    found = running(COUNTS)
    until(lambda: "begun" in found.read(found.out))
    found.stop()
    found.stop()
    time.sleep(0.3)
    found.stop()
    found.process.wait()
    assert found.read(found.out) == "begun\n1\n"
    time.sleep(1.5)
    assert found.seconds < time.monotonic() - found.began - 1
    found.close()


def test_what_it_says_comes_from_its_events() -> None:
    progress = {"round": 2, "lines": 9, "tokens": 70, "by": "names", "tries": {}}
    events = [{"event": "message", "text": "one"}, {"event": "progress", **progress}, {"event": "message", "text": "2"}]
    found = running(f"for line in {[json.dumps(each) for each in events]}: print(line)\nprint('{{\"cut')")
    found.process.wait()
    assert found.status()["said"] == ["one", "2", "round 2: 9 lines, 70 tokens (names)"]
    found.close()


def test_a_result_needs_to_be_one() -> None:
    """Of any kind: an error has a `text` as well."""
    for event, state in (("result", "done"), ("error", "failed")):
        found = running(f"print('{json.dumps({'event': event, 'text': 'x'})}')")
        found.process.wait()
        assert (found.status()["state"], found.result()["state"]) == (state, state)
        found.close()


def test_what_it_started_ends_with_a_server_that_is_killed(tmp_path: Path) -> None:
    (tmp_path / "sleeps.py").write_text(SLEEPS)
    text = (
        "import pathlib, time\nfrom shrinkray_gpu.cli.background import Background\nb = Background()\n"
        "name = b.start(['--json', '--arch', 'sm_90', '--jobs', '1', 'sleeps.py'], pathlib.Path('.'))\n"
        "found = b.commands[name]\n"
        "while '\"phase\"' not in found.read(found.out):\n    time.sleep(0.1)\n"
        "print(found.process.pid, flush=True)\ntime.sleep(300)\n"
    )
    path = os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])])
    server = subprocess.Popen(
        [sys.executable, "-c", text],
        cwd=tmp_path,
        env={**environment(), "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    pid = int(server.stdout.readline())
    server.terminate()
    server.wait()
    until(lambda: not Path(f"/proc/{pid}").exists() or ") Z " in Path(f"/proc/{pid}/stat").read_text(), 60)
    server.stdout.close()


def test_without_the_package_it_ends_with_a_line(tmp_path: Path) -> None:
    (tmp_path / "mcp.py").write_text("raise ModuleNotFoundError(name='mcp')\n")
    hidden = {**environment(), "PYTHONPATH": os.pathsep.join([str(tmp_path), environment().get("PYTHONPATH", "")])}
    done = subprocess.run([*SHRINK, "mcp"], cwd=tmp_path, env=hidden, capture_output=True, text=True, input="")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == "shrink: shrink mcp needs the package mcp, 2.0 or later: pip install 'mcp>=2.0'\n"


@pytest.mark.slow
@pytest.mark.skipif(not INSTALLED, reason="needs the package mcp: pip install 'mcp>=2.0'")
def test_an_agent_checks_explains_and_reduces(tmp_path: Path) -> None:
    (tmp_path / "failing.py").write_text(BROKEN)
    asyncio.run(_talk(tmp_path))


async def _talk(folder: Path) -> None:
    from mcp import StdioServerParameters
    from mcp.client.client import Client
    from mcp.client.stdio import stdio_client

    server = StdioServerParameters(command=SHRINK[0], args=[*SHRINK[1:], "mcp"], env=environment(), cwd=folder)
    async with Client(stdio_client(server)) as client:

        async def call(tool: str, **given: Any) -> dict[str, Any]:
            told = await client.call_tool(tool, given)
            assert not told.is_error, told
            found: dict[str, Any] = json.loads(told.content[0].text)
            return found

        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(listed) == {"reduce", "status", "result", "stop", "check", "explain"}
        assert listed["reduce"].description and "max_time" in listed["reduce"].input_schema["properties"]
        program = f"--python {PYTHON} --jobs 1 failing.py"
        checked = await call("check", program=program.replace("--jobs 1", ""), arch="sm_90")
        assert checked["shows"], checked
        absent = await call("check", program=program, arch="sm_90", oracle="misaligned address")
        assert (absent["shows"], absent["exit_code"]) == (False, 3) and "does not show" in absent["told"], absent
        wrong = await call("check", program="none.py", arch="sm_90")
        assert wrong["exit_code"] == 2 and "none.py" in wrong["told"], wrong
        begun = await call("reduce", program=program, arch="sm_90", max_time=20, options=["--no-report"])
        assert begun == {"id": "r1", "state": "running"}
        assert (await call("result", id="r1"))["state"] == "running"
        explained = await call("explain", program=program.replace("--jobs 1", ""), arch="sm_90")
        assert "CompilationError" in json.dumps(explained), explained
        while (status := await call("status", id="r1"))["state"] == "running":
            await asyncio.sleep(1)
        result = await call("result", id="r1")
        assert status["state"] == result["state"] == "done", result
        assert "unused" not in result["text"] and "tl.arange(0, " in result["text"]
        assert Path(result["output"]).read_text().endswith(result["text"])
        assert (await call("stop", id="r1"))["state"] == "done"
        assert "there is no reduction r7: r1" in (await call("status", id="r7"))["error"]
        nowhere = await call("reduce", program=program, folder=str(folder / "none"))
        assert nowhere["state"] == "failed" and "there is no folder" in nowhere["error"]
        left = await call("reduce", program=program, arch="sm_90", options=["--restart"])
        assert left["id"] == "r2"  # at work when its client goes away
