"""The form of a lane's report: what is missing or of another type is told, and says nothing of the candidate."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu.runner.reports import Report, report_problem
from shrinkray_gpu.runner.run import Run
from tests.runner.test_lanes import make

FAILURE = {"type": "RuntimeError", "text": "no", "bases": ["Exception"], "line": None, "traceback": ""}
KERNEL = {"kernel": "k", "hash": "0", "ttir_key": "1", "casts": [], "options": {}, "printed": "", "ir": {}, "file": ""}
KERNEL |= {"generated": False, "call": {}, "shared": 0}
ODD_IR = {**KERNEL, "failure": None, "ir": {"ttir": 7}}
REPORT: dict[str, Any] = {
    **{"exit": 1, "failure": FAILURE, "driver_error": 716, "virtual": False, "values": {"1": "2"}, "captured": None},
    "compiles": [{**KERNEL, "failure": None}, {**KERNEL, "failure": FAILURE}],
    "launches": [
        {
            **{"kernel": "k", "hash": "0", "grid": (1, 2), "args": ("i32 7",), "synced": True},
            **{"failure": "", "fault": "", "undecided": "", "causes": [], "unfollowed": "", "accesses": 0, "host": ""},
            **{"silent": [], "unordered": ""},
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


CALL = {"signature": ["*fp32"], "scratch": 0, "warps": 4, "cluster": [1, 1, 1]}
HOST_CALL = {"kernel": "k(int)", "grid": [1], "block": [32], "shared": 0, "args": [{"type": "int", "bytes": "00"}]}
NOWHERE = {"type": "int*", "tensor": 0, "size": 0, "offset": 0, "content": "", "whole": True}
SEEN = {"dtype": "int8", "shape": [1], "strides": [1], "offset": 0, "storage": 1, "bytes": 1, "residue": 0}
PLACE = {**NOWHERE, "tensor": 4096, "seen": {**SEEN, "device": "cuda"}, "into": 0}
STRUCT = {"type": "Sizes", "bytes": "", "raw": "00" * 8, "pointers": {"0": PLACE}}
ARGUMENTS = [[], [NOWHERE], [PLACE, STRUCT]]
ODD = [[7], [{**NOWHERE, "tensor": 1}], [{**PLACE, "seen": {}}], [{**STRUCT, "pointers": {"0": 7}}], [{"type": "int"}]]
DEEP: Any = "x"
for _ in range(200):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("place", "good", "bad"),
    [
        (("turned", "serial"), [0, 1], ["1", None, 1.5, [], 1 << 1100]),
        (("values", "1"), ["x"], [1, None, {}]),
        (("compiles", 0, "ir", "ttir"), ["module"], [1, None, ["module"]]),
        (("compiles", 0, "ir", "cubin"), ["AAAA"], ["A", "~~~~", "\ud800"]),
        (("compiles", 0, "ir", "figures"), ['{"registers": 1}'], ["", "[1]", "{", "9" * 9999]),
        (("compiles", 0, "options", "num_stages"), [3, "3", None, [1, 2]], [{}, [[1]], DEEP, {"a": 1}]),
        (("compiles", 0, "call"), [{}, CALL], [{"warps": 4}, {**CALL, "warps": "4"}, {**CALL, "signature": "i32"}]),
        (("builds", 0, "calls"), [[], [HOST_CALL]], [[{}], [{**HOST_CALL, "grid": 1}]]),
        (
            ("builds", 0, "calls"),
            *[[[{**HOST_CALL, "args": args}] for args in each] for each in (ARGUMENTS, ODD)],
        ),
        (("launches", 0, "more"), [], [1]),
        (("failure", "more"), [], [1]),
        (("records",), [], [7, []]),
        (("peak",), [1 << 64], [1 << 1024, -1.5]),
    ],
)
def test_what_lies_deeper_is_held_against_its_form(place: tuple[Any, ...], good: list[Any], bad: list[Any]) -> None:
    for value in (*good, *bad):
        report = copy.deepcopy(REPORT)
        inner = report
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = value
        assert bool(report_problem(report)) == (value in bad), value
        if value in good:
            Run.from_json({name: each for name, each in report.items() if name != "over"} | {"mode": "fork"})


@pytest.mark.parametrize(
    ("left", "why"),
    [
        ("compiles.append({})", "report.compiles[0].kernel is missing"),
        ("launches.append('k')", "report.launches[0] is 'k', and not an object"),
        (f"compiles.append({ODD_IR})", "report.compiles[0].ir['ttir'] is 7, and not a string"),
    ],
)
def test_a_candidate_that_spoils_its_report_is_unknown_and_ends_its_lane(tmp_path: Path, left: str, why: str) -> None:
    pool = make(tmp_path)
    log = "import sys\nlog = sys.modules['shrinkray_inside.launches.launch_log']._active\n"
    spoilt, after = pool.run(f"{log}log.{left}\n"), pool.run("print(7)\n")
    pool.close()
    assert spoilt.trouble == f"the worker's report is broken: {why}"
    assert (after.trouble, after.stdout) == ("", "7\n")
