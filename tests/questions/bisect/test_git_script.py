"""The script for `git bisect run`, run by git on a repository whose commits decide what a program does."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu.questions.bisect.git_script import git_script

FAILING = """\
import sys

sys.path.insert(0, {repository!r})
import decides

decides.go()
"""
COMMITS = 12
FIRST_BAD = 8
BROKEN = (5, 9)
NEVER = "pass"
FAULT = "{}['gone']"
BY_CHANCE = "import os\n    if os.urandom(1)[0] < 250:\n        {}['gone']"


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "advice.detachedHead=false"]
    done = subprocess.run(["git", *identity, *words], cwd=folder, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def history(folder: Path, fault: str) -> tuple[Path, list[str]]:
    """A program, and the commits of the module that decides what it does: some do not build."""
    repository = folder / "repository"
    repository.mkdir()
    git(repository, "init", "-q")
    commits = []
    for number in range(COMMITS):
        syntax = "(" if number in BROKEN else ""
        body = fault if number >= FIRST_BAD else NEVER
        (repository / "decides.py").write_text(f"# {number}\ndef go():\n    {body}\n{syntax}\n")
        git(repository, "add", "-A")
        git(repository, "commit", "-q", "-m", str(number))
        commits.append(git(repository, "rev-parse", "HEAD").strip())
    program = folder / "failing.py"
    program.write_text(FAILING.format(repository=str(repository)))
    return program, commits


def script(program: Path, *words: str) -> str:
    command = [sys.executable, "-m", "shrinkray_gpu", "bisect", str(program), "--print-script", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


WORDS = (
    "--oracle", "exception:KeyError", "--python", sys.executable,
    "--build", "python3 -m py_compile decides.py",
)  # fmt: skip


@pytest.mark.slow
def test_git_finds_the_commit(tmp_path: Path) -> None:
    program, commits = history(tmp_path, FAULT)
    (tmp_path / "check.sh").write_text(script(program, *WORDS))
    repository = tmp_path / "repository"
    git(repository, "bisect", "start", commits[-1], commits[0])
    told = git(repository, "bisect", "run", "sh", str(tmp_path / "check.sh"))
    assert f"{commits[FIRST_BAD]} is the first bad commit" in told, told


def verdict(folder: Path, commit: str, text: str) -> int:
    git(folder, "checkout", "-q", commit)
    return subprocess.run(["sh", "-c", text], cwd=folder, capture_output=True, timeout=400).returncode


@pytest.mark.slow
def test_each_kind_of_commit_has_its_code(tmp_path: Path) -> None:
    program, commits = history(tmp_path, BY_CHANCE)
    text, repository = script(program, *WORDS, "--rate", "0.8", "--confidence", "0.9"), tmp_path / "repository"
    assert verdict(repository, commits[BROKEN[0]], text) == 125
    assert verdict(repository, commits[0], text.replace("-lt 3 ", "-lt 1 ")) == 0
    assert verdict(repository, commits[-1], text) == 1  # 77,000 times in 77,001
    assert verdict(repository, commits[0], text.replace("exception:KeyError", "'regex:('")) == 125
    never_mind = text.replace("exception:KeyError", "exception:OSError").replace("-lt 3 ", "-lt 1 ")
    (repository / "decides.py").write_text("def go():\n    {}['gone']\n")
    assert subprocess.run(["sh", "-c", never_mind], cwd=repository, capture_output=True, timeout=400).returncode == 125


def test_a_rare_fault_is_looked_for_more_often() -> None:
    given: dict[str, Any] = {"oracle": ("nan",), "reject": (), "env": ()} | dict.fromkeys(
        ("arch", "python", "cwd", "timeout", "build")
    )

    def runs(rate: float) -> int:
        text = git_script(Path("x.py"), (), {**given, "rate": rate, "confidence": 0.95})
        return int(text.partition("-lt ")[2].split()[0])

    assert runs(1.0) == 1 and runs(0.5) == 8 and runs(0.05) == 107
    rng, often = random.Random(1), runs(0.5)
    missed = sum(all(rng.random() >= 0.5 for _ in range(often)) for _ in range(20_000))
    assert missed / 20_000 * 12 < 0.06


def test_the_script_is_one_that_sh_reads_with_odd_names_in_it(tmp_path: Path) -> None:
    path = tmp_path / "it's $odd.py"
    path.write_text("x = 1\n")
    words = ("--oracle", "words with 'quotes'", "--arch", "sm_90", "--build", "make 'a b' || false")
    text = script(path, *words, "--", "--seed", "3")
    assert subprocess.run(["sh", "-n"], input=text, text=True, capture_output=True).stderr == ""
    assert text.count("--arch sm_90 ") == 2, "each check of it"
    assert "-- --seed 3" in text and os.fspath(tmp_path) in text


CHECK = """\
#!/bin/sh
case " $* " in
    *" --oracle "*) exit "$WITH_ORACLE" ;;
    *) exit "$ANY" ;;
esac
"""


def outcome(folder: Path, *, build: str = "true", asked: int = 3, any_fault: int = 3) -> int:
    """The exit code of the script, where `shrink check` and the build end with these."""
    interpreter = folder / "interpreter"
    interpreter.write_text(CHECK)
    interpreter.chmod(0o755)
    (folder / "failing.py").write_text("x = 1\n")
    text = script(folder / "failing.py", "--oracle", "nan", "--python", sys.executable, "--build", build)
    text = text.replace(f"{sys.executable} -m shrinkray_gpu", f"{interpreter} -m shrinkray_gpu")
    codes = {"WITH_ORACLE": str(asked), "ANY": str(any_fault)}
    return subprocess.run(["sh", "-c", text], env={**os.environ, **codes}, capture_output=True, timeout=60).returncode


def test_only_a_program_without_any_fault_makes_a_good_commit(tmp_path: Path) -> None:
    assert outcome(tmp_path) == 0 and outcome(tmp_path, asked=0) == 1
    assert [outcome(tmp_path, any_fault=code) for code in (0, 1, 2, 130, 137)] == [125, 125, 125, 255, 125]


def test_a_build_command_that_is_not_there_ends_the_bisection(tmp_path: Path) -> None:
    builds = ("exit 1", "no-such-command", "/dev/null", "exit 130")
    assert [outcome(tmp_path, build=build) for build in builds] == [125, 255, 255, 255]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--python", "/no/such/python"], "cannot run the interpreter /no/such/python"),
        (["--arch", "sm_x"], "--arch sm_x: name an architecture"),
        (["--env", "NAME"], "--env NAME: write it as NAME=VALUE"),
    ],
)
def test_what_every_commit_would_be_skipped_for_is_refused(tmp_path: Path, words: list[str], told: str) -> None:
    (tmp_path / "failing.py").write_text("x = 1\n")
    command = [sys.executable, "-m", "shrinkray_gpu", "bisect", str(tmp_path / "failing.py"), "--print-script"]
    done = subprocess.run([*command, "--oracle", "nan", *words], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "") and told in done.stderr, done.stderr


def test_the_script_is_the_same_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.getcwd())
    monkeypatch.chdir(tmp_path)
    Path("failing.py").write_text("x = 1\n")
    Path("test.sh").write_text("#!/bin/sh\n")
    Path("test.sh").chmod(0o755)
    Path("python").symlink_to(sys.executable)
    (tmp_path / "below").mkdir()
    text = script(Path("failing.py"), "--oracle", "script:./test.sh", "--reject", "nan", "--python", "./python")
    for words in (f"--oracle script:{tmp_path}/test.sh --reject nan", f"--python {tmp_path}/python --cwd {tmp_path} "):
        assert words in text, text
    assert f"--cwd {tmp_path}/below " in script(Path("failing.py"), "--oracle", "nan", "--cwd", "below")


def test_a_file_name_is_no_command(tmp_path: Path) -> None:
    path = tmp_path / "a; touch made; $(touch made) ' `touch made`.py"
    path.write_text("x = 1\n")
    text = script(path, "--oracle", "nan", "--build", "exit 1")
    assert subprocess.run(["sh", "-c", text], cwd=tmp_path, capture_output=True, timeout=60).returncode == 125
    assert not (tmp_path / "made").exists()
