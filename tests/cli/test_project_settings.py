"""`[tool.shrink]` of pyproject.toml: the nearest one counts, below the command line and the environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu.cli import main
from shrinkray_gpu.cli.main import COMMANDS
from shrinkray_gpu.cli.project_settings import find
from tests.e2e.command import refused, shrink

CORPUS = Path(__file__).parents[2] / "corpus"
REDUCE = main.command("reduce")


def defaults(folder: Path, text: str, command: str = "reduce") -> dict[str, Any]:
    (folder / "pyproject.toml").write_text(text)
    found = find(folder)
    assert found is not None
    return found.defaults(main.command(command), REDUCE)


def test_options_by_their_long_names(tmp_path: Path) -> None:
    text = '[tool.shrink]\narch = "sm_90"\njobs = 2\nmax-time = 60\nno-report = true\nenv = ["A=1", "B=2"]\n'
    text += 'keep = "x"\n'
    wanted = {"arch": "sm_90", "jobs": 2, "max_time": 60, "no_report": True, "env": ["A=1", "B=2"], "keep": ["x"]}
    assert defaults(tmp_path, text) == wanted
    assert defaults(tmp_path, text, "replay") == {"arch": "sm_90", "jobs": 2, "env": ["A=1", "B=2"]}


def test_paths_are_meant_from_the_file(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    text = '[tool.shrink]\npython = "{}"\ncwd = "run"\n'
    made = defaults(tmp_path, text.format(".venv/bin/python"))
    assert made == {"python": str(tmp_path / ".venv/bin/python"), "cwd": str(tmp_path / "run")}
    assert defaults(tmp_path, text.format("python3.12"))["python"] == "python3.12", "a command"
    assert defaults(tmp_path, text.format("run"), "replay")["pythons"] == [str(tmp_path / "run")]


def test_a_report_is_made_with_the_interpreter_of_its_reduction(tmp_path: Path) -> None:
    assert defaults(tmp_path, '[tool.shrink]\npython = ".venv"\njobs = 3\n', "report") == {"jobs": 3}


def test_the_nearest_table_counts_alone(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text('[tool.shrink]\narch = "sm_80"\njobs = 1\n')
    (tmp_path / "a" / "pyproject.toml").write_text('[project]\nname = "no-shrink-here"\n')
    found = find(inner)
    assert found is not None and found.file == tmp_path / "pyproject.toml"
    (inner / "pyproject.toml").write_text("tool.shrink.jobs = 2\n")
    assert (found := find(inner)) is not None and found.values == {"jobs": 2}


@pytest.mark.parametrize(
    "text, message",
    [
        ("arhc = 'sm_90'", "[tool.shrink] arhc: no such option. Did you mean arch?"),
        ("max_time = 9", "[tool.shrink] max_time: no such option. Did you mean max-time?"),
        ("output = 'x.py'", "--output is for a command line, not for a project"),
        ("jobs = 'two'", "[tool.shrink] jobs = 'two': 'two' is not a valid integer"),
        ("jobs = [1, 2]", "that is no value of --jobs"),
        ("timeout = true", "--timeout takes a value"),
        ("zip = 'no'", "--zip takes true or false"),
        ("env.A = '1'", "that is no value of --env"),
        ("arch = ", "pyproject.toml is no TOML"),
        ("jobs = 1\n[tool]\nshrink = 1", "pyproject.toml is no TOML"),
    ],
)
@pytest.mark.parametrize("command", ["check", "explain", "replay"])
def test_a_mistake_is_one_clear_line(text: str, message: str, command: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.shrink]\n{text}\n")
    said = refused(command, "failing.py", cwd=tmp_path)
    assert said.code == 2 and message in said.message and str(tmp_path / "pyproject.toml") in said.message
    assert said.err.count("\n") == 1, said


def test_a_table_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool]\nshrink = 1\n")
    assert "tool.shrink is no table" in refused("failing.py", cwd=tmp_path).message


def test_help_and_completion_do_not_stumble_over_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.shrink]\narhc = 1\n")
    monkeypatch.chdir(tmp_path)
    for words in (["--help"], ["explain", "--help"], ["help", "explain"], ["--version"]):
        main.main(words)  # which would end with exit code 2
    for name in COMMANDS:
        context = main.command(name).make_context(name, [], resilient_parsing=True)
        assert context.default_map is None


def test_the_command_line_and_the_environment_win(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.shrink]\narch = "sm_1"\n')
    assert "--arch sm_1:" in refused("failing.py", cwd=tmp_path).message
    assert "--arch sm_2:" in refused("failing.py", "--arch", "sm_2", cwd=tmp_path).message
    monkeypatch.setenv("SHRINK_ARCH", "sm_3")
    for command in ("reduce", "explain", "replay"):
        assert "--arch sm_3:" in refused(command, "failing.py", cwd=tmp_path).message
    assert "--arch sm_2:" in refused("failing.py", "--arch", "sm_2", cwd=tmp_path).message


def test_what_comes_from_there_is_told(tmp_path: Path) -> None:
    (tmp_path / "failing.py").write_text("print([1][3])\n")
    (tmp_path / "pyproject.toml").write_text("[tool.shrink]\njobs = 1\ntimeout = 77\n")
    said = shrink("check", "failing.py", cwd=tmp_path)
    assert said.code == 0 and "exception:IndexError" in said.out
    assert f"from {tmp_path / 'pyproject.toml'}: jobs 1, timeout 77" in said.err, said.err


def test_of_the_environment_no_values_are_told(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.shrink]\nenv = ["HF_TOKEN=hf_abcdefgh1234"]\n')
    (tmp_path / "failing.py").write_text("raise KeyError('x')\n")
    said = shrink("failing.py", "--check", "--oracle", "exception:KeyError", cwd=tmp_path)
    assert said.code == 0 and "pyproject.toml: env" in said.err and "hf_abcdefgh" not in said.out + said.err


def test_help_of_the_program_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.shrink]\nenv = ["OF_PROJECT=1"]\n')
    text = "import os, sys\nassert sys.argv[1:] == ['-h', '8']\nos.environ['OF_PROJECT']\n[][0]\n"
    (tmp_path / "failing.py").write_text(text)
    said = shrink("failing.py", "--check", "--oracle", "exception:IndexError", "--", "-h", "8", cwd=tmp_path)
    assert said.code == 0, said


def test_a_bisection_needs_network(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.shrink]\nsandbox = "bwrap"\n')
    said = refused("bisect", "no_such_case", "--corpus", str(CORPUS), cwd=tmp_path)
    assert said.code == 2 and "no_such_case" in said.message, said
