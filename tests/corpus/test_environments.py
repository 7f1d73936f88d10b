"""Interpreters with another Triton. The pip of these tests is a script that installs a Triton of one line."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shrinkray_gpu.corpus import environments
from shrinkray_gpu.corpus.environments import in_order, triton_releases, tritons_at_hand, with_ptxas, with_triton
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.questions.bisect.release_runs import ReleasePlace

PYTHON = f"""\
#!/bin/sh
# An interpreter like ours, whose pip knows Triton 3.4.0 and 3.6.0 and says so without a network.
if [ "$1 $2" != "-m pip" ]; then exec {sys.executable} "$@"; fi
echo "$3" >> "$(dirname "$0")/asked"
if [ "$3" = index ]; then
    echo "triton (3.6.0)"; echo "Available versions: 3.6.0, 3.10.0rc1, 3.10.0, 3.4.0"; exit 0
fi
for word in "$@"; do
    [ "$before" = --target ] && target=$word
    before=$word
done
case $before in nvidia-cuda-nvcc-cu12==12.4.*|nvidia-cuda-nvcc==13.0.88)
    mkdir -p "$target/nvidia/cuda/bin"; echo "$before" > "$target/nvidia/cuda/bin/ptxas"; exit 0;; esac
version=${{before#triton==}}
case $version in 3.4.0|3.6.0) ;; *)
    echo "ERROR: Could not find a version that satisfies the requirement triton==$version" >&2
    echo "[notice] a newer pip" >&2; exit 1;; esac
mkdir -p "$target/triton" "$target/triton-$version.dist-info"
echo "__version__ = '$version'" > "$target/triton/__init__.py"
printf 'Name: triton\\nVersion: %s\\n' "$version" > "$target/triton-$version.dist-info/METADATA"
"""


@pytest.fixture
def python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("SHRINK_ENVIRONMENTS", str(tmp_path / "environments"))
    script = tmp_path / "python"
    script.write_text(PYTHON)
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return str(script)


def installs(python: str) -> int:
    asked = Path(python).with_name("asked")
    return asked.read_text().split().count("install") if asked.exists() else 0


def said(interpreter: str, code: str) -> str:
    return subprocess.run([interpreter, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_it_has_its_own_triton_and_all_else_of_the_base(python: str) -> None:
    told: list[str] = []
    interpreter = with_triton("3.4.0", python=python, say=told.append)
    assert told and told[0].startswith("installing triton 3.4.0 into ")
    code = "import triton, importlib.metadata as m; print(triton.__version__, m.version('triton'))"
    assert said(interpreter, code) == "3.4.0 3.4.0"
    assert said(interpreter, "import pytest, tomlkit; print(pytest.__version__)") == pytest.__version__


def test_it_is_made_once_and_spelled_as_one_likes(python: str) -> None:
    first = with_triton("3.4.0", python=python)
    assert [with_triton(version, python=python) for version in ("3.4.0", "3.4", "v3.4.0")] == [first] * 3
    assert installs(python) == 1


def test_one_that_has_it_already_is_taken_as_it_is(python: str) -> None:
    interpreter = with_triton("3.4.0", python=python)
    assert with_triton("3.4.0", python=interpreter) == interpreter
    assert installs(python) == 1


def test_two_at_once_make_one(python: str) -> None:
    with ThreadPoolExecutor(2) as threads:
        made = list(threads.map(lambda _: with_triton("3.6.0", python=python), range(2)))
    assert made[0] == made[1] and installs(python) == 1


def test_one_that_was_interrupted_is_made_anew(python: str) -> None:
    interpreter = Path(with_triton("3.4.0", python=python))
    folder = interpreter.parents[1]
    (folder / "whole").unlink()
    (folder / "left_over").touch()
    assert with_triton("3.4.0", python=python) == str(interpreter)
    assert installs(python) == 2 and not (folder / "left_over").exists()


def test_another_base_has_environments_of_its_own(python: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first = with_triton("3.4.0", python=python)
    about = environments._about

    def elsewhere(python: str) -> tuple[tuple[int, int], list[str], str]:
        version, packages, triton = about(python)
        return version, ["/elsewhere/site-packages", *packages], triton

    monkeypatch.setattr(environments, "_about", elsewhere)
    assert with_triton("3.4.0", python=python) != first


@pytest.mark.parametrize("version", ["latest", "3.x", "", "3.4.0; rm -rf /"])
def test_what_is_no_version_is_refused_before_anything_is_made(python: str, tmp_path: Path, version: str) -> None:
    with pytest.raises(UsageError, match="that is no version; write 3.6.0"):
        with_triton(version, python=python)
    assert not (tmp_path / "environments").exists()


def test_a_version_that_is_not_to_be_had_leaves_nothing(python: str, tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(UsageError, match=r"cannot install triton 3\.5\.0: ERROR: Could not find a version"):
            with_triton("3.5.0", python=python)
    assert installs(python) == 2
    assert not [path for path in (tmp_path / "environments").iterdir() if path.is_dir()]


def test_an_interpreter_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHRINK_ENVIRONMENTS", str(tmp_path))
    with pytest.raises(UsageError, match="cannot run the interpreter /none: No such file"):
        with_triton("3.4.0", python="/none")
    with pytest.raises(UsageError, match="is not a Python interpreter"):
        with_triton("3.4.0", python="/bin/echo")


def test_a_place_that_cannot_be_written(python: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHRINK_ENVIRONMENTS", "/proc/environments")
    with pytest.raises(UsageError, match="Name another place for environments by SHRINK_ENVIRONMENTS"):
        with_triton("3.4.0", python=python)


@pytest.mark.parametrize(
    ("version", "package"),
    [("12.4", "nvidia-cuda-nvcc-cu12==12.4.*"), ("13.0.88", "nvidia-cuda-nvcc==13.0.88")],
)
def test_a_ptxas_is_installed_once_and_alone(python: str, tmp_path: Path, version: str, package: str) -> None:
    tool = [with_ptxas(version, python=python) for _ in range(2)][0]
    assert tool.read_text().strip() == package and installs(python) == 1
    assert [path.name for path in tool.parent.iterdir()] == ["ptxas"]
    assert not [path for path in (tmp_path / "environments").iterdir() if path.is_dir() and path != tool.parent]


def test_a_ptxas_that_is_not_to_be_had(python: str) -> None:
    with pytest.raises(UsageError, match=r"cannot install ptxas 12\.99: ERROR: Could not find a version"):
        with_ptxas("12.99", python=python)
    assert not (environments.home() / "ptxas-12.99").exists()


def test_what_is_installed_aside_is_known_without_an_index(python: str) -> None:
    assert tritons_at_hand(python) == []
    for version in ("3.4.0", "3.6.0"):
        with_triton(version, python=python)
    before = installs(python)
    assert tritons_at_hand(python) == ["3.6.0", "3.4.0"] and installs(python) == before
    other = Path(with_triton("3.4.0", python=python))
    assert "3.4.0" not in tritons_at_hand(str(other)), "of another interpreter, or its own"
    (other.parents[1] / "whole").unlink()
    assert tritons_at_hand(python) == ["3.6.0"], "one that was interrupted is none"


def test_the_releases_are_those_of_the_index_oldest_first(python: str) -> None:
    assert triton_releases(python) == ["3.4.0", "3.6.0", "3.10.0"]


def test_versions_in_order() -> None:
    assert in_order(["3.10.0", "3.9.0", " 3.4.0".strip(), "3.9.0"]) == ["3.4.0", "3.9.0", "3.10.0"]


def test_where_they_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHRINK_ENVIRONMENTS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert environments.home() == Path("/cache/shrinkray_gpu/environments")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert environments.home() == Path(os.path.expanduser("~/.cache/shrinkray_gpu/environments"))


def test_a_search_over_ptxas_names_it_for_every_architecture(python: str) -> None:
    place = ReleasePlace("ptxas", python, 100, {"A": "b"}, Path.cwd())
    interpreter, environment = place.interpreter("12.4", lambda text: None)
    tool = str(with_ptxas("12.4", python=python))
    paths = {"TRITON_PTXAS_PATH": tool, "TRITON_PTXAS_BLACKWELL_PATH": tool}
    assert (interpreter, environment) == (python, {"A": "b", **paths})
