"""`shrink bisect FILE` from end to end: real wheels of an index, real environments, real runs on the virtual GPU."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from shrinkray_gpu.corpus import environments
from tests.questions.bisect.wheels import index

pytest.importorskip("triton")
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("bisect")]

SURE = """\
import triton

if triton.BUILD == 4:
    raise OSError("another fault")
if triton.BUILD >= 6:
    {}["gone"]
"""
FLAKY = """\
import os, sys
import triton

turns = int.from_bytes(os.urandom(2), "big")
if triton.BUILD >= 3 and turns % 2:
    {}["gone"]
"""


@dataclass(frozen=True)
class Releases:
    """Builds 1 to 8, each a nightly of its own. Build 7 has a wheel that cannot be read."""

    folder: Path
    url: str

    def command(self, file: Path, *words: str) -> list[str]:
        return [sys.executable, "-m", "shrinkray_gpu", "bisect", str(file), "--index", self.url, "--arch", "sm_90",
                "--oracle", "exception:KeyError", *words]  # fmt: skip

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "SHRINK_ENVIRONMENTS": str(self.folder / "environments")}

    def bisect(self, file: Path, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(file, *words), capture_output=True, text=True, env=self.environment, timeout=240
        )


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Releases:
    folder = tmp_path_factory.mktemp("releases")
    url = index(folder / "index", {f"9.0.dev{build}+gc{build}": build for build in range(1, 9)})
    (folder / "index" / "triton" / "triton-9.0.dev7+gc7-py3-none-any.whl").write_text("no wheel")
    return Releases(folder, url)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "failing.py"
    path.write_text(SURE)
    return path


def test_the_release_in_which_a_fault_began(releases: Releases, program: Path) -> None:
    done = releases.bisect(program, "--good", "9.0.dev1", "--bad", "gc8")
    assert done.returncode == 0, done.stderr
    assert "the fault began in triton 9.0.dev6+gc6 (probability 0." in done.stdout.splitlines()[-1]
    assert "  triton 9.0.dev8+gc8: faults (it ends in KeyError: 'gone')" in done.stderr
    again = releases.bisect(program, "--good", "9.0.dev1", "--bad", "gc8", "--json")
    told = json.loads(again.stdout)
    assert (again.returncode, told["found"], told["kind"], told["change"]) == (0, True, "began", ["9.0.dev6+gc6"])
    assert sum(row["probability"] for row in told["releases"]) == pytest.approx(1, abs=0.001)


def test_another_fault_and_a_wheel_that_cannot_be_installed_are_no_answer(releases: Releases, program: Path) -> None:
    program.write_text(SURE.replace("BUILD >= 6", "BUILD >= 5"))
    done = releases.bisect(program, "--good", "9.0.dev3", "--bad", "gc6")
    assert done.returncode == 0, done.stderr
    assert "the fault began in one of triton 9.0.dev4+gc4, 9.0.dev5+gc5 (probability" in done.stdout
    assert "no answer: another fault: python fault: OSError: another fault" in done.stdout
    program.write_text(SURE.replace("BUILD >= 6", "BUILD >= 8"))
    done = releases.bisect(program, "--good", "9.0.dev6", "--bad", "gc8", "--restart")
    assert done.returncode == 3, done.stderr
    told = done.stdout.splitlines()[-1]
    assert told.startswith("not found to one release: the fault began in one of triton 9.0.dev7+gc7, 9.0.dev8+gc8")
    assert told.endswith("; 9.0.dev7+gc7 could not be installed"), told
    assert "no answer: cannot install triton 9.0.dev7+gc7" in done.stdout


def test_what_is_in_the_way_of_an_installation_is_no_answer_of_a_release(program: Path, tmp_path: Path) -> None:
    """A wheel that cannot be fetched now, and an index that does not answer: pip has the same words for a release that
    there is not."""
    place = tmp_path / "index"
    here = Releases(tmp_path, index(place, {f"9.0.dev{build}+gc{build}": build for build in (5, 6)}))
    (wheel,) = (place / "triton").glob("*gc5*.whl")
    words, told = ("--good", "gc5", "--bad", "gc6"), "That is no answer of triton 9.0.dev5+gc5: mend it"
    wheel.rename(tmp_path / wheel.name)
    done = here.bisect(program, *words)
    assert done.returncode == 2 and told in done.stderr.splitlines()[-1], done.stderr
    place.rename(tmp_path / "away")
    done = here.bisect(program, *words)
    assert done.returncode == 2 and told in (last := done.stderr.splitlines()[-1]), done.stderr
    assert "cannot install triton 9.0.dev5+gc5: no index answers" in last
    (tmp_path / "away").rename(place)
    (tmp_path / wheel.name).rename(wheel)
    done = here.bisect(program, *words)
    assert done.returncode == 0 and "going on with 3 answers" in done.stderr, done.stderr


def test_a_restart_with_a_slip_in_it_forgets_nothing_and_secrets_are_not_written(
    releases: Releases, program: Path
) -> None:
    journal = program.with_name("failing.bisect") / "journal.jsonl"
    words = ("--good", "gc5", "--bad", "gc6", "--env", "MY_TOKEN=hunter2")
    assert releases.bisect(program, *words).returncode == 0
    before = journal.read_text()
    assert "hunter2" not in before and "MY_TOKEN" in before
    done = releases.bisect(program, "--good", "gc5", "--bad", "9.9", "--restart")
    assert done.returncode == 2 and "--bad 9.9: no triton 9.9" in done.stderr and journal.read_text() == before


def test_the_release_in_which_it_ended(releases: Releases, program: Path) -> None:
    program.write_text(SURE.replace("BUILD >= 6", "BUILD < int(open('until.txt').read())"))
    (program.parent / "until.txt").write_text("3")
    done = releases.bisect(program, "--good", "9.0.dev5", "--bad", "9.0.dev1", "--cwd", str(program.parent))
    assert done.returncode == 0, done.stderr
    assert "the fault ended in triton 9.0.dev3+gc3 (probability" in done.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    ("good", "bad", "told"),
    [
        ("gc6", "gc8", "the good end is not good: 1 of 1 runs of triton 9.0.dev6+gc6 showed the fault. Name another"),
        ("gc1", "gc3", "the bad end is not bad: none of 10 runs of triton 9.0.dev3+gc3 showed the fault. Name another"),
        ("gc1", "gc7", "the bad end cannot be run here: triton 9.0.dev7+gc7: cannot install triton 9.0.dev7+gc7"),
        ("gc4", "gc6", "the good end cannot be run here: triton 9.0.dev4+gc4: another fault"),
        ("gc1", "9.1", "--bad 9.1: no triton 9.1 can be installed here; near it there are 9.0.dev7+gc7, 9.0.dev8+gc8"),
    ],
)
def test_ends_that_are_not_what_they_are_said_to_be(
    releases: Releases, program: Path, good: str, bad: str, told: str
) -> None:
    done = releases.bisect(program, "--good", good, "--bad", bad)
    assert done.returncode == 2 and told in done.stderr.splitlines()[-1] and done.stdout == "", done.stderr


def test_ctrl_c_loses_nothing(releases: Releases, program: Path) -> None:
    words = ("--good", "9.0.dev1", "--bad", "gc8")
    with subprocess.Popen(
        releases.command(program, *words), env=releases.environment, text=True, stderr=subprocess.PIPE
    ) as running:
        assert running.stderr is not None
        answers = 0
        for line in running.stderr:
            answers += line.startswith("  triton ")
            if answers == 2:
                break
        running.send_signal(signal.SIGINT)
        left = running.stderr.read()
    assert running.returncode == 130 and "every answer so far is kept" in left
    done = releases.bisect(program, *words)
    first = next(line for line in done.stderr.splitlines() if line.startswith("going on with"))
    assert int(first.split()[3]) >= 2 and first.endswith("failing.bisect/journal.jsonl"), done.stderr
    assert done.returncode == 0 and "the fault began in triton 9.0.dev6+gc6" in done.stdout


def test_without_an_oracle_the_fault_of_the_bad_release_is_taken(releases: Releases, program: Path) -> None:
    command = releases.command(program, "--good", "gc5", "--bad", "gc6")
    at = command.index("--oracle")
    done = subprocess.run(
        command[:at] + command[at + 2 :], capture_output=True, text=True, env=releases.environment, timeout=240
    )
    assert done.returncode == 0 and "the fault began in triton 9.0.dev6+gc6" in done.stdout, done.stderr


def test_a_flaky_fault_is_not_named_without_the_confidence(releases: Releases, program: Path) -> None:
    program.write_text(FLAKY)
    words = ("--good", "gc1", "--bad", "gc6", "--confidence", "0.999999999")
    done = releases.bisect(program, *words, "--runs", "12")
    if done.returncode == 2:  # twelve runs without the fault: one in 4,096
        assert "is not bad" in done.stderr
        return
    assert done.returncode == 3, done.stderr
    assert "not found to the confidence of 0.999999999: it is between triton" in done.stdout


def test_over_torch_the_triton_that_it_pins_moves_along_and_that_is_told(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHRINK_ENVIRONMENTS", str(tmp_path / "environments"))
    index(tmp_path / "index", {"9.0.dev1": 1, "9.0.dev2": 2})
    needs = {f"2.0.{build}": [f"triton==9.0.dev{1 + build // 3}"] for build in (2, 3)}  # the first one pins none
    url = index(tmp_path / "index", {f"2.0.{build}": build for build in (1, 2, 3)}, "torch", needs)
    program.write_text("import torch, triton\nif torch.BUILD >= 3:\n    assert triton.BUILD == 2\n    {}['gone']\n")
    there = Releases(tmp_path, url)
    done = there.bisect(program, "--over", "torch", "--good", "2.0.2", "--bad", "2.0.3")
    assert done.returncode == 0, done.stderr
    assert "the fault began in torch 2.0.3 (probability" in done.stdout
    assert done.stdout.splitlines()[-1] == (
        "Triton moved along, and may be what changed: 9.0.dev1 with torch 2.0.2, 9.0.dev2 with torch 2.0.3. "
        "Search --over triton, too"
    )
    python = environments.with_torch("2.0.1", python=sys.executable, index=url)
    assert environments.triton_of(python) == environments.triton_of(sys.executable)  # held


PAIR = "import torch, triton\nif {}:\n    {{}}['gone']\n"


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Releases:
    folder = tmp_path_factory.mktemp("pairs")
    index(folder / "index", {f"9.0.dev{build}": build for build in (1, 2, 3)})
    return Releases(folder, index(folder / "index", {f"2.0.{build}": build for build in (1, 2, 3)}, "torch"))


@pytest.mark.parametrize(
    ("condition", "code", "told"),
    [
        (
            "torch.BUILD >= 2 and triton.BUILD >= 3",
            0,
            r"a fault of the pair: the fault began in triton 9.0.dev3 \(probability [\d.]+\); the fault began in torch "
            r"2.0.2 \(probability [\d.]+\); triton 9.0.dev1 with torch 2.0.3 and triton 9.0.dev3 with torch 2.0.1 "
            r"are good",
        ),
        ("torch.BUILD >= 3", 0, r"the fault began in torch 2.0.3 \(probability [\d.]+\); triton has no part in it"),
        (
            "torch.BUILD >= 2 or triton.BUILD >= 2",
            3,
            "not found: triton 9.0.dev1 with torch 2.0.3 shows the fault, and so does triton 9.0.dev3 with torch 2.0.1",
        ),
    ],
)
def test_a_fault_of_a_pair_and_one_of_a_single_package(
    pairs: Releases, program: Path, condition: str, code: int, told: str
) -> None:
    program.write_text(PAIR.format(condition))
    words = ("--over", "triton,torch", "--good", "9.0.dev1,2.0.1", "--bad", "9.0.dev3,2.0.3")
    done = pairs.bisect(program, *words)
    assert done.returncode == code and re.match(told, done.stdout.splitlines()[-1]), done.stdout + done.stderr
    again = pairs.bisect(program, *words, "--json")  # from the answers of both searches
    assert again.returncode == code and json.loads(again.stdout)["verdict"] == done.stdout.splitlines()[-1], (
        again.stderr
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--good", "1", "--bad", "2", "--over", "triton,ptxas"], "--good 1: give one release of each of --over"),
        (["--good", "1,1", "--bad", "2,2", "--over", "triton,triton"], "--over triton,triton: name one of torch,"),
        (["--good", "1", "--bad", "2", "--over", "numpy"], "--over numpy: name one of torch, triton, ptxas, or two"),
        (["--good", "1,1", "--bad", "2,2", "--over", "triton,driver"], "a driver cannot be installed aside"),
        (["--good", "1", "--bad", "2", "--over", "driver"], "a driver cannot be installed aside"),
        (["--good", "1", "--bad", "2", "--over", "torch", "--triton", "3.6.0"], "--triton is for --over triton"),
        ([], "between which releases? Give --good V, too"),
        (["--good", "1"], "between which releases? Give --bad V, too"),
        (["--good", "1", "--bad", "2", "--reject", "nan"], "give that, too"),
        (["--good", "1", "--bad", "2", "--over", "ptxas", "--index", "x"], "--index is for --over triton"),
        (["--good", "1", "--bad", "2", "--oracle", "regex:("], "regex:("),
        (["--good", "1", "--bad", "2", "--confidence", "0.2"], "--confidence"),
    ],
)
def test_what_it_refuses(program: Path, words: list[str], told: str) -> None:
    command = [sys.executable, "-m", "shrinkray_gpu", "bisect", str(program), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and told in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr
