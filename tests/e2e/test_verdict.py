"""Whose fault it is, at the top of what a reduction tells: an error of the program, or a bug below, known or not."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from tests.e2e.command import Said, only, shrink
from tests.e2e.test_frontends import FLAGS, KERNEL

CORPUS = Path(__file__).parents[2] / "corpus"
NOBODY_ELSES = "an error of the program, and no bug of Triton, PyTorch or NVIDIA: there is nothing to report there"


def reduced(*words: str, cwd: Path) -> Said:
    said = shrink(*words, *only("unreachable"), "--max-time", "10", cwd=cwd, report=True)
    assert said.code == 0 and "no attachment" not in said.err, said
    return said


def rows(out: str) -> list[str]:
    """What is told below the repro."""
    return re.findall(r"^  \S.*$", out, re.MULTILINE)


def test_an_error_in_a_kernel(tmp_path: Path) -> None:
    (tmp_path / "run.py").write_text(f"{KERNEL}{FLAGS}copied(torch.ones(1000, device='cuda'), given.op)\n")
    words = ("--op", "safe", "--arch", "sm_90", "--oracle", "illegal memory access")
    said = reduced("run.py", *words, cwd=tmp_path).out
    head, lines = said.splitlines()[0], rows(said)
    assert head.startswith("reduced: ") or head.startswith("out of time")
    assert lines[0].startswith("  verdict: kernel source at run.py:8 (by Triton's IR, followed for the whole launch)")
    assert lines[1:3] == ["  reached: run.py:14 launches copy_rows", f"  upstream: {NOBODY_ELSES}"]
    enough = [line for line in lines if line.startswith("  enough: ")]  # under load the time for it may be over
    assert all(line.startswith("  enough: mask=at < n in tl.load(...) (run.py:8)") for line in enough), enough
    issue = (tmp_path / "run.shrink" / "ISSUE.md").read_text()
    assert issue.splitlines()[2] == f"> **Likely no bug of Triton.** By what follows: {NOBODY_ELSES}."
    assert issue.index(NOBODY_ELSES) < issue.index("run.py:14 launches copy") < issue.index("```python")
    page = (tmp_path / "run.shrink" / "report.html").read_text()
    for fact in (NOBODY_ELSES, "kernel source at run.py:8", "run.py:14 launches copy_rows"):
        assert page.index(fact) < page.index('id="fault"'), "the page begins with the verdict, too"
    assert '<span class="badge program">your program: kernel source</span>' in page
    again = shrink("report", "run.shrink", cwd=tmp_path)
    assert again.code == 0 and NOBODY_ELSES in (tmp_path / "run.shrink" / "ISSUE.md").read_text()
    told = json.loads((tmp_path / "run.shrink" / "result.json").read_text())
    assert told["verdict"]["upstream"] == NOBODY_ELSES and told["seconds"]["verdict"] < 60


def test_an_error_in_python_and_how_it_was_reached(tmp_path: Path) -> None:
    (tmp_path / "rows.py").write_text("def find(rows, n):\n    return rows[n]\n")
    (tmp_path / "look.py").write_text("from rows import find\n\ndef main():\n    find([1], 7)\n\nmain()\n")
    lines = rows(reduced("look.py", cwd=tmp_path).out)
    assert lines[:3] == [
        "  verdict: host program at rows.py:2 (by Python): IndexError: list index out of range",
        "  reached: look.py:6, look.py:4, rows.py:2",
        f"  upstream: {NOBODY_ELSES}",
    ]


def test_what_an_installed_package_raises_is_not_told_to_be_the_program_s(tmp_path: Path) -> None:
    (tmp_path / "deep.py").write_text("from packaging.version import Version\nVersion('no')\n")
    said = shrink("explain", "deep.py", cwd=tmp_path)
    assert "verdict      not known: InvalidVersion: " in said.out and "upstream" not in said.out, said
    assert "It is raised in packaging/version.py:" in " ".join(said.out.split())


def test_a_bug_below_that_the_corpus_knows(tmp_path: Path) -> None:
    shutil.copy(CORPUS / "tma_misaligned" / "repro_tma_misaligned.py", tmp_path / "mine.py")
    said = reduced("mine.py", "--arch", "sm_90", "--oracle", "misaligned address", cwd=tmp_path)
    lines = rows(said.out)
    assert lines[0].startswith("  verdict: compiler or below (by the static rule "), lines
    assert "upstream:" not in said.out
    (known,) = [line for line in lines if line.startswith("  known: ")]
    assert "by that case fixed in Triton >=3.9" in known and known.endswith("; and by 1 more, which --verbose names")
    issue = (tmp_path / "mine.shrink" / "ISSUE.md").read_text()
    assert "nothing to report" not in issue and "Likely no bug" not in issue
    assert issue.index("tma_misaligned of the corpus") < issue.index("<details>")


def test_a_race_is_told_as_one(tmp_path: Path) -> None:
    said = shrink(
        "explain", CORPUS / "lost_updates" / "failing.py", "--arch", "sm_90", "--oracle", "static:race", cwd=tmp_path
    )
    first = " ".join(said.out.split("ended ")[0].split())
    assert first.startswith("fault the store at failing.py:40:33 and the load at failing.py:39:21 touch element 0")
    assert "none" not in first and NOBODY_ELSES in " ".join(said.out.split())
