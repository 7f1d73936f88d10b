"""Outcomes as text, JSON, JUnit XML and HTML."""

from __future__ import annotations

import json
import xml.etree.ElementTree as xml
from html.parser import HTMLParser
from pathlib import Path

import pytest

from shrinkray_gpu.corpus import replay_tables
from shrinkray_gpu.corpus.expectation import Status
from shrinkray_gpu.oracle import Fault
from tests.corpus.making import case, outcome

OTHER = Fault("python", "ValueError", text="<b>shape</b> & size")


@pytest.fixture
def matrix(tmp_path: Path) -> replay_tables.OutcomeMatrix:
    steady = case(tmp_path, "steady", upstream=["https://example.org/1", "javascript:alert(1)"])
    mended = case(tmp_path, "mended", expect={"<3.7": "faults", ">=3.7": "fixed"})
    moved = case(tmp_path, "moved", title="<script>alert('title')</script>", mechanism="a < b & c")
    lacking = case(tmp_path, "lacking", needs={"gpu": True})
    unspoken = case(tmp_path, "unspoken", expect=None)
    fault = Fault("python", "KeyError", text="'gone'")
    return {
        "triton 3.6.0": [
            outcome(steady, Status.FAULTS, triton="3.6.0", fault=fault, why="KeyError", shown=1, runs=1, seconds=1.5),
            outcome(mended, Status.FAULTS, triton="3.6.0", fault=fault),
            outcome(moved, Status.FLAKY, triton="3.6.0", fault=fault, shown=2, runs=3),
            outcome(lacking, Status.CANNOT, triton="3.6.0", why="it needs a real GPU"),
            outcome(unspoken, Status.FIXED, triton="3.6.0", why="it ended well"),
        ],
        "triton 3.7.1": [
            outcome(steady, Status.FIXED, why="it ended \x1b[31mwell\x00"),
            outcome(mended, Status.FIXED),
            outcome(moved, Status.CHANGED, fault=OTHER, why="the class is 'ValueError' instead of 'KeyError'"),
            outcome(lacking, Status.CANNOT, why="it needs a real GPU"),
            outcome(unspoken, Status.FAULTS),
        ],
    }


def test_the_table_of_a_terminal(matrix: replay_tables.OutcomeMatrix) -> None:
    assert replay_tables.table(matrix).splitlines() == [
        "case      triton 3.6.0  triton 3.7.1",
        "--------  ------------  ------------",
        "steady    faults        fixed!",
        "mended    faults        fixed",
        "moved     flaky 2/3     CHANGED!",
        "lacking   -             -",
        "unspoken  fixed         faults",
        "",
        "- lacking: it needs a real GPU",
        "- unspoken: its [expect] says nothing of this Triton",
    ]
    assert replay_tables.summary(matrix) == "3 still faults, 3 fixed, 1 changed fault, 1 flaky, 2 cannot run here"


def test_a_remark_says_of_which_column_it_speaks(matrix: replay_tables.OutcomeMatrix) -> None:
    second = [one for one in matrix["triton 3.7.1"] if one.case.name == "lacking"]
    partly = {"triton 3.6.0": [outcome(second[0].case, Status.FAULTS)], "triton 3.7.1": second}
    assert replay_tables.table(partly).endswith("- lacking (triton 3.7.1): it needs a real GPU")


def test_changes_show_both_faults_below_each_other(matrix: replay_tables.OutcomeMatrix) -> None:
    first, second = replay_tables.changes(matrix)
    assert first.startswith("steady, triton 3.7.1: expected still faults, and it is fixed\n    it ended")
    assert second.splitlines() == [
        "moved, triton 3.7.1: expected still faults, and it is changed fault",
        "    was python fault: KeyError: 'gone'",
        "    is  python fault: ValueError: <b>shape</b> & size",
        "    the class is 'ValueError' instead of 'KeyError'",
    ]


def test_whether_anything_ran(matrix: replay_tables.OutcomeMatrix) -> None:
    assert not replay_tables.nothing_ran(matrix)
    assert replay_tables.nothing_ran({name: [outcomes[3]] for name, outcomes in matrix.items()})


def test_json_has_everything(matrix: replay_tables.OutcomeMatrix) -> None:
    told = json.loads(json.dumps(replay_tables.to_json(matrix)))
    assert told["triton 3.7.1"]["versions"] == {"triton": "3.7.1"}
    moved = told["triton 3.7.1"]["cases"]["moved"]
    assert (moved["status"], moved["expected"], moved["as expected"]) == ("changed fault", "still faults", False)
    assert (moved["was"]["klass"], moved["fault"]["klass"]) == ("KeyError", "ValueError")
    unspoken = told["triton 3.6.0"]["cases"]["unspoken"]
    assert (unspoken["expected"], unspoken["as expected"], unspoken["fault"]) == (None, True, None)


def test_junit_is_what_ci_reads(matrix: replay_tables.OutcomeMatrix) -> None:
    root = xml.fromstring(replay_tables.junit(matrix))
    assert root.tag == "testsuites"
    old, new = root
    assert {key: old.get(key) for key in ("name", "tests", "failures", "errors", "skipped", "time")} == {
        "name": "triton 3.6.0", "tests": "5", "failures": "0", "errors": "0", "skipped": "1", "time": "1.500",
    }  # fmt: skip
    assert (new.get("failures"), new.get("skipped")) == ("2", "1")
    tests = {test.get("name"): test for test in new}
    assert [test.get("classname") for test in new] == ["triton 3.7.1"] * 5
    failure = tests["moved"].find("failure")
    assert failure is not None and failure.text is not None
    assert failure.get("message") == "expected still faults, and it is changed fault"
    assert "was python fault: KeyError" in failure.text and "<b>shape</b> & size" in failure.text
    skipped = tests["lacking"].find("skipped")
    assert skipped is not None and skipped.get("message") == "it needs a real GPU"
    assert tests["mended"].find("failure") is None and tests["mended"].find("system-out") is not None


def test_what_xml_cannot_hold_is_replaced(matrix: replay_tables.OutcomeMatrix) -> None:
    text = replay_tables.junit(matrix)
    assert "\x1b" not in text and "\x00" not in text and "\N{REPLACEMENT CHARACTER}[31mwell" in text
    text.encode("utf-8")


class Page(HTMLParser):
    """What a browser makes of a page: its tags, links and text, and whether all that opens is closed."""

    VOID = frozenset({"meta", "br", "img", "link"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_is_whole_and_shows_all(matrix: replay_tables.OutcomeMatrix) -> None:
    text = replay_tables.html(matrix)
    page = Page(text)
    assert not page.open
    assert {"html", "head", "meta", "title", "body", "table", "h1"} <= {tag for tag, _ in page.tags}
    for word in ("steady", "mended", "moved", "lacking", "triton 3.6.0", "triton 3.7.1", "flaky 2 of 3",
                 "Not as expected", "(expected: still faults)", "it needs a real GPU", "a < b & c",
                 "the fault that it was kept for", "2 cannot run here"):  # fmt: skip
        assert word in page.text, word
    cells = [attrs.get("class") or "" for tag, attrs in page.tags if tag == "td"]
    assert "changed surprising" in cells and "fixed surprising" in cells and "flaky" in cells and "cannot" in cells
    # Self-contained: nothing is fetched, every link is a place in the page or an http address.
    assert not [tag for tag, _ in page.tags if tag in ("script", "img", "link")]
    links = [attrs.get("href") or "" for tag, attrs in page.tags if tag == "a"]
    anchors = {attrs.get("id") for _, attrs in page.tags}
    assert "https://example.org/1" in links
    assert all(link.startswith("https://") or link[1:] in anchors for link in links), links


def test_the_page_takes_nothing_for_markup(matrix: replay_tables.OutcomeMatrix) -> None:
    text = replay_tables.html(matrix)
    assert "<script" not in text and "&lt;script&gt;" in text
    assert "<b>" not in text and "&lt;b&gt;shape&lt;/b&gt; &amp; size" in text
    assert 'href="javascript' not in text


def test_a_page_where_all_is_well(matrix: replay_tables.OutcomeMatrix) -> None:
    page = Page(replay_tables.html({"triton 3.6.0": matrix["triton 3.6.0"]}))
    assert "All is as expected." in page.text and "Not as expected" not in page.text


def test_a_surprise_of_which_nothing_was_expected(tmp_path: Path) -> None:
    one = outcome(case(tmp_path, expect=None), Status.CHANGED, fault=OTHER)
    assert "expected nothing in particular, and it is changed fault" in replay_tables.changes({"here": [one]})[0]
    assert "(expected: nothing in particular)" in replay_tables.html({"here": [one]})
