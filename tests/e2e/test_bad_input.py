"""Bad input: one clear message each, exit code 2 or 3, and nothing of the user's touched."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import has_gpu
from tests.e2e.command import Said, refused, shrink, shrinking, step

FAULTS = "rows = [1, 2, 3]\nprint('looking')\nprint(rows[7])\n"
CUDA = "import torch\nx = torch.zeros(4, device='cuda')\ntorch.cuda.synchronize()\nraise IndexError('late')\n"
INDEX = ("--oracle", "exception:IndexError")


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "failing.py"
    path.write_text(FAULTS)
    return path


def check(said: Said, code: int, *words: str, folder: Path) -> None:
    """One message, with these words in it; of several lines only where they are the script's own last ones."""
    assert said.code == code, said
    assert said.message.startswith("shrink: "), said
    assert said.err.count("\nshrink: ") + said.err.startswith("shrink: ") == 1
    assert "\nTraceback" not in "\n" + said.err and said.out == ""
    assert code == 3 or "\n" not in said.message
    for word in words:
        assert word in said.message, said.message
    left = {path.name for path in folder.iterdir() if path.suffix != ".shrink"}
    assert not any(name.startswith("repro_") for name in left), "a result without a reduction"
    assert code != 3 or not any(folder.glob("*.shrink")), "a program that does not show the fault leaves nothing"
    assert all(any(made.iterdir()) for made in folder.glob("*.shrink") if made.is_dir()), "no folder is left empty"


@pytest.mark.parametrize(
    "words, message",
    [
        ((), "which file?"),
        (("missing.py",), "missing.py: cannot be read"),
        (("folder",), "folder is a folder"),
        (("latin.py",), "latin.py: not Python"),
        (("notebook.ipynb",), "notebook.ipynb: cannot be read"),
        (("kernel.cuh",), "name the script that builds and launches it"),
        (("failing.py", "--output", "nowhere/repro.py"), "nowhere is not a folder"),
        (("failing.py", "--output", "folder"), "name a file with --output"),
        (("failing.py", "--output", "n" * 250 + ".py"), "Choose a shorter one"),
        (("failing.py", "--output", "n" * 300 + ".py"), "Choose a shorter"),
        (("n" * 300 + ".py",), "File name too long"),
        (("two\nlines.py",), r"'two\nlines.py': a line break or a double quote in a path"),
        (('quo"ted.py', "--check"), """'quo"ted.py': a line break or a double quote in a path"""),
        (("failing.py", "--output", "two\x85lines.py"), "Rename it, or the folder"),
        (("chain.py",), "chain.py: its code is nested more than 100 deep, to line 1. Split the chain"),
        (("deepest.py",), "deepest.py: its code is nested too deep for Python's parser. Split the chain"),
        (("elif.py",), "elif.py: its code is nested more than 100 deep"),
        (("failing.py", "--output", "failing.py"), "never overwritten"),
        (("failing.py", "--output", "/proc/repro.py"), "Choose another place with --output"),
        (("failing.py", "--python", "nothing"), "no such interpreter"),
        (("failing.py", "--python", "/bin/true"), "not a Python interpreter"),
        (("failing.py", "--arch", "hopper"), "such as sm_80, sm_90, sm_100 or gfx942"),
        (("failing.py", "--arch", "sm_12"), "such as sm_80, sm_90, sm_100 or gfx942"),
        (("failing.py", "--env", "SIZE"), "write it as NAME=VALUE"),
        (("failing.py", "--cwd", "nowhere"), "'nowhere' does not exist"),
        (("failing.py", "--skip-pass", "magic"), "no such pass; --list-passes tells all"),
        (("failing.py", "--keep", "magic"), "no such name in failing.py"),
        (("failing.py", "--check", "--keep", "magic"), "no such name in failing.py"),
        (("failing.py", "--check", "--no-guards", "--control", "serial"), "leaves all controls out"),
        (("failing.py", "--arch", "sm_95"), "such as sm_80, sm_90, sm_100 or gfx942"),
        (("--faster", "failing.py"), "No such option '--faster'"),
        (("failing.py", "--orcale", "x"), "Did you mean '--oracle'? If it is for failing.py, write it behind --"),
        (("failing.py", "--max_time", "5"), "Did you mean '--max-time'?"),
        (("failing.py", "-osmall.py"), "Did you mean '-o small.py'?"),
        (("failing.py", "--jobs", "none"), "'none' is not a valid integer"),
        (("failing.py", "--timeout", "0"), "--timeout"),
        (("failing.py", "--timeout", "nan"), "--timeout nan"),
        (("failing.py", "--confidence", "nan"), "--confidence nan"),
        (("failing.py", "--resume", "--restart"), "choose one"),
        (("failing.py", "--no-guards", "--control", "num_stages=1"), "leaves all controls out"),
        (("failing.py", "--oracle", "script:/bin/true", "--control", "serial"), "no control can be turned"),
        (("failing.py", "--oracle", "nondeterministic", "--arch", "sm_90"), "needs a GPU"),
        (("failing.py", "--oracle", "regex:("), "bad regex"),
        (("failing.py", "--oracle", ""), "The oracle is empty"),
        (("failing.py", "--oracle", "signal:SIGFOO"), "names no signal"),
        (("failing.py", "--oracle", "script:./no.sh"), "there is no file"),
        (("failing.py", "--oracle", "timeout"), "--timeout"),
        (("failing.py", "--publish", "never"), "'never' is not one of 'replace', 'strict'"),
        (("failing.py", "--publish", "strict", "--", "--api-key=abcdef"), "an option with a secret in the arguments"),
        (("failing.py", "--publish", "strict", "--env", "HF_TOKEN=xyzxyz"), "the value of HF_TOKEN in the environment"),
    ],
)
def test_a_wrong_command_line(script: Path, words: tuple[str, ...], message: str) -> None:
    folder = script.parent
    (folder / "folder").mkdir()
    (folder / "latin.py").write_text("def f(:\n")
    (folder / "two\nlines.py").write_text(FAULTS)
    (folder / 'quo"ted.py').write_text(FAULTS)
    (folder / "chain.py").write_text(f"x = a{'.b' * 500}\n")
    (folder / "deepest.py").write_text(f"x = a{'.b' * 5000}\n")
    arms = "".join(f"elif x == {n}:\n    pass\n" for n in range(1200))
    (folder / "elif.py").write_text(f"x = 1\nif x == 0:\n    pass\n{arms}")
    check(refused(*words, cwd=folder), 2, message, folder=folder)
    assert script.read_text() == FAULTS


def test_a_folder_that_may_not_be_written(script: Path) -> None:
    (script.parent / "failing.shrink").write_text("a file of the user's, where the folder should go")
    check(shrink("failing.py", *INDEX, cwd=script.parent), 2, "failing.shrink", folder=script.parent)
    assert "user's" in (script.parent / "failing.shrink").read_text()


def test_a_folder_where_the_result_should_go(script: Path) -> None:
    (script.parent / "repro_failing.py").mkdir()
    said = refused("failing.py", *INDEX, cwd=script.parent)
    assert said.code == 2 and "repro_failing.py is a folder: name a file with --output" in said.message
    assert not (script.parent / "failing.shrink").exists()


def test_an_oracle_that_never_matches_names_the_one_that_would(script: Path) -> None:
    said = shrink("failing.py", "--oracle", "misaligned address", cwd=script.parent)
    check(said, 3, "IndexError: list index out of range", "would have matched: --oracle", folder=script.parent)
    again = shrink("failing.py", "--oracle", "exception:KeyError", cwd=script.parent)
    check(again, 3, "would have matched: --oracle exception:IndexError", folder=script.parent)


def test_a_misspelled_oracle_is_doubted_before_the_program_runs(script: Path) -> None:
    said = shrink("failing.py", "--oracle", "complie:foo", cwd=script.parent)
    assert said.err.startswith("warning: 'complie:foo' is taken as plain words; did you mean 'compile:foo'?\n")


def test_the_oracle_that_is_shown_can_be_typed_again(script: Path) -> None:
    script.write_text('raise ValueError("it\'s 3.5 of [7]")\n')
    said = shrink("failing.py", "--check", cwd=script.parent)
    head, _, oracle = said.out.strip().partition(" shows ")
    [spec] = shlex.split(oracle)
    assert not {"\\", "'"} & set(spec), "what shows Markdown would eat them"
    assert shrink("failing.py", "--check", "--oracle", spec, cwd=script.parent).out == said.out


@pytest.mark.parametrize("text", ["", "print('all is well')\n"], ids=["empty", "passing"])
def test_a_script_that_passes(tmp_path: Path, text: str) -> None:
    (tmp_path / "fine.py").write_text(text)
    check(shrink("fine.py", cwd=tmp_path), 3, "ends without a fault", "no --oracle says", folder=tmp_path)
    check(shrink("fine.py", *INDEX, cwd=tmp_path), 3, "ended well (exit 0)", folder=tmp_path)


@pytest.mark.parametrize(
    ("text", "words", "oracle"),
    [
        ("[project]\n", "in NameError: name 'project' is not defined. Is that the right file?", "exception:NameError"),
        ("import argparse\nargparse.ArgumentParser().parse_args()\n", "unrecognized arguments: extra", "exit:2"),
    ],
)
def test_what_is_no_fault_of_a_kernel_is_asked_about_and_not_adopted(
    tmp_path: Path, text: str, words: str, oracle: str
) -> None:
    (tmp_path / "other.py").write_text(text)
    check(shrink("other.py", "extra", cwd=tmp_path), 2, words, f"ask for --oracle {oracle}", folder=tmp_path)
    assert not (tmp_path / "other.shrink").exists(), "what was refused leaves nothing"
    assert shrink("other.py", "extra", "--check", "--oracle", oracle, cwd=tmp_path).code == 0


def test_a_missing_module(tmp_path: Path) -> None:
    (tmp_path / "needy.py").write_text("import no_such_module\n")
    check(shrink("needy.py", *INDEX, cwd=tmp_path), 2, "no_such_module", "--python", folder=tmp_path)
    check(shrink("needy.py", cwd=tmp_path), 2, "no_such_module", "--python", folder=tmp_path)
    assert not (tmp_path / "needy.shrink").exists()


def test_an_interpreter_without_torch(tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    (tmp_path / "on_gpu.py").write_text(CUDA)
    said = shrink("on_gpu.py", *INDEX, "--arch", "sm_90", "--python", bare / "bin" / "python", cwd=tmp_path)
    check(said, 2, "does not run in", "the module torch", folder=tmp_path)


@pytest.mark.skipif(has_gpu(), reason="needs a machine without a GPU")
def test_cuda_without_a_gpu_hints_at_arch(tmp_path: Path) -> None:
    (tmp_path / "on_gpu.py").write_text(CUDA)
    check(shrink("on_gpu.py", *INDEX, cwd=tmp_path), 2, "finds no GPU", "--arch sm_90", folder=tmp_path)


def test_a_timeout_shorter_than_the_run(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("import time\ntime.sleep(100)\n[][0]\n")
    said = shrink("slow.py", *INDEX, "--timeout", "1", cwd=tmp_path)
    check(said, 3, "still running after 1 s (--timeout)", folder=tmp_path)


def test_a_script_that_writes_beside_itself(tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("precious")
    (tmp_path / "writes.py").write_text("open('data.txt', 'w').write('gone')\nprint([][1])\n")
    said = shrink("writes.py", *INDEX, cwd=tmp_path)
    assert said.code == 0, said.err
    assert (tmp_path / "data.txt").read_text() == "gone", "the program itself runs as its user runs it"
    assert (tmp_path / "repro_writes.py").read_text() == "[][0]\n"
    if "in a forked worker" in said.err:  # the kernel has Landlock
        assert f"--writable {tmp_path} allows it" in said.err


def test_two_at_work_in_one_folder(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("import time\ntime.sleep(100)\n")
    with shrinking("slow.py", *INDEX, cwd=tmp_path) as first:
        assert first.stderr is not None and "running slow.py" in first.stderr.readline()
        check(shrink("slow.py", *INDEX, cwd=tmp_path), 2, "Another shrink is at work", folder=tmp_path)
        check(shrink("slow.py", *INDEX, "--restart", cwd=tmp_path), 2, "Another shrink is at work", folder=tmp_path)


def test_an_unfinished_reduction_is_not_begun_anew_unasked(script: Path) -> None:
    with shrinking("failing.py", *INDEX, "--verbose", cwd=script.parent) as process:
        assert step(process, 1)
    said = shrink("failing.py", *INDEX, cwd=script.parent)
    check(said, 2, "--resume to go on with it or --restart", folder=script.parent)
    said = shrink("failing.py", "--oracle", "exit:1", "--resume", cwd=script.parent)
    check(said, 2, "oracle", "--restart", folder=script.parent)
