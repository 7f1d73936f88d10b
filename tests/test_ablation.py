"""The ablation: which passes are left out where, how a call goes on, and what the table says of known figures."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


def _module(name: str) -> ModuleType:
    sys.path.insert(0, str(BENCHMARKS))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(BENCHMARKS))


ablation, ablation_table = _module("ablation"), _module("ablation_table")

ON = {"arch": "sm_90", "jobs": 1, "options": [], "torch": "2", "triton": "3", "tool": "a"}
SCHEDULE = ["lift", "tiles", "statements", "fillings", "guards", "names"]

LOG = """\
   12.6 s     91 tokens   14 lines  round 2
   18.9 s     45 tokens    8 lines  pass          tries  free taken tokens seconds finding judging
tiles             5     1     1      0     3.8     0.0     3.8
cuda_conditionals     0     0     0      0     0.0     0.0     0.0
statements       20     4     4     -2     1.1     0.0     1.0
all             190    10    34    392    18.9     0.8    17.9
reduced: failing.py from 106 lines to 8, 1164 tokens to 45
"""

REDUCER = """\
import json, os, sys, time
from pathlib import Path
words = sys.argv[1:]
if "--list-passes" in words:
    print("lift       The launch.\\nstatements The workhorse.\\nnames      For the reader.")
    sys.exit()
out = Path(words[words.index("--output") + 1])
dropped = words[words.index("--skip-pass") + 1] if "--skip-pass" in words else None
with open(os.environ["CALLS"], "a") as calls:
    print(dropped, file=calls)
if dropped == os.environ.get("HANGS"):
    time.sleep(600)
while time.process_time() < 0.2:
    pass
tokens = 30 if dropped == "statements" else 10
folder = out.parent / "failing.shrink"
folder.mkdir()
accepts = [("lift", 50), *([] if dropped == "statements" else [("statements", tokens)])]
lines = [{"event": "accept", "pass": name, "size": [0, size, 0, 0, 100]} for name, size in accepts]
(folder / "journal.jsonl").write_text("".join(json.dumps(line) + "\\n" for line in lines))
result = {"before": [9, 90], "after": [3, tokens], "tries": {"lane": 40, "cold": 1}, "text": "fault()\\n"}
(folder / "result.json").write_text(json.dumps({**result, "seconds": {"start": 1.0, "search": 2.0, "check": 3.0}}))
"""
"""In place of the reducer: each reduction takes 0.2 s, and its figures are known."""


def _row(program: str, dropped: str | None, tokens: int, tries: int, **more: Any) -> dict[str, Any]:
    size = [more.pop("guards", 0), tokens, 0, more.pop("literals", 5), 100]
    row = {"program": program, "dropped": dropped, "seed": 0, "source": "s", "on": ON, "wall": 1.0, "cpu": 9.0}
    return {**row, "tokens": tokens, "tries": tries, "size": size, "steps": {}, "bills": {}, **more}


def _verdicts(*rows: dict[str, Any]) -> dict[str, list[str]]:
    """The cells of the table, by pass."""
    said = ablation_table.table({"passes": SCHEDULE, "rows": list(rows)})
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in said.splitlines() if line[:1] == "|"]
    return {row[0]: row[1:] for row in cells[2:]}


def test_steps_are_read_from_the_journal() -> None:
    course = [("lift", 60), ("tiles", 60), ("inlining: constants", 40), ("a guard", 50), ("tiles", 45)]
    journal = [{"event": "accept", "pass": name, "size": [0, size]} for name, size in course]
    assert ablation.steps([{"event": "judged"}, *journal], 100) == {
        "lift": {"steps": 1, "tokens": 40},
        "tiles": {"steps": 2, "tokens": 5},
        "inlining": {"steps": 1, "tokens": 20},
        "constants": {"steps": 1, "tokens": 0},
        "a guard": {"steps": 1, "tokens": -10},
    }


def test_the_bill_is_read_from_what_the_reducer_says() -> None:
    assert ablation.bills(LOG) == {
        "tiles": {"tries": 5, "free": 1, "taken": 1, "tokens": 0},
        "statements": {"tries": 20, "free": 4, "taken": 4, "tokens": -2},
    }
    assert ablation.bills("out of time") == {}


def test_only_what_took_a_step_is_left_out_in_the_order_of_the_schedule() -> None:
    bills = {name: {"tries": 3, "free": 0, "taken": 0, "tokens": 0} for name in ("fillings", "names")}
    row = _row("one", None, 10, 40, steps={"statements": {}, "layout": {}, "lift": {}}, bills=bills)
    assert ablation_table.drops(row, SCHEDULE) == ["lift", "statements"]


def test_a_pass_helps_by_tokens_by_guards_or_by_tries() -> None:
    cells = _verdicts(
        _row("one", None, 45, 200),
        _row("one", "tiles", 45, 211),  # chance
        _row("one", "statements", 57, 150),
        _row("one", "fillings", 45, 239),
        _row("one", "guards", 40, 190, guards=2),  # smaller only because the masks are gone
        _row("one", "names", 45, 205, literals=6),
        _row("one", "lift", 45, 205, cpu=12.5),
    )
    assert cells["tiles"][-6:] == ["", "", "", "", "", "helps none"]
    assert cells["statements"][-6:] == ["one 45 → 57", "", "", "", "", "helps one"]
    assert cells["fillings"][-6:] == ["", "one 200 → 239", "", "", "", "helps one"]
    assert cells["guards"][-6:] == ["one 45 → 40 (guards)", "", "", "", "", "helps one"]
    assert cells["names"][-6:] == ["", "", "", "one", "", "helps none"]
    assert cells["lift"][-6:] == ["", "", "one 9 → 12.5", "", "", "helps one"]


def test_nothing_is_said_of_a_pass_that_is_not_measured_yet() -> None:
    whole = _row("one", None, 45, 200, steps={"lift": {}, "tiles": {}})
    cells = _verdicts(whole, _row("one", "lift", 45, 200))
    assert (cells["lift"][-1], cells["tiles"][-1]) == ("helps none", "1 not measured yet")
    assert cells["statements"][-1] == "took no step"


def test_a_pass_may_do_harm() -> None:
    cells = _verdicts(
        _row("one", None, 45, 200), _row("one", "tiles", 44, 300), _row("one", "fillings", 45, 150),
        _row("one", "names", 45, 200, cpu=6.0),
    )  # fmt: skip
    assert cells["tiles"][-2:] == ["one 45 → 44", "helps none"]
    assert cells["fillings"][-2:] == ["one 200 → 150", "helps none"]
    assert cells["names"][-2:] == ["one 9 → 6", "helps none"]


def test_programs_are_counted_and_seeds_are_not() -> None:
    seeds = [
        _row("one", None, 45, 200), _row("one", "tiles", 49, 200),
        _row("one", None, 45, 200, seed=1), _row("one", "tiles", 47, 200, seed=1),
    ]  # fmt: skip
    assert _verdicts(*seeds)["tiles"][-6:] == ["one 45 → 48", "", "", "", "", "helps one"]
    two = _verdicts(*seeds, _row("two", None, 60, 100), _row("two", "tiles", 61, 100))["tiles"]
    assert two[:2] == ["2", "105 → 109"]
    assert two[-1] == "helps several"


def test_a_reduction_that_fails_without_a_pass_is_said_and_not_counted() -> None:
    failed = {"program": "one", "dropped": "tiles", "seed": 0, "source": "s", "on": ON, "wall": 1.0, "error": "exit 3"}
    assert _verdicts(_row("one", None, 45, 200), failed)["tiles"][-1] == "no result without it: one"


@pytest.mark.parametrize("name", ["arch", "jobs", "options", "torch", "triton"])
def test_rows_of_other_settings_are_not_compared(name: str) -> None:
    other = _row("one", "tiles", 57, 200, on={**ON, name: "another"})
    assert _verdicts(_row("one", None, 45, 200), other)["tiles"][0] == "0"


def test_what_is_left_to_measure_is_counted() -> None:
    rows = [_row("one", None, 45, 200, steps={"lift": {}, "tiles": {}}), _row("one", "lift", 45, 200)]
    said = ablation_table.table({"passes": SCHEDULE, "rows": rows})
    assert "1 reductions with all passes; 1 without one of them are not measured yet." in said


def test_the_programs_of_each_machine() -> None:
    benchmark = {one.name: one.machines for one in ablation.subjects(ablation.PROGRAMS)}
    assert benchmark["fp8_pack"] == {"virtual GPU"}
    assert benchmark["split_k_stages"] == {"virtual GPU", "GPU"}
    assert benchmark["semaphore_reduce"] == benchmark["histogram_bins"] == benchmark["vector_hint"] == {"GPU"}
    corpus = {one.name: one for one in ablation.subjects(ablation.CORPUS)}
    assert corpus["int32_offset_overflow"].machines == {"GPU"}
    assert corpus["tma_misaligned"].options == ("--oracle", "misaligned address")
    assert corpus["interpreter_gather_bounds"].machines == set()
    assert "TRITON_INTERPRET=1" in corpus["interpreter_gather_bounds"].options


class Place:
    """A folder with one program, and a stand-in for the reducer that notes each call of it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.results, self.calls = folder, folder / "results.json", folder / "calls"
        (folder / "tool" / "shrinkray_gpu").mkdir(parents=True)
        (folder / "tool" / "shrinkray_gpu" / "__init__.py").touch()
        (folder / "tool" / "shrinkray_gpu" / "__main__.py").write_text(REDUCER)
        (folder / "programs" / "stuck").mkdir(parents=True)
        (folder / "programs" / "stuck" / "failing.py").write_text("fault()\n")
        (folder / "programs" / "stuck" / "program.toml").write_text('where = "compile"\noracle = ["fault"]\n')

    def command(self, *words: str) -> list[str]:
        places = ["--programs", str(self.folder / "programs"), "--tool", str(self.folder / "tool")]
        script = str(BENCHMARKS / "ablation.py")
        return [sys.executable, script, "run", "stuck", *places, "--json", str(self.results), *words]

    def run(self, *words: str, hangs: str = "none") -> tuple[int, list[str]]:
        """The exit code, and what was left out in the reductions of this call."""
        self.calls.unlink(missing_ok=True)
        done = subprocess.run(self.command(*words), env=self.environment(hangs), capture_output=True, text=True)
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, self.calls.read_text().split() if self.calls.exists() else []

    def environment(self, hangs: str) -> dict[str, str]:
        return {**ablation.os.environ, "CALLS": str(self.calls), "HANGS": hangs}

    def rows(self) -> dict[str | None, dict[str, Any]]:
        return {row["dropped"]: row for row in json.loads(self.results.read_text())["rows"]}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_all_passes_first_then_each_that_took_a_step_and_nothing_twice(place: Place) -> None:
    assert place.run() == (0, ["None", "lift", "statements"])
    rows = place.rows()
    assert [(rows[name]["tokens"], rows[name]["tries"]) for name in (None, "lift", "statements")] == [
        (10, 41), (10, 41), (30, 41),
    ]  # fmt: skip
    assert rows[None]["cpu"] >= 0.2
    assert place.run() == (0, [])


def test_a_call_goes_on_where_one_was_killed(place: Place) -> None:
    process = subprocess.Popen(place.command(), env=place.environment("statements"), stdout=subprocess.DEVNULL)
    while not place.calls.exists() or "statements" not in place.calls.read_text():
        assert process.poll() is None
        time.sleep(0.05)
    process.terminate()
    assert process.wait() == 130
    assert list(place.rows()) == [None, "lift"]
    assert place.run() == (0, ["statements"])
    assert place.rows()["statements"]["tokens"] == 30


def test_no_reduction_begins_that_the_limit_would_cut(place: Place) -> None:
    assert place.run("--limit", str(ablation.ENDING)) == (ablation.LEFT, [])


@pytest.mark.parametrize(("limit", "error"), [(1000.0, False), (0.05, True)])
def test_what_the_time_cut_is_an_error_only_if_it_had_nearly_a_whole_call(limit: float, error: bool) -> None:
    sleeps = (sys.executable, "-c", "import time; time.sleep(600)")
    subject = next(one for one in ablation.subjects(ablation.PROGRAMS) if one.name == "fp8_pack")
    setting = ablation.Setting(sleeps, Path(), 0, ON)
    allowed = ablation.Allowance(limit, time.monotonic() + 1.0, threading.Event())
    row = ablation.reduced(ablation.Task(subject, None), setting, allowed)
    assert (row is not None) == error
    assert row is None or row["error"].startswith("did not end within")


def test_what_ended_in_an_error_runs_again_only_if_asked(place: Place) -> None:
    (place.folder / "tool" / "shrinkray_gpu" / "__main__.py").write_text(REDUCER.replace("tokens = 30", "1 / 0 #"))
    assert place.run() == (0, ["None"])
    assert "ZeroDivisionError" in place.rows()[None]["error"]
    assert place.run() == (0, [])
    assert place.run("--again") == (0, ["None"])


def test_a_row_is_measured_anew_where_something_has_changed(place: Place) -> None:
    place.run("--passes", "lift")
    assert place.run("--passes", "lift", "--jobs", "3") == (0, ["None", "lift"])
    (place.folder / "tool" / "shrinkray_gpu" / "new.py").touch()
    assert place.run("--passes", "lift", "--jobs", "3", "--any-tool") == (0, [])
    assert place.run("--passes", "lift", "--jobs", "3") == (0, ["None", "lift"])
    (place.folder / "programs" / "stuck" / "failing.py").write_text("other()\n")
    assert place.run("--passes", "lift", "--jobs", "3") == (0, ["None", "lift"])
    assert list(place.rows()) == [None, "lift"]


def test_a_seed_has_rows_of_its_own(place: Place) -> None:
    place.run("--passes", "lift")
    assert place.run("--passes", "lift", "--seed", "1") == (0, ["None", "lift"])
    assert [row["seed"] for row in json.loads(place.results.read_text())["rows"]] == [0, 0, 1, 1]


def test_rows_of_another_machine_are_taken_over(tmp_path: Path) -> None:
    mine, other = tmp_path / "mine.json", tmp_path / "other.json"
    mine.write_text(json.dumps({"passes": SCHEDULE, "rows": [_row("one", None, 45, 200)]}))
    other.write_text(json.dumps({"passes": [], "rows": [_row("two", None, 9, 20), _row("one", None, 44, 200)]}))
    command = [sys.executable, str(BENCHMARKS / "ablation.py"), "take", str(other), "--json", str(mine)]
    assert subprocess.run(command, stdout=subprocess.DEVNULL).returncode == 0
    taken = json.loads(mine.read_text())
    assert taken["passes"] == SCHEDULE
    assert [(row["program"], row["tokens"]) for row in taken["rows"]] == [("two", 9), ("one", 44)]
