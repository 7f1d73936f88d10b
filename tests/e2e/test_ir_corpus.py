"""IR as a case of a corpus: added from a result of `shrink`, replayed with the others, and what is refused."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

import pytest

from shrinkray_gpu.corpus.case import load
from tests.corpus.making import write
from tests.e2e.command import Said, refused, shrink
from tests.intermediate.programs import SELECT

pytest.importorskip("triton")
PASS = "tritonamdgpu-canonicalize-pointers"


@pytest.fixture(scope="module")
def reduced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a result, and a corpus that has a case of Python."""
    folder = tmp_path_factory.mktemp("reduced")
    (folder / "crash.ttir").write_text(SELECT)
    said = shrink("crash.ttir", "--arch", "gfx942", "-o", "repro_select.mlir", cwd=folder, report=True)
    assert said.code == 0, said.err
    write(folder / "corpus", "lookup")
    return folder


@pytest.fixture
def added(reduced: Path, tmp_path: Path) -> Path:
    """A corpus of that result alone."""
    said = shrink("corpus", "add", reduced / "repro_select.mlir", "--to", "cases", cwd=tmp_path)
    assert said.code == 0, said.err
    return tmp_path / "cases"


def statuses(said: Said) -> dict[str, str]:
    (column,) = json.loads(said.out).values()
    return {name: case["status"] for name, case in column["cases"].items()}


def test_it_is_added_and_replayed_beside_a_program(reduced: Path) -> None:
    said = shrink("corpus", "add", "repro_select.mlir", "--upstream", "https://x/1", cwd=reduced)
    assert said.code == 0 and said.out.startswith(f"added: corpus/select ({PASS}: CanonicalizePointers.cpp"), said.err
    case = load(reduced / "corpus" / "select")
    assert case.repro.read_text() == (reduced / "repro_select.mlir").read_text() and not case.oracle
    assert case.fault is not None and case.fault.klass == PASS and case.needs.architecture == "gfx942"
    release = version("triton").partition("+")[0]
    assert [(str(range_), what) for range_, what in case.expect] == [(f">={release}", "faults")]
    # No device is asked for. On a virtual GPU it is a case of its own architecture.
    assert statuses(shrink("replay", "--json", cwd=reduced))["select"] == "still faults"
    amd = shrink("replay", "--arch", "gfx942", "--json", cwd=reduced)
    assert (amd.code, statuses(amd)) == (0, {"lookup": "still faults", "select": "still faults"}), amd.err
    assert statuses(shrink("replay", "--arch", "sm_90", "--json", cwd=reduced))["select"] == "cannot run here"
    again = refused("corpus", "add", "repro_select.mlir", cwd=reduced)
    assert again.code == 2 and "corpus/select is there already" in again.message


@pytest.mark.parametrize(
    ("old", "new", "status", "code"),
    [
        ("arith.select", "arith.choose", "format changed", 2),
        (f"-{PASS}", "-an-older-pass", "format changed", 2),
        (f"-{PASS}", "-cse", "fixed", 1),
        ("to be the same size", "to be of one size", "changed fault", 1),
    ],
    ids=["operation", "pass", "goes through", "words"],
)
def test_what_became_of_it(added: Path, old: str, new: str, status: str, code: int) -> None:
    repro = added / "select" / "repro_select.mlir"
    repro.write_text(repro.read_text().replace(old, new))
    said = shrink("replay", "cases", "--json", cwd=added.parent)
    assert (said.code, statuses(said)) == (code, {"select": status}), said.err


def test_its_oracle_asks_for_words(added: Path) -> None:
    case = added / "select" / "case.toml"
    case.write_text('oracle = ["compile:operands? to be"]\n' + case.read_text())
    assert shrink("replay", "cases", cwd=added.parent).code == 0
    case.write_text(case.read_text().replace("operands? to be", "out of memory"))
    assert statuses(shrink("replay", "cases", "--json", cwd=added.parent)) == {"select": "changed fault"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no module of Triton's IR"),
        (SELECT, "has no // RUN: and // Fault: line"),
        (f"// RUN: triton-opt %s -cse\n// Fault: cse: gone\n{SELECT}", "nothing was added: "),
    ],
    ids=["empty", "not a result", "fixed"],
)
def test_what_is_no_result_is_refused_and_leaves_nothing(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "repro_a.mlir").write_text(text)
    said = refused("corpus", "add", "repro_a.mlir", cwd=tmp_path)
    assert said.code in (2, 3) and message in said.message, said.err
    assert not list(tmp_path.glob("corpus/*"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("cold = true\n", "cold says nothing of IR (repro_select.mlir)"),
        ('fault = {phase = "compile", klass = "cse"}\n', "fault says nothing of IR"),
        ("needs.gpu = true\n", "needs.gpu says nothing of IR"),
        ('oracle = ["compile:("]\n', "oracle: "),
    ],
)
def test_keys_of_programs_are_refused(added: Path, line: str, message: str) -> None:
    case = added / "select" / "case.toml"
    case.write_text(f'title = "a"\nclass = "b"\nmechanism = "c"\n{line}')
    said = refused("replay", "cases", cwd=added.parent)
    assert said.code == 2 and message in said.message, said.err
