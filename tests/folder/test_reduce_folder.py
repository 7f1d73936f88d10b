"""The first runs of a command: which fault they show, how often, and what is said of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.errors import NotReproduced
from shrinkray_gpu.folder.options import FolderOptions
from shrinkray_gpu.folder.reduce_folder import check_folder, reduce_folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def options(root: Path, script: str, *oracles: str, **others: object) -> FolderOptions:
    (root / "run.sh").write_text(f"#!/bin/sh\n{script}\n")
    (root / "run.sh").chmod(0o755)
    return FolderOptions(command=("./run.sh",), oracles=oracles, **others)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("script", "oracle"),
    [
        ("sleep 1000", "hang:0.5"),
        ("kill -SEGV $$", "signal:SIGSEGV"),
        ("sh -c 'kill -SEGV $$'", "signal:SIGSEGV"),
        ("exit 3", "exit:3"),
        ("echo 'a.cu: warning: spills' ; exit 0", "build:warning: spills"),
        ("echo 'misaligned address' ; exit 1", "misaligned address"),
        ("touch seen; exit 1", "script:{folder}/test.sh"),
        ('echo "error: no $PWD/x" >&2; exit 1', "error: no {folder}/project/x"),
    ],
)
def test_any_oracle_on_what_a_command_prints_and_how_it_ends(root: Path, script: str, oracle: str) -> None:
    (root.parent / "test.sh").write_text('#!/bin/sh\ntest -e seen && test "$(pwd)" = "$1"\n')
    (root.parent / "test.sh").chmod(0o755)
    spec = oracle.format(folder=root.parent)
    assert check_folder(root, options(root, script, spec)) == spec


def test_words_of_a_command_that_ends_well_are_no_fault(root: Path) -> None:
    with pytest.raises(NotReproduced, match="build:REGEX"):
        check_folder(root, options(root, "echo 'warning: spills'", "warning: spills"))


def test_a_flaky_command_is_told_and_each_candidate_gets_several_runs(root: Path) -> None:
    count, said = root.parent / "count", list[str]()
    count.mkdir()
    third = f"test $(( $(wc -l < {count}/runs) % 3 )) = 0"
    script = f"echo x >> {count}/runs; {third} || exit 0\necho 'error: it' >&2; exit 1"
    flaky = options(root, script, "error: it", writable=(count,))
    assert check_folder(root, flaky, say=said.append) == "error: it"
    assert any(line.startswith("flaky: the fault shows in 4 of 12 runs, so up to 20 runs") for line in said), said


def test_a_file_that_names_the_folder_by_its_absolute_path_is_told(root: Path) -> None:
    said: list[str] = []
    check_folder(root, options(root, f"test -e {root}/run.sh && exit 4", "exit:4"), say=said.append)
    assert any(line.startswith(f"run.sh: names {root} by its absolute path") for line in said), said


@pytest.mark.parametrize(("guards", "left"), [(True, {"a.txt", "b.txt"}), (False, set())])
def test_a_candidate_that_says_another_error_or_ends_otherwise_is_none(
    root: Path, guards: bool, left: set[str]
) -> None:
    script = "test -e a.txt || echo 'error: no input'\necho 'error: it'\ntest -e b.txt || exit 2\nexit 1"
    for name in "abc":
        (root / f"{name}.txt").write_text("")
    asked = options(root, script, "error: it", guards=guards)
    (root / ".gitignore").write_text("run.sh\n")  # so it is only carried along
    output = root.with_name("result")
    result = reduce_folder(root, asked, output)
    assert {path.name for path in output.iterdir()} == left | {"run.sh", "shrink_run.sh"}
    assert result.ended == "done" and result.files == (4, len(left)) and not result.refuted and result.carried == 1
