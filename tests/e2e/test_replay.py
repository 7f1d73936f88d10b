"""`shrink replay` on the virtual GPU: known faults still fault, and what changed is caught, whichever way."""

from __future__ import annotations

import json
import shutil
import xml.etree.ElementTree as xml
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.corpus.making import LOOKUP, write
from tests.e2e.command import Said, shrink

ROOT = Path(__file__).parents[2]
NARROW = """\
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x):
    tl.static_assert(WIDTH >= 16, "too narrow")
    tl.store(x, 1.0)


torch.cuda.synchronize()
kernel[(1,)](torch.zeros(1, device="cuda"))
"""
"""A kernel that does not compile."""
COMPILING = {
    "class": "compiler error",
    "oracle": ["compile:too narrow"],
    "fault": {"phase": "compile", "klass": "CompileTimeAssertionFailure", "text": "too narrow"},
}
TURNS = """\
import os
open("turn", "a").write(".")
if os.path.getsize("turn") % 2:
    {}["gone"]
"""
"""Shows its fault every other time."""
ENVIRONMENT = """\
import os, sys
if os.environ.get("SHAPE") == "odd" and sys.argv[1:] == ["--size", "3"]:
    {}["gone"]
"""
ENDS = """\
import torch
import triton
import triton.language as tl


@triton.jit
def ends_kernel(lengths, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.cumsum(tl.load(lengths + i), axis=0))


@triton.jit
def mark_kernel(rows, out):
    tl.store(out + tl.load(rows + tl.program_id(0)), 1.0)


lengths = torch.tensor([3, 5, 2, 6], dtype=torch.int32, device="cuda")
ends, marks = torch.empty_like(lengths), torch.zeros(16, device="cuda")
ends_kernel[(1,)](lengths, ends, BLOCK=4)
mark_kernel[(4,)](ends, marks)
torch.cuda.synchronize()
"""
ACCESS = {
    "class": "illegal access",
    "oracle": ["illegal memory access"],
    "fault": {"phase": "device", "klass": "an illegal memory access was encountered", "code": 700},
}
FINE = "print('fine')\n"


def narrow(width: int, words: str = "too narrow") -> str:
    return NARROW.replace("WIDTH", str(width)).replace("too narrow", words)


def corpus(folder: Path) -> Path:
    """One case for each thing that may come of one."""
    made = folder / "corpus"
    # As it was.
    shutil.copytree(ROOT / "corpus" / "tma_misaligned", made / "tma_misaligned")
    write(made, "narrow", narrow(8), **COMPILING)
    write(made, "lookup")
    write(made, "made_by_kernel", ENDS, **ACCESS)
    write(made, "surroundings", ENVIRONMENT, environment={"SHAPE": "odd"}, argv=["--size", "3"])
    write(made, "by_tcp", f"import socket\nsocket.create_server(('127.0.0.1', 0))\n{LOOKUP}")
    write(made, "mended", FINE, expect={">=3": "fixed"})
    write(made, "turns", TURNS, runs=4, expect={">=3": "flaky"})
    write(made, "unspoken", expect={"<3": "faults"})
    # Planted changes.
    write(made, "other_oracle", narrow(8), **{**COMPILING, "oracle": ["compile:too wide"]})
    write(made, "fixed_kernel", narrow(16), **COMPILING)
    write(made, "other_fault", narrow(8, "too wide"), **{**COMPILING, "oracle": ["compile:too"]})
    write(made, "mistake_behind", narrow(16) + "int.no_such_thing(base=1)\n", **COMPILING)
    write(made, "back_again", expect={">=3": "fixed"})
    write(made, "gone_flaky", FINE, runs=2, expect={">=3": "flaky"})
    # What cannot run here.
    write(made, "on_gpu", needs={"gpu": True})
    write(made, "on_blackwell", needs={"architecture": "sm_100"})
    write(made, "on_ampere", needs={"architecture": ">=sm_80,<sm_90"})
    write(made, "with_package", needs={"packages": ["no-such-package>=1"]})
    write(made, "with_older_torch", needs={"packages": ["torch<2"]})
    write(made, "with_module", "import no_such_module\n" + LOOKUP)
    write(made, "with_sanitizer", oracle=["sanitizer:memcheck"], fault=None)
    write(made, "with_interface", "import triton\ntriton.no_such_thing\n")
    return made


FAULTS = {"tma_misaligned", "narrow", "lookup", "made_by_kernel", "surroundings", "by_tcp", "unspoken", "back_again"}
CHANGED = {"other_oracle", "other_fault", "mistake_behind"}
FIXED = {"mended", "fixed_kernel", "gone_flaky"}
SURPRISING = {"other_oracle", "fixed_kernel", "other_fault", "mistake_behind", "back_again", "gone_flaky"}
CANNOT = {
    "on_gpu": "it needs a real GPU, and --arch launches nothing",
    "on_blackwell": "it needs sm_100, and this is sm_90",
    "on_ampere": "it needs >=sm_80,<sm_90, and this is sm_90",
    "with_package": "it needs no-such-package>=1, which ",
    "with_older_torch": "it needs torch<2, and there is 2.",
    "with_module": "The script needs the module no_such_module, which is missing",
    "with_sanitizer": "it needs a real GPU, for compute-sanitizer",
    "with_interface": "this release lacks what it uses: module 'triton' has no attribute 'no_such_thing'",
}


@dataclass(frozen=True)
class Replayed:
    corpus: Path
    said: Said
    told: dict[str, Any]
    junit: str
    html: str


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Replayed:
    """The whole corpus, replayed once."""
    folder = tmp_path_factory.mktemp("replayed")
    made = corpus(folder)
    said = shrink("replay", made, "--arch", "sm_90", "--json", "--junit", "it.xml", "--html", "it.html", cwd=folder)
    assert said.code == 1, said.err
    (told,) = json.loads(said.out).values()
    return Replayed(made, said, told, (folder / "it.xml").read_text(), (folder / "it.html").read_text())


def statuses(told: dict[str, Any], status: str) -> set[str]:
    return {name for name, one in told["cases"].items() if one["status"] == status}


def test_each_case_has_its_status(replayed: Replayed) -> None:
    assert statuses(replayed.told, "still faults") == FAULTS
    assert statuses(replayed.told, "fixed") == FIXED
    assert statuses(replayed.told, "changed fault") == CHANGED
    assert statuses(replayed.told, "flaky") == {"turns"}
    assert statuses(replayed.told, "cannot run here") == set(CANNOT)
    assert replayed.told["versions"]["triton"].startswith("3.")


def test_a_planted_change_is_caught_and_nothing_else(replayed: Replayed) -> None:
    assert {name for name, one in replayed.told["cases"].items() if not one["as expected"]} == SURPRISING


def test_a_different_fault_is_told_beside_the_one_that_was(replayed: Replayed) -> None:
    one = replayed.told["cases"]["other_fault"]
    assert (one["was"]["text"], one["fault"]["text"]) == ("too narrow", "too wide")
    assert "'too wide' instead of 'too narrow'" in one["why"]


def test_an_oracle_that_asks_for_other_words_does_not_find_them(replayed: Replayed) -> None:
    one = replayed.told["cases"]["other_oracle"]
    assert one["fault"]["text"] == one["was"]["text"] == "too narrow" and "too narrow" in one["why"]


@pytest.mark.parametrize("name", CANNOT)
def test_why_a_case_cannot_run_here(replayed: Replayed, name: str) -> None:
    assert replayed.told["cases"][name]["why"].startswith(CANNOT[name])


def test_flaky_is_counted(replayed: Replayed) -> None:
    one = replayed.told["cases"]["turns"]
    assert (one["shown"], one["runs"]) == (2, 4)


def test_json_is_all_that_is_printed(replayed: Replayed) -> None:
    assert replayed.said.err == ""


def test_junit_and_html_tell_the_same(replayed: Replayed) -> None:
    (suite,) = xml.fromstring(replayed.junit)
    assert {test.get("name") for test in suite if test.find("failure") is not None} == SURPRISING
    assert {test.get("name") for test in suite if test.find("skipped") is not None} == set(CANNOT)
    assert suite.get("tests") == str(len(replayed.told["cases"]))
    assert "Not as expected" in replayed.html and all(
        f'id="{name}"' in replayed.html for name in replayed.told["cases"]
    )


ONE_OF_EACH = {"narrow", "other_fault", "mended", "turns", "back_again", "on_gpu"}
"""A case for each mark of the table, as expected or not."""


def test_a_second_run_says_the_same_in_a_table(replayed: Replayed) -> None:
    before = {path: path.read_bytes() for path in replayed.corpus.rglob("*") if path.is_file()}
    chosen = {name: one for name, one in replayed.told["cases"].items() if name in ONE_OF_EACH}
    assert {one["status"] for one in chosen.values()} == {one["status"] for one in replayed.told["cases"].values()}
    folder = replayed.corpus.parent
    words = [word for name in sorted(chosen) for word in ("--case", name)]
    again = shrink("replay", replayed.corpus, *words, "--arch", "sm_90", cwd=folder)
    assert again.code == 1, again.err
    shown = dict(line.split()[:2] for line in again.out.splitlines()[2 : 2 + len(chosen)])
    marks = {"still faults": "faults", "changed fault": "CHANGED", "cannot run here": "-"}
    for name, one in chosen.items():
        wanted = marks.get(one["status"], one["status"]) + "!" * (not one["as expected"])
        assert shown[name] == wanted
    assert "1 cannot run here" in again.out
    assert "other_fault, triton" in again.out and "was compile fault: CompileTimeAssertionFailure" in again.out
    assert "- on_gpu: it needs a real GPU" in again.out and "not as expected:" in again.out
    # Each is told when it is known, and nothing is written into the corpus.
    assert again.err.count("\n  ") == len(chosen)
    assert {path: path.read_bytes() for path in replayed.corpus.rglob("*") if path.is_file()} == before
