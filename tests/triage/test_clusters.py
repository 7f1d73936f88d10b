"""Which failures are one cause: given what was seen of them."""

from __future__ import annotations

from dataclasses import replace

from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.triage.clusters import FailureMember, sort
from shrinkray_gpu.triage.fault_origin import BY_COMPILER, BY_IR, FaultOrigin
from shrinkray_gpu.triage.reported import ReportedFailure
from shrinkray_gpu.triage.reruns import Rerun

ILLEGAL = Fault("device", "an illegal memory access was encountered", "gelu", 700)
GELU = FaultOrigin(BY_IR, "missing mask", "gelu", "ops.py:6:16")
SEEN = Rerun(ILLEGAL, GELU, seconds=2.0)


SAID = "RuntimeError: CUDA error: an illegal memory access was encountered"


def report(name: str, message: str = SAID, source: str = "junit.xml") -> ReportedFailure:
    return ReportedFailure(f"test_a.py::{name}", source, message, "", f"test_a.py::{name}")


def _said(reports: list[ReportedFailure], subject: str) -> str:
    """What the rerun ends in: the report's own words."""
    return next(each.message for each in reports if each.subject == subject)


def names(found: object) -> list[list[str]]:
    return [sorted(each.name.partition("::")[2] for each in cluster.members) for cluster in found.clusters]  # type: ignore[attr-defined]


def test_one_cause_under_three_messages_is_one_and_two_causes_under_one_message_are_two() -> None:
    said = [SAID, "OpError: no backend", "AssertionError: assert fine"]
    reports = [report(f"test_{number}", words) for number, words in enumerate(said)]
    reports.append(report("test_other", said[0]))
    other = replace(SEEN, origin=replace(GELU, kernel="rope", statement="ops.py:30:8"))
    reruns = {each.subject: SEEN for each in reports[:3]} | {reports[3].subject: other}
    reruns = {name: replace(each, message=_said(reports, name)) for name, each in reruns.items()}
    found = sort(reports, reruns)
    assert names(found) == [["test_0", "test_1", "test_2"], ["test_other"]] and found.maybe == ()
    assert len(found.clusters[0].messages) == 3


def test_an_access_that_ended_in_another_error_where_the_test_ran_is_told_by_both() -> None:
    said = "torch.AcceleratorError: CUDA error: operation not supported on global/shared address space"
    found = sort([report("test_0", said)], {"test_a.py::test_0": replace(SEEN, message=said)})
    assert str(found.clusters[0].fault) == str(ILLEGAL).replace("error 700", "error 700; 717 in other runs")
    found = sort([report("test_0")], {"test_a.py::test_0": replace(SEEN, message=SAID)})
    assert str(found.clusters[0].fault) == str(ILLEGAL)


def test_another_statement_of_the_same_kernel_is_apart_and_told() -> None:
    reports = [report("test_0"), report("test_1")]
    other = replace(SEEN, origin=replace(GELU, statement="ops.py:9:4"))
    found = sort(reports, {reports[0].subject: SEEN, reports[1].subject: other})
    assert len(found.clusters) == 2 and [each.why for each in found.maybe] == ["both in gelu, at other statements"]


def test_the_same_words_of_the_compiler_on_two_kernels_are_apart_and_told() -> None:
    said = "RuntimeError: PassManager::run failed"
    crash = Fault("compile", "TritonGPUPipeline", "gelu", text="Assertion `x' failed.")
    reports = [report("test_0", said), report("test_1", said)]
    one = Rerun(crash, FaultOrigin(BY_COMPILER, "TritonGPUPipeline: ...", "gelu"), said)
    other = Rerun(replace(crash, kernel="rope"), FaultOrigin(BY_COMPILER, "TritonGPUPipeline: ...", "rope"), said)
    found = sort(reports, {reports[0].subject: one, reports[1].subject: other})
    assert len(found.clusters) == 2 and found.maybe[0].why == "the same words of the compiler, on other kernels"


def test_jobs_do_not_count_and_a_failure_of_the_machine_in_one_of_them_is_apart() -> None:
    full = report("test_0", "OSError: [Errno 28] No space left on device", "c.xml")
    reports = [report("test_0", source="a.xml"), report("test_0", source="b.xml"), full]
    found = sort(reports, {reports[0].subject: SEEN})
    assert names(found) == [["test_0"]] and found.clusters[0].sources == ("a.xml", "b.xml")
    assert [(member.reports[0].source, trouble.kind) for member, trouble in found.machine] == [("c.xml", "out of disk")]


def test_what_ended_well_twice_is_told_and_what_came_back_is_flaky() -> None:
    reports = [report("test_0"), report("test_1"), report("test_2")]
    reruns = {reports[0].subject: Rerun(runs=2), reports[1].subject: replace(SEEN, runs=2), reports[2].subject: SEEN}
    found = sort(reports, reruns)
    assert [each.name for each in found.gone] == ["test_a.py::test_0"]
    assert names(found) == [["test_1", "test_2"]]
    assert [each.is_flaky for each in found.clusters[0].members] == [False, True]  # the sure one is reduced


def test_clusters_with_the_same_words_are_told_of_in_one_line() -> None:
    reports = [report(f"test_{number}", "OSError: no file") for number in range(3)]
    found = sort(reports, {})
    assert len(found.clusters) == 3
    assert [sorted(each.names) for each in found.maybe] == [sorted(each.name for each in found.clusters)]


def test_what_shows_at_once_is_cheaper_than_what_shows_in_a_second_run() -> None:
    """Also where kernels compute in the second one only: that may be chance. Times that are alike decide nothing."""
    reports = [report("test_0"), report("test_1"), report("test_2")]
    runs = [
        replace(SEEN, runs=2, interpreted=True, seconds=0.1),
        replace(SEEN, seconds=1.9),
        replace(SEEN, seconds=1.0),
    ]
    [cluster] = sort(reports, {each.subject: run for each, run in zip(reports, runs)}).clusters
    assert [each.name[-1] for each in cluster.members] == ["1", "2", "0"]


def test_the_title_has_the_words_of_the_compiler_with_their_numbers() -> None:
    """Those that are compared have neither numbers nor addresses."""
    words = ("must be a power of N: <function f at ADDRESS>", "must be a power of 2: <function f at 0x7f2e874934c0>")
    fault = Fault("compile", "CompilationError", "gelu", text=words[0], said=words[1])
    origin = FaultOrigin(BY_COMPILER, f"CompilationError: {words[0]}", "gelu", "ops.py:6")
    one = report("test_0", f"CompilationError: {words[1]}")
    [cluster] = sort([one], {one.subject: replace(SEEN, fault=fault, origin=origin)}).clusters
    said = "must be a power of 2: <function f at 0x...>"
    assert cluster.title == f"CompilationError: {said} in gelu at ops.py:6"


def test_who_missed_a_run_more_is_flaky_and_not_reduced_for_others() -> None:
    """Nobody is asked for more runs where no other can be reduced in its place, and nobody twice."""
    reports = [report("test_0"), report("test_1")]
    subjects = [each.subject for each in reports]
    [cluster] = sort(reports, dict.fromkeys(subjects, SEEN)).clusters
    assert cluster.doubted is cluster.members[0]
    [cluster] = sort(reports, {subjects[0]: replace(SEEN, steady=False), subjects[1]: SEEN}).clusters
    assert [each.name[-1] for each in cluster.members] == ["1", "0"] and cluster.members[1].is_flaky
    assert cluster.doubted is cluster.members[0]
    for first, second in ((replace(SEEN, steady=True), SEEN), (replace(SEEN, runs=2), replace(SEEN, runs=3))):
        [cluster] = sort(reports, dict(zip(subjects, (first, second)))).clusters
        assert cluster.doubted is None
    assert [each.doubted for each in sort(reports[:1], {subjects[0]: SEEN}).clusters] == [None]


def test_what_shows_only_where_kernels_compute_is_not_flaky() -> None:
    member = FailureMember((report("test_0"),), replace(SEEN, runs=2, interpreted=True))
    assert member.is_seen and not member.is_flaky and replace(member, rerun=replace(SEEN, runs=2)).is_flaky


def test_what_cannot_be_run_here_is_told_apart_by_its_text_and_two_tests_are_never_joined_by_words_alone() -> None:
    text = "tests/test_a.py:8: in test_0\npkg/ops.py:3: RuntimeError"
    lost = Rerun(trouble="The script asks for CUDA and finds no GPU", runs=0)
    reports = [
        ReportedFailure(f"t.py::{name}", "log", "RuntimeError: CUDA error: misaligned address", text, f"t.py::{name}")
        for name in ("test_0[1]", "test_0[2]", "test_1")
    ]
    found = sort(reports, {each.subject: lost for each in reports})
    assert [len(each.members) for each in found.clusters] == [2, 1] and found.gone == ()
    assert found.clusters[0].cheapest is None and len(found.maybe) == 1


def test_the_cheapest_is_reduced_and_a_known_case_only_where_all_have_it() -> None:
    reports = [report("test_0"), report("test_1")]
    slow, fast = replace(SEEN, seconds=9.0, known=("case",)), replace(SEEN, seconds=1.0, known=("case",))
    [cluster] = sort(reports, {reports[0].subject: slow, reports[1].subject: fast}).clusters
    assert cluster.cheapest is not None and cluster.cheapest.name == "test_a.py::test_1" and cluster.known == ("case",)
    [cluster] = sort(reports, {reports[0].subject: slow, reports[1].subject: replace(fast, known=())}).clusters
    assert cluster.known == ()


def test_the_name_of_a_cluster_does_not_hang_on_what_else_there_is() -> None:
    reports = [report("test_0"), report("test_1")]
    reruns = {each.subject: SEEN for each in reports}
    [whole], [part] = sort(reports, reruns).clusters, sort(reports[1:], reruns).clusters
    assert whole.name == part.name and whole.name.startswith("gelu_")


def test_one_test_that_fails_by_two_causes_in_two_jobs_is_two_members() -> None:
    reports = [report("test_0", "ValueError: a", "a.xml"), report("test_0", "TypeError: b", "b.xml")]
    reports.append(report("test_0", "ValueError: a", "c.xml"))
    for lost in ({}, {reports[0].subject: Rerun(trouble="it needs a GPU", runs=0)}):
        found = sort(reports, lost)
        assert sorted(each.sources for each in found.clusters) == [("a.xml", "c.xml"), ("b.xml",)]


def test_a_rerun_with_another_fault_says_nothing_of_the_report() -> None:
    """A test that fails its check on one machine and by an import on this one, and one of another device error."""
    reports = [report("test_0", "AssertionError: far off"), report("test_1")]
    reports.append(report("test_1", "KeyError: 'x'", "b.xml"))
    missing = Rerun(Fault("python", "OSError", text="no file"), FaultOrigin("", "OSError"), message="OSError: no file")
    found = sort(reports, {reports[0].subject: missing, reports[1].subject: SEEN})
    kinds = {each.origin.kind: each for each in found.clusters}
    assert set(kinds) == {"AssertionError: far off", "missing mask", "KeyError: 'x'"} and found.gone == ()
    apart = kinds["AssertionError: far off"]
    assert apart.cheapest is None and kinds["KeyError: 'x'"].cheapest is None
    assert apart.members[0].trouble == "shows another fault here: python fault: OSError: no file"
    misaligned = replace(SEEN, fault=replace(ILLEGAL, klass="misaligned address", code=716))
    [cluster] = sort(reports[1:2], {reports[1].subject: misaligned}).clusters
    assert cluster.cheapest is None and cluster.members[0].trouble.startswith("shows another fault here")


def test_a_report_without_a_type_may_be_of_any_fault() -> None:
    reports = [report("test_0", "worker 'gw0' crashed while running 'test_a.py::test_0'"), report("test_1", "OpErr...")]
    crash = Rerun(Fault("exit", "SIGSEGV"), FaultOrigin("", "SIGSEGV"), message="OpError: no")
    assert all(each.cheapest for each in sort(reports, {each.subject: crash for each in reports}).clusters)


def test_words_of_the_machine_over_a_fault_of_the_program_are_kept_with_the_fault() -> None:
    full = report("test_0", "OSError: [Errno 28] No space left on device")
    found = sort([full], {full.subject: SEEN})
    [member] = found.clusters[0].members
    assert found.machine == () and found.clusters[0].origin == GELU and found.clusters[0].cheapest is member
    assert member.machine is not None and member.machine.kind == "out of disk"
    again = Rerun(full.fault, FaultOrigin("", "OSError"), message=full.message)
    assert len(sort([full], {full.subject: again}).machine) == 1


def test_what_fails_after_a_context_has_ended_is_what_it_shows_by_itself() -> None:
    """All tests after the first in its process say its error; a report of another run that says it first is its own."""
    crash = Fault("compile", "CompilationError", "rope", text="arange's range must be a power of 2")
    shown = Rerun(crash, FaultOrigin(BY_COMPILER, "CompilationError", "rope", "ops.py:30"), "CompilationError: arange")
    reports = [report("test_0"), report("test_1"), report("test_2", source="other.xml")]
    reruns = {reports[0].subject: SEEN, reports[1].subject: shown, reports[2].subject: shown}
    found = sort(reports, reruns)
    by_name = {each.members[0].name.partition("::")[2]: each for each in found.clusters}
    assert len(by_name) == 3 and by_name["test_1"].origin == shown.origin and by_name["test_1"].cheapest is not None
    assert by_name["test_2"].cheapest is None and by_name["test_2"].members[0].is_other
    said = {name: each.members[0].message for name, each in by_name.items()}
    assert said == {"test_0": SAID, "test_1": "CompilationError: arange", "test_2": SAID}
