"""`shrink triage` as its user types it: tests on the virtual GPU, in Triton's interpreter, and capsules."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu.cells.this_machine import ThisMachine
from shrinkray_gpu.command.pytest_settings import PytestSettings
from shrinkray_gpu.triage import reductions
from shrinkray_gpu.triage.clusters import FailureMember, sort
from shrinkray_gpu.triage.reported import ReportedFailure
from shrinkray_gpu.triage.reruns import Reruns, TriagePlace
from shrinkray_gpu.triage.triage import TriageAsked, TriageWork, compare, find, run_each
from shrinkray_gpu.triage.triage_journal import TriageJournal
from tests.capture import programs
from tests.capture.test_capture import run as run_captured
from tests.e2e.command import Said, environment, refused, shrink

OPS = """\
import torch, triton
import triton.language as tl


@triton.jit
def gelu_kernel(x, y, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(y + lanes, tl.load(x + lanes * 4194304))


def gelu(x):
    y = torch.empty_like(x)
    gelu_kernel[(1,)](x, y, BLOCK=64)
    torch.cuda.synchronize()
    return y


@triton.jit
def rope_kernel(x, y, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(y + lanes, tl.load(x + lanes * 8388608))


def rope(x):
    y = torch.empty_like(x)
    rope_kernel[(1,)](x, y, BLOCK=64)
    torch.cuda.synchronize()
    return y


@triton.jit
def double_kernel(x, y, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(y + lanes, tl.load(x + lanes) * 3)


def double(x):
    y = torch.empty_like(x)
    double_kernel[(1,)](x, y, BLOCK=64)
    return y


def never_waits(x):
    rope_kernel[(1,)](x, torch.empty_like(x), BLOCK=64)
"""
TESTS = """\
import os, pathlib
import pytest, torch
import ops


@pytest.mark.parametrize("n", [64, 100])
def test_gelu(n):
    ops.gelu(torch.zeros(n, device="cuda"))


def test_gelu_wrapped():
    try:
        ops.gelu(torch.zeros(64, device="cuda"))
    except RuntimeError as error:
        raise ValueError("this backend is not usable") from error


def test_gelu_asserts():
    fine = True
    try:
        ops.gelu(torch.zeros(64, device="cuda"))
    except RuntimeError:
        fine = False
    assert fine


def test_rope():
    ops.rope(torch.zeros(64, device="cuda"))


def test_disk():
    raise OSError(28, "No space left on device")


def test_once():
    seen = pathlib.Path(__file__).with_name("seen")
    if not seen.exists():
        seen.touch()
        ops.rope(torch.zeros(64, device="cuda"))


def test_fine():
    ops.never_waits(torch.zeros(64, device="cuda"))
"""
WORDS = ("--arch", "sm_90", "--python", sys.executable)


def triage(folder: Path, *words: str) -> tuple[Said, dict[str, Any]]:
    done = shrink("triage", "--json", *words, cwd=folder)
    assert done.code == 0, done.err
    return done, json.loads(done.out)


def members(told: dict[str, Any]) -> list[list[str]]:
    return [sorted(each["name"].partition("::")[2] for each in one["members"]) for one in told["clusters"]]


@pytest.mark.slow
def test_failures_are_sorted_by_cause_and_one_of_each_cause_is_reduced(tmp_path: Path) -> None:
    """Three messages of one kernel's statement are one cause; two kernels with one message are two."""
    (tmp_path / "ops.py").write_text(OPS)
    (tmp_path / "test_ops.py").write_text(TESTS)
    words = (*WORDS, "--max-time", "1", "--shrink-args", "--no-report --jobs 1", "--", "pytest", ".")
    _, sorted_only = triage(tmp_path, "--no-reduce", *words)
    gelu = ["test_gelu[100]", "test_gelu[64]", "test_gelu_asserts", "test_gelu_wrapped"]
    assert members(sorted_only) == [gelu, ["test_rope"]] and sorted_only["maybe_the_same"] == []
    assert len(sorted_only["clusters"][0]["messages"]) == 3
    assert {each["state"] for each in sorted_only["clusters"]} == {"not asked for"}
    assert [(each["name"], each["kind"]) for each in sorted_only["machine"]] == [
        ("test_ops.py::test_disk", "out of disk")
    ]
    assert [each["name"] for each in sorted_only["not_seen_again"]] == ["test_ops.py::test_once"]
    (tmp_path / "test_ops.py").write_text(TESTS + "\n")  # the runs are not made again
    _, told = triage(tmp_path, *words)
    assert members(told) == members(sorted_only) and told["failures"] == 7
    first = told["clusters"][0]
    assert first["state"] == "reduced" and all(each["explained"] for each in first["members"]), first
    repro = (tmp_path / "triage" / first["name"] / "repro.py").read_text()
    assert "gelu_kernel" in repro and "pytest" not in repro and "rope" not in repro
    page = (tmp_path / "triage" / "index.md").read_text()
    assert f"]({first['name']}/repro.py)" in page and page.count("explains it") == 5
    assert "<title>Triage</title>" in (tmp_path / "triage" / "index.html").read_text()


@pytest.mark.slow
def test_what_a_kernel_computes_wrong_is_seen_in_the_interpreter_and_jobs_are_one(tmp_path: Path) -> None:
    """Two junit.xml of real sessions in Triton's interpreter, where the tests run as they are on a CPU."""
    (tmp_path / "ops.py").write_text(OPS)
    test = "import pytest, torch\nimport ops\n@pytest.mark.parametrize('n', [64, 80])\ndef test_double(n):\n"
    test += "    x = torch.ones(n)\n    torch.testing.assert_close(ops.double(x)[:64], x[:64] * 2)\n"
    (tmp_path / "test_double.py").write_text(test)
    given = {**environment(), "TRITON_INTERPRET": "1"}
    for job in ("a.xml", "b.xml"):
        line = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"--junitxml={job}", "."]
        assert subprocess.run(line, cwd=tmp_path, env=given, capture_output=True).returncode == 1
    words = (
        "--python",
        sys.executable,
        "--env",
        "TRITON_INTERPRET=1",
        "--no-reduce",
        "a.xml",
        "b.xml",
        "--",
        "pytest",
        ".",
    )
    _, told = triage(tmp_path, "--hours", "0.0000001", "--output", "brief", *words[: words.index("--")])
    assert [each["state"] for each in told["clusters"]] == ["its turn did not come"]
    _, told = triage(tmp_path, *words)
    assert members(told) == [["test_double[64]", "test_double[80]"]] and told["failures"] == 6
    [cluster] = told["clusters"]
    assert cluster["sources"] == ["a.xml", "b.xml", "pytest"] and all(each["seen_here"] for each in cluster["members"])
    assert cluster["fault"].startswith("python fault: AssertionError: Tensor-likes are not close!")


@pytest.mark.slow
def test_wrong_numbers_show_where_kernels_compute_and_so_do_those_of_a_repro(tmp_path: Path) -> None:
    (tmp_path / "ops.py").write_text(OPS)
    lines = ["import torch", "import ops", "x = torch.ones(64, device='cuda')"]
    lines.append("torch.testing.assert_close(ops.double(x), x * 2)")
    (tmp_path / "test_it.py").write_text("\n    ".join(["def test_it():", *lines]) + "\n")
    node = "test_it.py::test_it"
    with Reruns(TriagePlace(sys.executable, 90, {}, tmp_path, 120.0)) as reruns:
        found = reruns.rerun(ReportedFailure(node, "log", "AssertionError: Tensor-likes are not close!", "", node))
        assert found.is_seen and found.interpreted and found.runs == 2, found
        repro = "\n".join([OPS, lines[0], lines[2], lines[3].replace("ops.", "")]) + "\n"
        assert reruns.explains(repro, found) == ""
        assert reruns.explains(repro, replace(found, interpreted=False)) == "it shows no fault here"


@pytest.mark.slow
def test_what_a_corpus_knows_is_named_and_not_reduced(tmp_path: Path) -> None:
    known = Path(__file__).parents[2] / "corpus" / "tma_misaligned" / "failing.py"
    (tmp_path / "test_it.py").write_text(
        f"import runpy\ndef test_it():\n    runpy.run_path({str(known)!r}, run_name='__main__')\n"
    )
    _, told = triage(tmp_path, *WORDS, "--", "pytest", ".")
    [cluster] = told["clusters"]
    assert cluster["state"] == "known" and any("tma_misaligned" in each for each in cluster["known"]), cluster
    assert "fixed in Triton >=3.9" in (tmp_path / "triage" / "index.md").read_text()


def test_a_report_of_a_suite_that_passes_is_no_mistake(tmp_path: Path) -> None:
    suite = '<testsuites><testsuite tests="1"><testcase classname="test_it" name="test_it" /></testsuite></testsuites>'
    (tmp_path / "junit.xml").write_text(f'<?xml version="1.0" encoding="utf-8"?>{suite}')
    done = shrink("triage", "--quiet", "junit.xml", cwd=tmp_path)
    assert (done.code, done.out, done.err) == (0, "no failure: nothing is to be sorted\n", "")
    assert "0 failures" in (tmp_path / "triage" / "index.md").read_text()


def test_a_test_that_is_skipped_here_is_not_called_flaky(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import pytest\n@pytest.mark.skipif(True, reason='needs a GPU')\ndef test_it(): pass\n"
    )
    (tmp_path / "log.txt").write_text("FAILED test_it.py::test_it - ValueError: no\n")
    _, told = triage(tmp_path, "--python", sys.executable, "--no-reduce", "log.txt")
    [cluster] = told["clusters"]
    assert cluster["members"][0]["trouble"] == "it is skipped here: needs a GPU" and told["not_seen_again"] == []


@pytest.mark.parametrize("words", [("-c", "cfg/a.ini", "--rootdir=."), ("-o", "python_functions=check_*"), ("sub",)])
def test_settings_of_the_pytest_command_go_to_each_run(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Without them the test would not be collected. The last: pytest's root is above the folder where it is run."""
    (tmp_path / "cfg").mkdir(), (tmp_path / "tests").mkdir()
    (tmp_path / "cfg" / "a.ini").write_text("[pytest]\npython_functions = check_*\n")
    name = "check_it" if words[0] != "sub" else "test_it"
    (tmp_path / "tests" / "test_it.py").write_text(f"def {name}(): raise ValueError('no')\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    cwd, words = (tmp_path / "tests", ()) if words[0] == "sub" else (tmp_path, words)
    _, told = triage(cwd, "--python", sys.executable, "--no-reduce", "--", "pytest", *words, str(tmp_path / "tests"))
    [member] = told["clusters"][0]["members"]
    assert member["seen_here"] and member["name"].endswith(f"test_it.py::{name}"), member
    report = ReportedFailure(name, "pytest", "ValueError: no", "", member["name"])
    place = TriagePlace(sys.executable, None, {}, cwd, 120.0, PytestSettings.of(words))
    line = reductions.command(FailureMember((report,)), place, reductions.Reducing(1.0), tmp_path, 1.0)
    assert line[-1] == member["name"] and line[line.index("pytest") + 1 : -1] == place.settings.words


def test_what_was_run_is_not_run_again_and_what_told_nothing_is(tmp_path: Path) -> None:
    place, settings = TriagePlace(sys.executable, None, {}, tmp_path, 120.0), {"arch": None}
    reports = [ReportedFailure("test_it.py::test_it", "log", "ValueError: no", "", "test_it.py::test_it")]
    said: list[str] = []
    asked = TriageAsked((), (), tmp_path)
    with closing(ThisMachine(1)) as engine, closing(TriageJournal(tmp_path / "triage", settings, {})) as journal:
        work = TriageWork(asked, place, engine, journal, said.append)
        run_each(work, reports, math.inf)  # there is no such file
        assert journal.reruns["test_it.py::test_it"].unsettled
        (tmp_path / "test_it.py").write_text("def test_it(): raise ValueError('no')\n")
        for _ in range(2):
            run_each(work, reports, math.inf)
        assert journal.reruns["test_it.py::test_it"].is_seen and sum("run 1 of 1" in line for line in said) == 2
        told = {"state": "reduced", "lines": 3}
        [cluster] = sort(reports, journal.reruns).clusters
        journal.keep_reduction(cluster.name, told)
        compare(work, [cluster])  # its repro.py is gone
        assert journal.reductions[cluster.name] == told and "was not compared" in said[-1]
        (tmp_path / cluster.name).mkdir()
        (tmp_path / cluster.name / "repro.py").write_text("raise ValueError('no')\n")
        compare(work, [cluster])
        assert journal.reductions[cluster.name] == {**told, "explains": {"test_it.py::test_it": ""}}


def test_a_session_goes_on_after_tests_that_end_its_process(tmp_path: Path) -> None:
    """By a signal, by an exit, by the kernel for want of memory: what was seen before stays, and the rest is run."""
    lines = ("import os, signal", "def test_a(): raise ValueError('a')", "def test_b(): os.kill(os.getpid(), 11)")
    lines += ("def test_c(): os._exit(3)", "def test_d(): os.kill(os.getpid(), 9)", "def test_e(): raise KeyError('e')")
    (tmp_path / "test_it.py").write_text("\n".join(lines) + "\n")
    (tmp_path / "test_lost.py").write_text("import no_such_module\n")
    words = ("--python", sys.executable, "--no-reduce", "--", "pytest", "--continue-on-collection-errors")
    done, told = triage(tmp_path, *words, ".")
    found = {each["members"][0]["name"]: each for each in told["clusters"]}
    assert sorted(found) == [*(f"test_it.py::test_{name}" for name in "abce"), "test_lost.py"], found
    assert found["test_it.py::test_b"]["fault"] == "exit fault: SIGSEGV"
    assert found["test_it.py::test_c"]["members"][0]["message"] == (
        "the process ended with exit code 3 while test_it.py::test_c ran"
    )
    assert all(found[f"test_it.py::test_{name}"]["members"][0]["seen_here"] for name in "abce"), told
    assert found["test_lost.py"]["fault"] == "python fault: ModuleNotFoundError: No module named 'no_such_module'"
    assert [each["name"][-1] for each in told["machine"]] == ["d"] and told["failures"] == 6
    assert (tmp_path / "triage" / "session.jsonl").read_text().count('"event": "started"') == 5


def test_a_session_that_is_interrupted_keeps_what_it_saw(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import os, signal\ndef test_a(): raise ValueError('a')\ndef test_b(): os.kill(os.getppid(), signal.SIGINT)\n"
        "def test_c(): raise KeyError('c')\n"
    )
    words = ("triage", "--json", "--no-reduce", "--python", sys.executable, "--", "pytest", ".")
    broken = shrink(*words, cwd=tmp_path)
    assert broken.code == 130 and json.loads(broken.out)["failures"] >= 1, broken.err
    (tmp_path / "test_it.py").write_text((tmp_path / "test_it.py").read_text().replace("os.kill(", "print("))
    _, told = triage(tmp_path, *words[2:])
    assert sorted(members(told)) == [["test_a"], ["test_c"]]
    assert (tmp_path / "triage" / "session.jsonl").read_text().count('"started", "node": "test_it.py::test_a"') == 1


def test_runs_of_another_triton_in_the_same_environment_are_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "test_it.py").write_text("def test_it(): raise ValueError('no')\n")
    (tmp_path / "log.txt").write_text("FAILED test_it.py::test_it - ValueError: no\n")
    newer = tmp_path / "newer"
    monkeypatch.setenv("PYTHONPATH", f"{newer}:{os.environ.get('PYTHONPATH', '')}")
    said = []
    for version in ("9.1.0", "9.2.0", "9.2.0"):
        for old in newer.glob("*"):
            shutil.rmtree(old)
        (newer / f"triton-{version}.dist-info").mkdir(parents=True)
        (newer / f"triton-{version}.dist-info" / "METADATA").write_text(f"Name: triton\nVersion: {version}\n")
        said.append(shrink("triage", "--python", sys.executable, "--no-reduce", "log.txt", cwd=tmp_path).err)
    anew = "all is run anew, for an earlier call ran it with other versions: triton 9.1.0 then, 9.2.0 now"
    assert [anew in each for each in said] == [False, True, False], said
    assert ["run 1 of 1" in each for each in said] == [True, True, False], said


@pytest.mark.slow
def test_tests_that_are_run_to_find_failures_are_kept_one_by_one(tmp_path: Path) -> None:
    """On the virtual GPU. What is taken from the loop before its end is there after it is broken off."""
    lines = ("import pytest", "def test_a(): assert 0", "def test_b(): pytest.skip('no')", "def test_c(): assert 0")
    (tmp_path / "test_it.py").write_text("\n".join(lines) + "\n")
    asked = TriageAsked((), (".",), tmp_path / "triage")
    place = TriagePlace(sys.executable, 90, {}, tmp_path, 120.0)
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        if line.startswith("test 2 of 3") and said.count(line) == 1:
            raise KeyboardInterrupt

    with closing(ThisMachine(1)) as engine, closing(TriageJournal(asked.output, {}, place.versions)) as journal:
        work = TriageWork(asked, place, engine, journal, say)
        reports: dict[int, ReportedFailure] = {}
        find(work, reports, 0.0)
        assert reports == {} and journal.failures is None
        assert said == ["3 tests are not run: their part of the time is over"]
        with pytest.raises(KeyboardInterrupt):
            find(work, reports, math.inf)
        assert reports[0].node == "test_it.py::test_a" and list(journal.first_runs) == [reports[0].node]
        every: dict[int, ReportedFailure] = {}
        find(work, every, math.inf)
        assert [*every.values()] == journal.failures and [each.node[-1] for each in every.values()] == ["a", "c"]
        told = [f"test {n} of 3: test_it.py::test_{name}" for n, name in ((1, "a"), (2, "b"), (2, "b"), (3, "c"))]
        assert said[1:] == told


CARRY = """\
import torch, triton
import triton.language as tl

@triton.jit
def NAME(y, x, opening):
    total, brought = opening, 0
    for page in tl.range(2, flatten=True):
        for index in range(2):
            total += tl.load(y + page * 8 + index)
        total += brought
        brought = total
        tl.store(x + page, total)

def run():
    NAME[(1,)](torch.zeros(24, dtype=torch.int32, device="cuda"), torch.zeros(4, dtype=torch.int32, device="cuda"), 0)
"""
ASSEMBLY = """\
import torch, triton
import triton.language as tl
import go

@triton.jit
def kernel(x):
    tl.store(x, tl.inline_asm_elementwise("nonsense $0, $1;", "=r,r", [tl.load(x)], tl.int32, True, 1))

def run():
    go.launch(kernel, torch.zeros(4, dtype=torch.int32, device="cuda"))
"""


@pytest.mark.slow
def test_a_pass_that_fails_alike_is_one_cause_and_two_kernels_of_one_name_are_two(tmp_path: Path) -> None:
    """ptxas names no line of the kernel. Both are launched by one line of the host's."""
    files = {"a": CARRY.replace("NAME", "one"), "b": CARRY.replace("NAME", "other"), "c": ASSEMBLY, "d": ASSEMBLY}
    files["go"] = "def launch(kernel, x):\n    kernel[(1,)](x)\n"
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "test_it.py").write_text("".join(f"def test_{n}():\n    import {n}; {n}.run()\n" for n in "abcd"))
    with Reruns(TriagePlace(sys.executable, 90, {}, tmp_path, 120.0)) as reruns:
        nodes = [f"test_it.py::test_{name}" for name in "abcd"]
        found = [reruns.rerun(ReportedFailure(node, "log", "RuntimeError: no", "", node)) for node in nodes]
    one, other, third, fourth = (each.origin for each in found)
    assert one is not None and one == other and "TritonGPUFuseNestedLoops" in one.kind, found
    assert third is not None and third != fourth and (third.kernel, third.statement) == ("kernel", "c.py"), found


@pytest.mark.slow
def test_capsules_of_one_launch_are_one_cause(tmp_path: Path) -> None:
    held = tmp_path / "held"
    held.mkdir()
    _, capsule = run_captured(tmp_path, programs.COMPILES_NOT)
    for name in ("one", "two"):
        (held / f"{name}.json").write_text(json.dumps(capsule))
    worse = json.dumps(capsule["launches"][0]).replace("tl.store(x + tl.arange(0, N), 1.0)", "tl.static_assert(N == 4)")
    both = {**capsule, "exact": False, "launches": [json.loads(worse), *capsule["launches"]]}
    (held / "three.json").write_text(json.dumps(both))  # a launch before it fails by an error of its own
    _, told = triage(tmp_path, *WORDS, "--no-reduce", "held")
    [cluster] = told["clusters"]
    assert len(cluster["members"]) == 3 and cluster["origin"]["kernel"] == "broken", cluster


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "which failures? Usage: shrink triage junit.xml, or shrink triage -- pytest tests/"),
        (("--", "make", "test"), "only pytest is run here"),
        (("nothing.xml",), "cannot read nothing.xml"),
        (("--merge", "empty"), "empty is no shard of a triage: name what shrink triage --shard wrote"),
        (("--merge",), "what is merged? Usage: shrink triage --merge DIR DIR"),
        (("--shard", "1/2", "--", "pytest", "."), "--shard with -- pytest needs --arch"),
        (("--shard", "3/2", "fine.log"), "--shard 3/2: write 2/3 for the second of three"),
        (("--accelerator", "H100", "fine.log"), "--accelerator chooses among the machines of --ray"),
        (("empty",), "empty is an empty folder"),
        (("--shrink-args", "'", "fine.log"), "--shrink-args: No closing quotation"),
        (("--arch", "hopper", "fine.log"), "--arch hopper: name an architecture"),
        (("fine.log",), "no failure is told of there"),
        (("page.xml",), "no failure is told of there"),
        (("--", "pytest", "no_such_test.py"), "pytest no_such_test.py ran no test (exit code 4): "),
    ],
)
def test_bad_input_is_told_in_a_line(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "fine.log").write_text("all is well\n")
    (tmp_path / "page.xml").write_text("<html><body>no tests</body></html>\n")
    done = refused("triage", *words, cwd=tmp_path)
    assert done.code == 2 and said in done.message and "Traceback" not in done.err, done.err
    assert not re.search(r"\n.", done.message) and os.listdir(tmp_path / "empty") == []


def test_shards_run_a_part_each_and_together_they_are_one_triage(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("import os\ndef test_a(): raise ValueError('a')\ndef test_b(): os._exit(3)\n")
    told = ["FAILED test_it.py::test_a - ValueError: a", "FAILED other.py::test_c - TypeError: c"]
    (tmp_path / "log.txt").write_text("\n".join([*told, "FAILED test_it.py::test_b - ValueError: b"]) + "\n")
    place = ("--python", sys.executable)
    _, whole = triage(tmp_path, *place, "--no-reduce", "log.txt")
    _, first = triage(tmp_path, *place, "--shard", "1/2", "-o", "one", "log.txt")
    _, second = triage(tmp_path, *place, "--shard", "2/2", "-o", "two", "log.txt")
    assert sorted([*members(first), *members(second)]) == [["test_a"], ["test_b"], ["test_c"]]
    _, merged = triage(tmp_path, "--merge", "two", "one", "-o", "both")

    def without_times(told: Any) -> Any:
        if isinstance(told, dict):
            return {name: without_times(each) for name, each in told.items() if name != "seconds"}
        return [without_times(each) for each in told] if isinstance(told, list) else told

    assert without_times(merged) == without_times(whole) and (tmp_path / "both" / "index.md").exists()
    done = shrink("triage", "--arch", "sm_90", "--merge", "one", "two", "--shard", "1/2", cwd=tmp_path)
    assert done.code == 2 and "the shards were run without --arch: reduce them in the same way" in done.err
