"""The commands as a newcomer finds them: in the help, by completion, after a slip."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from shrinkray_gpu.cli.main import COMMANDS, command, main
from shrinkray_gpu.cli.reduce import check_command, reduce_command
from shrinkray_gpu.cli.words import OneLineComplaints

RUNNER = CliRunner()


def said(*words: str) -> str:
    """What a command says that ends well."""
    done = RUNNER.invoke(main, list(words), terminal_width=100)
    assert done.exit_code == 0, done.output
    return done.output


def complaint(*words: str) -> str:
    done = RUNNER.invoke(main, list(words))
    assert done.exit_code == 2 and done.output.count("\n") == 1, done.output
    return done.output


def test_the_help_shows_each_command_and_each_option() -> None:
    text = said("--help")
    assert all(f"\n  {name} " in text for name in COMMANDS)
    shown = {name for each in reduce_command.params for name in each.opts if not getattr(each, "hidden", False)}
    assert {name for name in shown if name.startswith("--") and name not in text} == set()


@pytest.mark.parametrize("name", ["reduce", "triage", "replay", "bisect", "ir", "sweep", "explain"])
def test_each_option_is_in_one_group_of_eight_at_most(name: str) -> None:
    of = command(name)
    assert isinstance(of, OneLineComplaints)
    names = [each for group in of.panels.values() for each in group]
    assert all(len(group) <= 8 for group in of.panels.values())
    options = [each for each in of.params if each.param_type_name == "option" and not each.hidden]  # type: ignore[attr-defined]
    left = [each.opts for each in options if not {name.lstrip("-") for name in each.opts} & set(names)]
    assert left == [] and len(names) == len(set(names)) == len(options) + len(["help"])


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_is_that_of_its_own_help_option(name: str) -> None:
    assert said("help", name) == said(name, "--help").replace("Usage: main", "Usage: shrink")
    assert command(name).name == ("shrink" if name == "reduce" else f"shrink {name}")


def test_no_help_shows_a_range_as_click_writes_it() -> None:
    assert not [name for name in COMMANDS if "[x>" in said("help", name) or "RANGE" in said("help", name)]


def test_the_words_are_told_and_none_is_left_out() -> None:
    page = (Path(__file__).parents[2] / "docs" / "words.md").read_text()
    words = [line.split(" | ")[0].removeprefix("| ") for line in page.splitlines() if line.startswith("| ")][2:]
    told = said("help", "words")
    assert len(words) > 15 and all(f"\n  {word}" in told for word in words)
    assert "](" not in told and "`" not in told
    assert "Did you mean shrink help words?" in complaint("help", "wrods")


def test_help_of_what_is_below_a_command_and_of_nothing() -> None:
    assert said("help", "corpus", "add").startswith("Usage: shrink corpus add [OPTIONS] FOLDER")
    assert said("help") == said("--help")
    assert "Did you mean shrink help sweep?" in complaint("help", "swep")


def test_a_slip_in_a_command_is_answered_unless_it_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "Did you mean shrink explain?" in complaint("explian", "x.py")
    assert "cannot be read" in complaint("train", "--quiet") and "cannot be read" in complaint("explian.py", "--quiet")
    (tmp_path / "explian").write_text("this is no program of the kind that reduces\n")
    assert "Did you mean shrink" not in RUNNER.invoke(main, ["explian", "--quiet", "--arch", "x"]).output


def test_only_an_option_that_is_like_what_was_typed_is_proposed() -> None:
    assert complaint("--arc", "sm_90", "x.py").startswith("shrink: No such option '--arc'. Did you mean --arch? (")
    assert "Did you mean" not in complaint("--zzz", "x.py")


def test_a_slip_in_the_name_of_a_pass() -> None:
    assert "did you mean loops?" in complaint("x.py", "--skip-pass", "loop")
    assert len(complaint("x.py", "--skip-pass", "foo")) < 100


def completed(*words: str) -> list[str]:
    """What bash offers for the last of these words."""
    line = {"COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1), "_SHRINK_COMPLETE": "bash_complete"}
    run = [sys.executable, "-m", "shrinkray_gpu"]
    return subprocess.check_output(run, env={**os.environ, **line}, text=True).splitlines()


def test_completion_offers_commands_files_and_options() -> None:
    assert completed("shrink", "re") == ["plain,reduce", "plain,report", "plain,replay", "file,re"]
    assert "plain,--oracle" in completed("shrink", "--or")
    assert completed("shrink", "failing.py", "--max") == ["plain,--max-time"]
    assert completed("shrink", "explain", "--int") == ["plain,--intermittent"]
    assert completed("shrink", "corpus", "sh") == ["plain,show"]


@pytest.mark.parametrize(
    ("words", "code"), [(["--oracle", "exception:KeyError"], 0), (["--oracle", "exception:ValueError"], 3)]
)
def test_check_is_a_command_and_an_option(words: list[str], code: int, tmp_path: Path) -> None:
    (tmp_path / "failing.py").write_text("raise KeyError(1)\n")
    run = [sys.executable, "-m", "shrinkray_gpu"]
    told = [
        subprocess.run([*run, *asked, *words], cwd=tmp_path, capture_output=True, text=True)
        for asked in (["check", "failing.py"], ["failing.py", "--check-only"])
    ]
    assert [one.returncode for one in told] == [code, code] and told[0].stdout == told[1].stdout
    assert sorted(tmp_path.iterdir()) == [tmp_path / "failing.py"]
    assert {each.name for each in check_command.params} < {each.name for each in reduce_command.params}


def test_check_without_a_file_names_itself() -> None:
    assert "Usage: shrink check FILE" in complaint("check")
    assert "Usage: shrink FILE" in complaint()


@pytest.mark.parametrize(
    ("word", "message"), [("--outptu", "no such option '--outptu'"), ("./nothing", "there is no program ./nothing")]
)
def test_launches_looks_for_the_program_before_it_makes_a_folder(
    word: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in complaint("launches", word, "x") and list(tmp_path.iterdir()) == []


def test_elsewhere_than_on_linux_one_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert complaint("failing.py").startswith(
        "shrink: this is win32, and shrink runs on Linux only (on Windows: in WSL 2)"
    )


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_that_line_comes_though_modules_of_unix_are_missing(platform: str, tmp_path: Path) -> None:
    script = (
        "import click, shutil, sys\n"  # from 3.12 on shutil needs a module of Windows there
        "for name in ('fcntl', 'grp', 'pty', 'pwd', 'resource', 'termios'): sys.modules[name] = None\n"
        "sys.platform = sys.argv.pop(1)\n"
        "from shrinkray_gpu.cli.main import main\n"
        "main()\n"
    )
    run = [sys.executable, "-c", script, platform, "x.py"]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"shrink: this is {platform}, and shrink runs on Linux only (on Windows: in WSL 2)\n"


def test_bisect_takes_a_case_of_a_corpus(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    assert "corpus" in complaint("bisect", "missing", "--corpus", str(tmp_path / "corpus"))
