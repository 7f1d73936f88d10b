"""`shrink --sources DIR -- COMMAND` as its users call it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.e2e.command import refused, shrink

RUN = """\
#!/bin/sh
# Stands for a build.
for file in src/*.cpp; do
  if grep -q "needle()" "$file"; then echo "fatal: cannot lower $file" >&2; exit 3; fi
done
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "run.sh").write_text(RUN)
    (root / "run.sh").chmod(0o755)
    (root / "NOTES.md").write_text("# Notes\n\nnone\n")
    for name, called in (("a", "one()"), ("b", "needle()")):
        (root / "src" / f"{name}.cpp").write_text(f"void {name}() {{\n  int x = 1;\n  {called};\n}}\n")
    return tmp_path


def snapshot(root: Path) -> dict[str, tuple[bytes, int]]:
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in root.rglob("*") if path.is_file()}


def test_a_folder_to_its_smallest(project: Path) -> None:
    before = snapshot(project / "project")
    said = shrink(
        *("--sources", "project", "--oracle", "cannot lower", "--jobs", "1", "--json", "--", "./run.sh"),
        cwd=project,
        report=True,
    )
    assert said.code == 0, said.err
    told = said.result
    result = project / "repro_project"
    assert snapshot(project / "project") == before
    assert told["files"] == [4, 2] and told["bytes"][1] < told["bytes"][0] * 0.6 and told["fault"] == "cannot lower"
    assert [path.name for path in result.rglob("*.cpp")] == ["b.cpp"]
    assert len((result / "src" / "b.cpp").read_text()) < 15
    assert not list(project.glob(".repro*")), "nothing of ours is left"
    assert "is a folder that a command runs in" in refused("replay", "repro_project", cwd=project).message
    again = subprocess.run([result / told["script"]], capture_output=True, text=True)
    assert again.returncode == 3 and "cannot lower" in again.stderr


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--sources", "none", "--", "./run.sh"), 2, "does not exist"),
        (("--sources", "project", "--", "./gone.sh"), 2, "there is no program 'gone.sh', neither in"),
        (("--sources", "project", "--", "./NOTES.md"), 2, "is not executable"),
        (("--sources", "project", "--", "nosuchtool"), 2, "there is no program 'nosuchtool'"),
        (("--sources", "project", "-m", "pytest"), 2, "the command stands behind --"),
        (("--sources", "project", "--resume", "--", "./run.sh"), 2, "goes on from its result"),
        (("--sources", "project", "--arch", "sm_90", "--", "./run.sh"), 2, "--arch is for programs"),
        (("--sources", "project", "-o", "project/x", "--", "./run.sh"), 2, "is in the folder of sources"),
        (("--sources", "project", "--oracle", "sass:X", "--", "./run.sh"), 2, "nothing else is seen from outside"),
        (("--sources", "project", "--oracle", "timeout", "--", "./run.sh"), 2, "needs --timeout"),
        (("--sources", "project", "--check", "--", "true"), 3, "shows no fault"),
        (("--sources", "project", "--oracle", "nan", "--", "./run.sh"), 3, "does not show 'nan'"),
    ],
)
def test_bad_input_is_one_line(project: Path, words: tuple[str, ...], code: int, message: str) -> None:
    said = refused(*words, cwd=project)
    assert said.code == code and message in said.message, said.err


def test_a_command_that_names_its_own_folder_or_writes_elsewhere_is_told(project: Path) -> None:
    root = project / "project"
    said = refused("--sources", "project", "--", "sh", str(root / "run.sh"), cwd=project)
    assert said.code == 2 and "by its absolute path" in said.message
    (root / "run.sh").write_text(f"#!/bin/sh\necho x > '{project}/out' || exit 0\necho fault: here >&2\nexit 1\n")
    said = refused("--sources", "project", "--oracle", "fault: here", "--", "./run.sh", cwd=project)
    assert said.code == 3 and "only without the fence" in said.message and "--writable" in said.message
    allowed = ("--writable", str(project), "--check")
    words = ("--sources", "project", "--oracle", "fault: here", *allowed, "--", "./run.sh")
    said = shrink(*words, cwd=project, report=True)
    assert said.code == 0 and "shows 'fault: here'" in said.out, said.err
