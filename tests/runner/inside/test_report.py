"""The form of a lane's report: what is missing or of another type is told, and says nothing of the candidate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu.runner.run import Report, report_problem
from tests.runner.test_lanes import make

FAILURE = {"type": "RuntimeError", "text": "no", "bases": ["Exception"], "line": None, "traceback": ""}
KERNEL = {"kernel": "k", "hash": "0", "ttir_key": "1", "casts": [], "options": {}, "printed": "", "ir": {}, "file": ""}
KERNEL |= {"generated": False, "call": {}, "shared": 0}
REPORT: dict[str, Any] = {
    **{"exit": 1, "failure": FAILURE, "driver_error": 716, "virtual": False, "values": {"1": "2"}, "captured": None},
    "compiles": [{**KERNEL, "failure": None}, {**KERNEL, "failure": FAILURE}],
    "launches": [
        {
            **{"kernel": "k", "hash": "0", "grid": (1, 2), "args": ("i32 7",), "synced": True},
            **{"failure": "", "fault": "", "undecided": "", "causes": [], "unfollowed": "", "accesses": 0, "host": ""},
            **{"guessed": False, "interpreted": False, "evaluating": 0.0, "generated": True},
        }
    ],
    "builds": [{"name": "extension", "printed": "", "failed": False, "launched": None, "calls": [], "flags": []}],
    **{
        "turned": {"serial": 1},
        "differences": [],
        "incomparable": "",
        "comparison": None,
        "unwritten": "",
        "peak": 0,
        "gpus": 1,
        "fresh": True,
        "over": "",
    },
    **{"writes": ["/x"], "trouble": ""},
}
PLACES = [(REPORT, name) for name in REPORT if name != "captured"]
PLACES += [(REPORT[part][0], name) for part in ("compiles", "launches", "builds") for name in REPORT[part][0]]


def test_a_report_has_the_keys_of_its_form_and_is_well() -> None:
    assert report_problem(REPORT) == "" and set(REPORT) == set(Report.__annotations__)


def test_a_key_that_is_missing_and_a_value_of_another_type_are_told() -> None:
    for holder, name in PLACES:
        before = holder.pop(name)
        assert report_problem(REPORT).endswith(f".{name} is missing"), name
        holder[name] = 7 if isinstance(before, str) else "text"
        assert f".{name} is " in report_problem(REPORT) and ", and not " in report_problem(REPORT), name
        holder[name] = before
    assert report_problem(REPORT) == ""


@pytest.mark.parametrize(
    ("left", "why"),
    [
        ("compiles.append({})", "report.compiles[0].kernel is missing"),
        ("launches.append('k')", "report.launches[0] is 'k', and not an object"),
    ],
)
def test_a_candidate_that_spoils_its_report_is_unknown_and_ends_its_lane(tmp_path: Path, left: str, why: str) -> None:
    pool = make(tmp_path)
    log = "import sys\nlog = sys.modules['shrinkray_inside.launches.launch_log']._active\n"
    spoilt, after = pool.run(f"{log}log.{left}\n"), pool.run("print(7)\n")
    pool.close()
    assert spoilt.trouble == f"the worker's report is broken: {why}"
    assert (after.trouble, after.stdout) == ("", "7\n")
