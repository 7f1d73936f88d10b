"""`shrink mcp`, asked by the official client over stdio. Skipped where the package `mcp` is missing."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

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


@pytest.mark.skipif(INSTALLED, reason="mcp is installed")
def test_without_the_package_it_ends_with_a_line(tmp_path: Path) -> None:
    done = subprocess.run([*SHRINK, "mcp"], cwd=tmp_path, env=environment(), capture_output=True, text=True, input="")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == "shrink: shrink mcp needs the package mcp, 2.0 or later: pip install 'shrinkray-gpu[mcp]'\n"


@pytest.mark.slow
@pytest.mark.skipif(not INSTALLED, reason="needs the package mcp: pip install 'shrinkray-gpu[mcp]'")
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
        begun = await call("reduce", program=program, arch="sm_90", max_time=20, options=["--no-report", "--no-second"])
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
