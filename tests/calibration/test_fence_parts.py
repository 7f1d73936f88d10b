"""A program whose fault the fence hides is reduced without that part of it, and without no other."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from pathlib import Path

import pytest

from shrinkray_gpu.calibration import Limits, Plan, make
from shrinkray_gpu.oracle import parse
from shrinkray_gpu.runner.inside.process.landlock import SIGNALS, TCP, level
from shrinkray_gpu.runner.inside.process.signal_filter import PART as ABOVE
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Script

REFUSED = """
import socket
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
socket.create_connection(("127.0.0.1", port))
"""
"""A connection that nobody takes: within the fence it ends in another error."""
PARENT = "import os\nos.kill(os.getppid(), 0)\n[][7]\n"
BOTH = f"{PARENT.replace('[][7]', '')}{REFUSED}"
FLAKY = f"{REFUSED.replace('socket.create', 'import random; random.random() < 0.2 or socket.create')}"


def planned(folder: Path, text: str, spec: str, *, mode: str | None = None, confine: bool = True) -> Plan:
    path = folder / "failing.py"
    path.write_text(text)
    (folder / "scratch").mkdir()
    setup = Setup(
        sys.executable, dict(os.environ), (), (str(folder),), str(folder / "scratch"), confine=confine
    )
    script = Script(path, cwd=folder, original=text)
    return make(text, script, setup, oracle=parse(spec, folder=folder), limits=Limits(2, mode=mode))


@pytest.mark.parametrize("mode", [None, "cold"])
@pytest.mark.parametrize(
    ("text", "spec", "parts"),
    [
        (REFUSED, "exception:ConnectionRefusedError", (TCP,)),
        (PARENT, "exception:IndexError", (SIGNALS, ABOVE)),
        (BOTH, "exception:ConnectionRefusedError", (TCP, SIGNALS, ABOVE)),
        ("[][7]\n", "exception:IndexError", ()),
    ],
    ids=["TCP", "signals", "both", "nothing"],
)
def test_what_hides_the_fault_is_left_out(
    tmp_path: Path, mode: str | None, text: str, spec: str, parts: tuple[str, ...]
) -> None:
    levels = {TCP: 4, SIGNALS: 6, ABOVE: 0}
    with closing(planned(tmp_path, text, spec, mode=mode)) as plan:
        assert plan.pool.setup.left_open == tuple(part for part in parts if level() >= levels[part])
        assert (plan.mode.name, plan.rate) == (mode or "fork", None)
        candidate = f"{text}\n# another text than the user's own\n"
        run = plan.pool.run(candidate)
        assert plan.oracle.judge(run).faults and not set(parts) & set(run.fence)
        signals = SIGNALS if level() >= 6 else ABOVE
        assert signals in (*run.fence, *parts) and (level() < 4 or TCP in (*run.fence, *parts))
        assert plan.pool.fence == run.fence


def test_what_may_be_written_is_the_user_s_to_say(tmp_path: Path) -> None:
    text = f"open({str(tmp_path / 'results.html')!r}, 'w')\n[][7]\n"
    with closing(planned(tmp_path, text, "exception:IndexError")) as plan:
        assert plan.pool.setup.left_open == ()
        assert plan.mode.name == ("cold" if level() else "fork")


def test_of_a_flaky_fault_one_run_in_three_tells(tmp_path: Path) -> None:
    with closing(planned(tmp_path, FLAKY, "exception:ConnectionRefusedError")) as plan:
        assert (TCP in plan.pool.setup.left_open) == (level() >= 4)
        assert plan.oracle.judge(plan.pool.run(f"{REFUSED}# another text\n")).faults


def test_without_a_fence_nothing_is_asked(tmp_path: Path) -> None:
    with closing(planned(tmp_path, REFUSED, "exception:ConnectionRefusedError", confine=False)) as plan:
        assert plan.pool.setup.left_open == () and plan.pool.run(REFUSED).fence == ()
