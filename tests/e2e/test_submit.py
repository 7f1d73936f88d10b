"""`shrink submit` opens the page of a new issue filled in, and only after a yes at a terminal."""

from __future__ import annotations

import os
import pty
import select
import subprocess
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.attachment.test_submission import issue
from tests.e2e.command import SHRINK, environment, refused, shrink

BODY = "### Describe the bug\n\n> **Likely no bug of Triton.** By what follows: an error of the program.\n\nit\n"


@pytest.fixture
def reduced(tmp_path: Path) -> Path:
    """The folder with failing.py and its failing.shrink, as far as this command looks."""
    (tmp_path / "failing.py").write_text("raise SystemExit\n")
    (tmp_path / "failing.shrink").mkdir()
    issue(tmp_path / "failing.shrink", BODY)
    return tmp_path


@pytest.mark.parametrize("words", [(), ("failing.py",), ("failing.shrink",), ("failing.shrink/ISSUE.md",)])
def test_it_prints_the_page_and_opens_nothing(reduced: Path, words: tuple[str, ...]) -> None:
    said = shrink("submit", *words, "--print", cwd=reduced)
    title, url = said.out.splitlines()
    assert said.code == 0 and title == "Triton: crash & #1, Triton 3.7.1"
    assert parse_qs(urlsplit(url).query)["body"] == [BODY.strip()]
    assert said.err.splitlines() == ["Likely no bug of Triton. By what follows: an error of the program."]


def program(folder: Path, name: str, code: int = 0) -> None:
    """One that writes down how it is called."""
    path = folder / name
    path.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {folder}/{name}.called\nexit {code}\n')
    path.chmod(0o755)


def at_a_terminal(answer: str, folder: Path) -> str:
    """What the command says at one where a person answers."""
    mine, its = pty.openpty()
    variables = {**environment(), "PATH": f"{folder}:/usr/bin:/bin", "BROWSER": f"{folder}/browser %s"}
    command = [*SHRINK, "submit", "failing.py"]
    with subprocess.Popen(command, cwd=folder, env=variables, stdin=its, stdout=its, stderr=its) as run:
        os.close(its)
        said = ""
        while "[y/N]" not in said:
            assert select.select([mine], [], [], 60)[0], said
            said += os.read(mine, 4096).decode()
        os.write(mine, answer.encode())
        assert run.wait(60) == 0
    os.close(mine)
    return said


def test_a_no_opens_nothing(reduced: Path) -> None:
    for name in ("gh", "browser"):
        program(reduced, name)
    assert "Likely no bug" in at_a_terminal("\n", reduced), "what speaks against it is told before the question"
    assert not [*reduced.glob("*.called")]


def test_a_yes_opens_it_by_gh_where_that_is_installed(reduced: Path) -> None:
    for name in ("gh", "browser"):
        program(reduced, name)
    at_a_terminal("y\n", reduced)
    called = (reduced / "gh.called").read_text()
    assert called.startswith(
        "issue\ncreate\n--web\n--repo\ntriton-lang/triton\n--title\ncrash & #1, Triton 3.7.1\n--body\n"
    )
    assert called.endswith(f"{BODY.strip()}\n") and not (reduced / "browser.called").exists()


@pytest.mark.parametrize("failing_gh", [False, True])
def test_else_the_browser_opens_the_address(reduced: Path, failing_gh: bool) -> None:
    program(reduced, "browser")
    if failing_gh:
        program(reduced, "gh", code=1)
    at_a_terminal("y\n", reduced)
    assert (
        (reduced / "browser.called").read_text().startswith("https://github.com/triton-lang/triton/issues/new?title=")
    )


def test_without_a_terminal_nobody_is_asked_and_nothing_opened(reduced: Path) -> None:
    said = shrink("submit", cwd=reduced)
    assert said.code == 0 and "not opened: nobody can be asked here" in said.err and "https://" in said.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("gone.py",), "gone.py is not there: name the program that was reduced"),
        (("other.py",), "cannot read other.shrink/ISSUE.md (No such file or directory): shrink report FOLDER makes it"),
        (("other",), "cannot read other/ISSUE.md"),
        ((), "which ISSUE.md? Here is failing.shrink, third.shrink. Name the folder"),
        (("--for", "triton"), "No such option '--for'"),
    ],
)
def test_bad_input_is_one_line(reduced: Path, words: tuple[str, ...], message: str) -> None:
    (reduced / "other.py").write_text("")
    (reduced / "other").mkdir()
    (reduced / "third.shrink").mkdir()
    issue(reduced / "third.shrink", "it")
    said = refused("submit", *words, cwd=reduced)
    assert (said.code, said.out) == (2, "") and message in said.message and "\n" not in said.message
