"""`pytest --shrink`: the failing GPU tests of a session are reduced after it, and its exit status stays."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from _pytest.config import _prepareconfig

from shrinkray_gpu.cli.pytest_shrink import FailingTests, ordered, slug
from shrinkray_gpu.device.own_commands import finished
from tests.e2e.command import environment
from tests.e2e.test_pytest_plugin import INSTALLED, MODULE, run

FAST = "--no-report --jobs 1"
HEAD = """\
import torch, triton
import triton.language as tl


@triton.jit
def broken(x):
    tl.store(x + tl.arange(0, 3), 1.0)


@triton.jit
def good(x):
    tl.store(x, 1.0)


"""
COMPILES = "def test_compiles():\n    broken.warmup(torch.float32, grid=(1,))\n\n\n"
PLAIN = "def test_plain():\n    assert 1 + 1 == 3\n\n\n"
AFTER = "def test_after():\n    good.warmup(torch.float32, grid=(1,))\n    assert 1 + 1 == 3, 'sums'\n\n\n"
FINE = "def test_fine():\n    pass\n\n\n"
TARGET = """\
import pytest
from triton.backends.compiler import GPUTarget
from triton.runtime import driver


class Driver:  # stands in for a GPU, so that kernels compile in the session itself
    def get_current_target(self):
        return GPUTarget("cuda", 90, 32)

    def get_current_device(self):
        return 0

    def get_current_stream(self, device=None):
        return 0


@pytest.fixture(autouse=True)
def target():
    if "shrinkray_inside" not in __import__("sys").modules:
        driver.set_active(Driver())
"""


def session(
    folder: Path, *words: str, tests: str, args: str = FAST, ini: str = "", xdist: bool = False
) -> subprocess.CompletedProcess[str]:
    """What tests without kernels need of torch is nothing, and its import is dear."""
    kernels = "broken" in tests or "good" in tests
    (folder / "test_gpu.py").write_text(HEAD + tests if kernels else tests)
    (folder / "conftest.py").write_text(TARGET if kernels else "")
    (folder / "pytest.ini").write_text(f"[pytest]\naddopts = {ini}\n")
    more = ("-n", "2") if xdist else ()
    given = ("--shrink-arch", "sm_90", "--shrink-time", "2", f"--shrink-args={args}")
    return run("--tb=no", *given, *more, *words, cwd=folder)


def told(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """What the summary says below each test."""
    section = re.split(r"^=+ [\w ]+ =+$", done.stdout.partition(" shrink ==")[2], flags=re.M)[0]
    return {node: text.strip() for node, text in re.findall(r"^(\S+):\n((?:  .*\n)+)", section, re.M)}


@pytest.mark.slow
def test_what_fails_by_a_kernel_is_reduced_and_all_else_is_left(tmp_path: Path) -> None:
    """The settings of the project ask for it, and the pytest inside of the reduction does not obey them once more."""
    done = session(tmp_path, tests=COMPILES + PLAIN + AFTER + FINE, ini="--shrink", args="--jobs 1")
    found = told(done)
    assert done.returncode == 1 and "3 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    place = Path("shrink-results/test_gpu_test_compiles")
    repro = place / "repro_test_gpu_test_compiles.py"
    assert re.match(rf"reduced to \d+ lines, \d+ tokens: {repro}\n", found["test_gpu.py::test_compiles"]), done.stdout
    assert "tl.arange(0, 3)" in (tmp_path / repro).read_text() and "pytest" not in (tmp_path / repro).read_text()
    issue = found["test_gpu.py::test_compiles"].partition("to attach: ")[2]
    assert issue == str(place / "pytest_test_gpu.shrink" / "ISSUE.md") and (tmp_path / issue).is_file()
    left = "left as it is, since it fails for no reason of a GPU's: "
    assert found["test_gpu.py::test_plain"] == left + "no kernel was compiled or launched before it failed"
    assert found["test_gpu.py::test_after"].startswith(left + "python fault: AssertionError: sums, and nothing that a")
    assert len(found) == 3 and not (tmp_path / "shrink-results" / "test_gpu_test_plain").exists()


@pytest.mark.slow
def test_one_process_of_many_reduces_and_no_more_than_asked(tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    tests = PLAIN + PLAIN.replace("plain", "other")
    done = session(tmp_path, "--shrink", "--shrink-max", "1", "--shrink-dir", "out", tests=tests, xdist=True)
    assert done.returncode == 1 and "2 failed" in done.stdout, done.stdout + done.stderr
    assert len(told(done)) == 1 and "1 more failing test is not reduced: --shrink-max 1" in done.stdout
    assert done.stdout.count("left as it is") == 1 and not (tmp_path / "out").exists()


def test_without_the_option_and_where_nothing_fails_nothing_is_told(tmp_path: Path) -> None:
    assert " shrink ==" not in session(tmp_path, tests=PLAIN).stdout
    done = session(tmp_path, "--shrink", tests=FINE)
    assert done.returncode == 0 and " shrink ==" not in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--shrink-arch", "hopper"], "--shrink-arch: --arch hopper: name an architecture"),
        (["--shrink-max", "0"], "--shrink-max 0: one test at least"),
        (["--shrink-time", "nan"], "--shrink-time nan: give a number of seconds above 0"),
        (["--shrink", "--shrink-args", "'"], "--shrink-args: No closing quotation"),
    ],
)
def test_options_that_are_wrong_end_it_before_it_begins(tmp_path: Path, words: list[str], said: str) -> None:
    done = run(".", *words, cwd=tmp_path)
    assert done.returncode == 4 and said in done.stderr and "Traceback" not in done.stderr


def test_a_wrong_option_for_shrink_is_told_in_a_line(tmp_path: Path) -> None:
    done = session(tmp_path, "--shrink", tests=PLAIN, args="--oracel=x")
    assert done.returncode == 1
    assert told(done)["test_gpu.py::test_plain"].startswith("not reduced: No such option '--oracel'. Did you mean")


COUNTS = """\
import pathlib, signal, sys, time
seen = []
signal.signal(signal.SIGINT, lambda *_: seen.append(1))
pathlib.Path("begun").touch()
while not seen:
    time.sleep(0.05)
time.sleep(float(sys.argv[1]))
print(len(seen))
sys.exit(130)
"""


def counts(seconds: float) -> list[str]:
    """A command that takes so long after it was told to end, and says how often it was."""
    return [sys.executable, "-c", COUNTS, str(seconds)]


def test_a_reduction_is_told_to_end_once(tmp_path: Path) -> None:
    done = finished(counts(2), tmp_path, limit=5, patience=60)
    assert done is not None and (done.code, done.out, done.interrupted) == (130, "1\n", False)


def test_one_that_does_not_end_is_ended(tmp_path: Path) -> None:
    began = time.monotonic()
    assert finished(counts(300), tmp_path, limit=5, patience=1) is None
    assert time.monotonic() - began < 60


def test_ctrl_c_leaves_its_result(tmp_path: Path) -> None:
    text = (
        "import sys\nfrom pathlib import Path\nfrom shrinkray_gpu.device.own_commands import finished\n"
        f"done = finished({counts(1)!r}, Path('.'), limit=100, patience=60)\n"
        "print((done.code, done.out, done.interrupted))\n"
    )
    root = str(Path(__file__).parents[2])
    asked = subprocess.Popen(
        [sys.executable, "-c", text],
        cwd=tmp_path,
        env={**environment(), "PYTHONPATH": root},
        stdout=subprocess.PIPE,
        text=True,
    )
    while not (tmp_path / "begun").exists():
        time.sleep(0.1)
    asked.send_signal(signal.SIGINT)
    assert asked.communicate(timeout=100)[0] == "(130, '1\\n', True)\n"


def test_the_interpreter_is_the_session_s_unless_another_is_named(tmp_path: Path) -> None:
    words = [*([] if INSTALLED else ["-p", MODULE]), "--rootdir", str(tmp_path), "--shrink-args", "--python other"]
    command = FailingTests(_prepareconfig(words)).command("test_a.py::test_b", tmp_path)
    at = [i for i, word in enumerate(command) if word == "--python"]
    assert [command[i + 1] for i in at] == [sys.executable, "other"]


def test_the_first_of_each_test_comes_before_its_other_parameters() -> None:
    assert ordered(["a::x[1]", "a::x[2]", "a::y", "a::x[3]"]) == ["a::x[1]", "a::y", "a::x[2]", "a::x[3]"]


def test_each_test_has_a_folder_of_its_own() -> None:
    assert slug("tests/test_ops.py::TestSum::test_it[8-fp16]") == "tests_test_ops_TestSum_test_it_8_fp16"
    names = ("t[é]", "t[è]", f"t[{200 * 'x'}]", f"t[{201 * 'x'}]")
    odd = [slug(f"a.py::{name}") for name in names]
    assert len(set(odd)) == 4 and max(map(len, odd)) < 90
