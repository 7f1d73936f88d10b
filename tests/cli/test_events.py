"""`--json`: events, one JSON object a line, as docs/events.md lists them; errors too."""

from __future__ import annotations

import json
import signal
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu import events
from shrinkray_gpu.events import SCHEMA, Event, Finished, printed_result
from tests.e2e.command import refused, shrink, shrinking
from tests.events import PAGE, with_table

KNOWN = {each.name: {field.name for field in fields(each)} for each in Event.__subclasses__()}
FAULTS = "import json\nrows = [1, 2, 3]\nprint(rows[7])\n"
INDEX = ("--oracle", "exception:IndexError", "--jobs", "1")


def told(printed: str) -> list[dict[str, Any]]:
    """The events of a stream, each as the page has it."""
    lines = [json.loads(line) for line in printed.splitlines()]
    for line in lines:
        assert list(line)[:3] == ["schema", "event", "at"] and line["schema"] == SCHEMA
        assert line["event"] == Finished.name or line.keys() - {"schema", "event", "at"} == KNOWN[line["event"]], line
    assert [line["at"] for line in lines] == sorted(line["at"] for line in lines)
    return lines


def test_the_page_lists_every_event() -> None:
    assert PAGE.read_text() == with_table(PAGE.read_text()), "run python -m tests.events"
    assert all(f"| `{name}` |" in PAGE.read_text() for name in KNOWN)


def test_a_whole_reduction(tmp_path: Path) -> None:
    (tmp_path / "failing.py").write_text(FAULTS)
    said = shrink("failing.py", *INDEX, "--json", cwd=tmp_path)
    lines = told(said.out)
    assert (said.code, said.err) == (0, "")
    names = [line["event"] for line in lines]
    assert names[0] == "started" and names[-1] == "result" and {"lifted", "reproduced", "best", "verified"} <= {*names}
    phases = [line["phase"] for line in lines if line["event"] == "phase"]
    assert phases == ["run", "calibrate", "search", "verify"]
    result, bests = lines[-1], [line for line in lines if line["event"] == "best"]
    assert result == {**result, **printed_result(said.out)} and result["ended"] == "done"
    assert bests[-1]["tokens"] == result["after"][1] < bests[0]["tokens"] < lines[0]["tokens"]
    assert Path(bests[-1]["path"]).read_text() == result["text"] == Path(lines[0]["output"]).read_text()


def test_a_check(tmp_path: Path) -> None:
    (tmp_path / "failing.py").write_text(FAULTS)
    said = shrink("check", "failing.py", *INDEX, "--json", cwd=tmp_path)
    last = told(said.out)[-1]
    assert (said.code, last["event"], last["spec"]) == (0, "checked", "exception:IndexError")


@pytest.mark.parametrize(
    "words, message",
    [
        (("failing.py", "--json", "--arhc", "sm_90"), "Did you mean '--arch'"),
        (("failing.py", "--json", "--arch", "sm_1"), "such as sm_80"),
        (("nowhere.py", "--json"), "nowhere.py"),
        (("--json",), "which file?"),
        (("explain", "nowhere.py", "--json"), "nowhere.py"),
        (("replay", "nowhere", "--json"), "nowhere is not a folder"),
    ],
)
def test_errors_are_events_too(words: tuple[str, ...], message: str, tmp_path: Path) -> None:
    (tmp_path / "failing.py").write_text(FAULTS)
    said = refused(*words, cwd=tmp_path)
    (error,) = told(said.out)
    assert (error["event"], error["kind"], error["exit_code"]) == ("error", "UsageError", said.code) and said.code == 2
    assert message in error["text"] and said.message == f"shrink: {error['text']}"


def test_json_that_is_the_programs_own_is_none_of_ours(tmp_path: Path) -> None:
    assert refused("nowhere.py", "--arch", "sm_1", "--", "--json", cwd=tmp_path).out == ""


def test_interrupted_before_the_search(tmp_path: Path) -> None:
    (tmp_path / "failing.py").write_text("import time\ntime.sleep(60)\n")
    with shrinking("failing.py", *INDEX, "--json", cwd=tmp_path) as process:
        assert process.stdout is not None
        begun = [process.stdout.readline() for _ in range(3)]  # started, phase, message
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    last = told("".join([*begun, out]))[-1]
    assert process.returncode == last["exit_code"] == 130 and last["event"] == "error"


def test_what_another_one_printed_is_no_result() -> None:
    assert printed_result("") == printed_result('{"schema": 1, "event": "error"}\n') == printed_result('{"ev') == {}


def test_a_listener_that_fails_ends_it(tmp_path: Path) -> None:
    from shrinkray_gpu import reduce

    (tmp_path / "failing.py").write_text(FAULTS)

    def broken(event: events.Event) -> None:
        raise ValueError(event.name)

    with pytest.raises(ValueError, match="started"):
        reduce(tmp_path / "failing.py", oracle="exception:IndexError", on_event=broken)
