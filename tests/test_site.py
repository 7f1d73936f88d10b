"""The site of docs/, as `make docs` builds it: a warning of MkDocs fails it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mkdocs", reason="the site is built by `make docs`, which installs MkDocs aside")
pytest.importorskip("material", reason="the site is built by `make docs`, which installs Material for MkDocs aside")

ROOT = Path(__file__).parents[1]


YAML = [ROOT / "action.yml", *sorted((ROOT / ".github").rglob("*.yml"))]


def built(root: Path, site: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)]
    return subprocess.run(command, cwd=root, text=True, stdout=-1, stderr=-2, timeout=120)


def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    ended = built(ROOT, tmp_path)
    assert ended.returncode == 0, ended.stdout
    made = {page.stem for page in (ROOT / "docs").glob("*.md")} - {"index"}
    assert all((tmp_path / name / "index.html").exists() for name in made)
    assert (tmp_path / "outside" / "benchmarks" / "results" / "peers_cpu.svg").exists()
    assert "../corpus/" not in (tmp_path / "explain" / "index.html").read_text().replace('href="../corpus/', "")


@pytest.mark.parametrize("line", ["[a page](nowhere.md)", "[a heading](limits.md#nowhere)", "[a file](../nowhere.py)"])
def test_a_dead_link_fails_it(tmp_path: Path, line: str) -> None:
    for name in ("docs", "benchmarks/results"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    with (tmp_path / "docs" / "words.md").open("a") as page:
        page.write(f"\n{line}\n")
    ended = built(tmp_path, tmp_path / "site")
    assert ended.returncode != 0 and "nowhere" in ended.stdout


@pytest.mark.parametrize("file", YAML, ids=lambda file: file.name)
def test_what_github_reads_is_yaml(file: Path) -> None:
    import yaml  # MkDocs needs it, our tests do not

    read = yaml.safe_load(file.read_text())
    assert isinstance(read, dict) and all(step.get("shell") for step in _steps(read) if "run" in step)


def _steps(read: dict[str, object]) -> list[dict[str, object]]:
    runs = read.get("runs")
    return runs["steps"] if isinstance(runs, dict) else []  # type: ignore[no-any-return]
