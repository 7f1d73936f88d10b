"""`pytest corpus/`, as a compiler team runs it: one test a case."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

import pytest

from tests.corpus.making import LOOKUP, write
from tests.e2e.command import PATIENCE, environment

FINE = "print('fine')\n"
MODULE = "shrinkray_gpu.cli.pytest_plugin"
INSTALLED = any(point.value == MODULE for point in importlib.metadata.entry_points(group="pytest11"))
"""Then pytest loads it by itself, and refuses to load it twice."""


def run(*words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    plugin = [] if INSTALLED else ["-p", MODULE]
    command = [sys.executable, "-m", "pytest", *plugin, "-p", "no:cacheprovider", "-ra", *map(str, words)]
    return subprocess.run(command, cwd=cwd, env=environment(), capture_output=True, text=True, timeout=PATIENCE)


def corpus(folder: Path) -> Path:
    made = folder / "corpus"
    write(made, "known")
    write(made, "mended", FINE, expect={">=3": "fixed"})
    write(made, "gone", FINE)
    write(made, "back_again", expect={">=3": "fixed"})
    write(made, "changed", "{}['other']\n")
    write(made, "unspoken", FINE, expect=None)
    write(made, "on_gpu", needs={"gpu": True})
    # Not ours, whatever it is.
    (folder / "corpus" / "notes").mkdir()
    (folder / "corpus" / "notes" / "case.toml").write_text("[somebody.elses]\n")
    return made


WANTED = {
    "known": "xfail",
    "mended": "passed",
    "gone": "failure",
    "back_again": "failure",
    "changed": "failure",
    "unspoken": "passed",
    "on_gpu": "skip",
}


def results(path: Path) -> dict[str, str]:
    """By test what pytest's own JUnit file says of it."""
    found = {}
    for test in xml.parse(path).getroot().iter("testcase"):
        skipped = test.find("skipped")
        failed = next((kind for kind in ("failure", "error") if test.find(kind) is not None), "passed")
        name = test.get("name") or ""
        found[name] = (skipped.get("type") or "").removeprefix("pytest.") if skipped is not None else failed
    return found


def test_what_becomes_of_each_case(tmp_path: Path) -> None:
    corpus(tmp_path)
    (tmp_path / "test_other.py").write_text("def test_other():\n    pass\n")
    done = run(".", "--corpus-arch", "sm_90", "--strict-markers", "--junit-xml", "it.xml", cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert results(tmp_path / "it.xml") == {**WANTED, "test_other": "passed"}
    # What happened, and both faults; no traceback of ours.
    for line in (
        "expected still faults, and it is fixed",
        "expected fixed, and it is still faults",
        "expected still faults, and it is changed fault",
        "    was python fault: KeyError: 'gone'",
        "    is  python fault: KeyError: 'other'",
        "SKIPPED [1] corpus/on_gpu/case.toml:1: it needs a real GPU, and --arch launches nothing",
    ):
        assert line in done.stdout, done.stdout
    assert "pytest_plugin.py" not in done.stdout and "Traceback" not in done.stdout


@pytest.mark.slow
def test_spread_over_processes_each_case_is_told_alike(tmp_path: Path) -> None:
    write(tmp_path / "corpus", "known")
    write(tmp_path / "corpus", "gone", FINE)
    done = run("corpus", "--corpus-arch", "sm_90", "--junit-xml", "it.xml", "-n", "2", cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert results(tmp_path / "it.xml") == {"known": "xfail", "gone": "failure"}
    assert "expected still faults, and it is fixed" in done.stdout and "Traceback" not in done.stdout


def test_a_session_where_all_is_well(tmp_path: Path) -> None:
    write(tmp_path / "corpus", "on_gpu", needs={"gpu": True})
    done = run("corpus", "--corpus-arch", "sm_90", cwd=tmp_path)
    assert done.returncode == 0 and "1 skipped" in done.stdout, done.stdout


def test_collection_selects_and_refuses(tmp_path: Path) -> None:
    write(tmp_path / "good", "known")
    write(tmp_path / "good", "other")
    (tmp_path / "test_other.py").write_text("def test_other():\n    pass\n")
    listed = run(".", "--collect-only", "-q", "-m", "corpus", "-k", "known", cwd=tmp_path)
    assert listed.returncode == 0 and "good/known/case.toml::known" in listed.stdout, listed.stdout
    assert "1/3 tests collected" in listed.stdout
    bad = write(tmp_path / "bad", "mistyped", LOOKUP, expct={})
    refused = run("bad", cwd=tmp_path)
    assert refused.returncode == 1 and "unknown key expct; did you mean 'expect'?" in refused.stdout
    assert f"{bad / 'case.toml'}: " in refused.stdout and "Traceback" not in refused.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--corpus-arch", "hopper"], "--corpus-arch: --arch hopper: name an architecture"),
        (["--corpus-runs", "0"], "--corpus-runs 0: one run at least"),
    ],
)
def test_options_that_are_wrong_end_it_before_it_begins(tmp_path: Path, words: list[str], told: str) -> None:
    done = run(".", *words, cwd=tmp_path)
    assert done.returncode == 4 and told in done.stderr and "Traceback" not in done.stderr


def test_an_interpreter_that_is_none_fails_each_case_in_a_line(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(tmp_path / "corpus", name)
    done = run("corpus", "--corpus-python", "/none", "--corpus-arch", "sm_90", cwd=tmp_path)
    assert done.returncode == 1 and "2 failed" in done.stdout
    assert "cannot run the interpreter /none" in done.stdout and "Traceback" not in done.stdout


def test_installed_it_is_loaded_once_by_its_name(tmp_path: Path) -> None:
    """The entry point of pyproject.toml, as if it were installed; imports nothing of ours but itself."""
    metadata = tmp_path / "site" / "as_installed-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: as-installed\nVersion: 1.0\n")
    name = "shrinkray_gpu" if not INSTALLED else "shrinkray_gpu_again"
    (metadata / "entry_points.txt").write_text(f"[pytest11]\n{name} = {MODULE}\n")
    pyproject = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert f'[project.entry-points.pytest11]\nshrinkray_gpu = "{MODULE}"' in pyproject
    if INSTALLED:
        pytest.skip("it is installed: the other tests show it")
    write(tmp_path / "corpus", "known")
    (tmp_path / "test_quiet.py").write_text(
        "import sys\ndef test_quiet():\n    ours = [name for name in sys.modules if name.startswith('shrinkray_gpu')]\n"
        "    assert sorted(ours) == ['shrinkray_gpu', 'shrinkray_gpu.cli.pytest_plugin'], ours\n"
    )
    path = environment()
    path["PYTHONPATH"] = f"{tmp_path / 'site'}:{path.get('PYTHONPATH', '')}"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q"]
    quiet = subprocess.run([*command, "test_quiet.py"], cwd=tmp_path, env=path, capture_output=True, text=True)
    assert quiet.returncode == 0, quiet.stdout + quiet.stderr
    listed = subprocess.run(
        [*command, "--collect-only", "corpus"], cwd=tmp_path, env=path, capture_output=True, text=True
    )
    assert "corpus/known/case.toml::known" in listed.stdout, listed.stdout + listed.stderr
