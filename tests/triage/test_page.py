"""The page over all: words of others are words in it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.triage import page
from shrinkray_gpu.triage.clusters import sort
from shrinkray_gpu.triage.reruns import Rerun
from shrinkray_gpu.triage.triage import TriageResult
from tests.triage.test_clusters import SEEN, report

IMAGE = "![x](http://evil/x.png)"


def test_links_images_pipes_and_lines_of_a_message_are_words(tmp_path: Path) -> None:
    lost = Rerun(trouble=f"a | b\n\n# {IMAGE} \\{IMAGE}", runs=0)
    reports = [report("test_0", f"ValueError: {IMAGE} | b\n\n# c"), report("test_1")]
    found = sort(reports, {reports[0].subject: lost, reports[1].subject: SEEN})
    reductions = {each.name: {"state": "not reduced", "why": f"{IMAGE}\n\n# no"} for each in found.clusters}
    page.write(tmp_path, page.to_json(TriageResult(found, reductions)))
    text = (tmp_path / "index.md").read_text()
    outside = "".join(text.split("`")[::2])  # of code
    assert "evil" in outside and "![" not in outside and outside.count("!\\[x\\](") == outside.count("!\\")
    assert not any(line.startswith("# ") for line in text.splitlines()[1:])
    assert "a \\| b # " in text


def test_two_failures_of_one_name_have_answers_of_their_own() -> None:
    """Capsules of one name in two folders."""
    reports = [replace(report("a.json"), name="a.json", node="", capsule=f"{folder}/a.json") for folder in "xy"]
    found = sort(reports, {each.subject: SEEN for each in reports})
    [cluster] = found.clusters
    reductions = {cluster.name: {"state": "reduced", "explains": {"x/a.json": "", "y/a.json": "another"}}}
    told = page.to_json(TriageResult(found, reductions))["clusters"][0]["members"]
    assert sorted(each["why_not"] for each in told) == ["", "another"]


def test_an_object_is_told_without_its_address_which_no_other_run_has() -> None:
    said = "RuntimeError: Unsupported function referenced: <function scale at 0x7f{}4c0>"
    reports = [report(f"test_{at}", said.format(at)) for at in (0, 1)]
    faults = [Fault("compile", "RuntimeError", "gelu", text="...", said=said.format(at)) for at in (0, 1)]
    seen = [replace(SEEN, fault=each, message=each.said) for each in faults]
    found = sort(reports, {each.subject: rerun for each, rerun in zip(reports, seen)})
    [cluster] = page.to_json(TriageResult(found, {}))["clusters"]
    assert cluster["messages"] == ["RuntimeError: Unsupported function referenced: <function scale at 0x...>"]
    assert cluster["fault"].endswith("<function scale at 0x...>")
