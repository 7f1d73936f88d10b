"""The whole way: reduce a program on the virtual GPU, keep it, replay it; and what is not kept."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from shrinkray_gpu.corpus.case import load
from tests.e2e.command import shrink

FAILING = """\
import sys
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x, WIDTH: tl.constexpr):
    tl.static_assert(WIDTH >= 16, "too narrow")
    tl.store(x, 2.0)


scale[(1,)](torch.zeros(64, device="cuda"), WIDTH={"narrow": 8}[sys.argv[1]])
print("done")
"""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def reduced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a program was reduced."""
    folder = tmp_path_factory.mktemp("reduced")
    (folder / "failing.py").write_text(FAILING)
    brief = ("--max-time", "1", "--quiet", "--skip-pass", "lift")
    said = shrink("failing.py", "--arch", "sm_90", "--reject", "exit:77", *brief, "--", "narrow", cwd=folder)
    assert said.code == 0, said.err
    (folder / "corpus").mkdir()
    return folder


def test_a_reduction_tells_what_a_case_is_made_of(reduced: Path) -> None:
    told = json.loads((reduced / "failing.shrink" / "result.json").read_text())
    assert told["original"] == str(reduced / "failing.py") and told["output"] == str(reduced / "repro_failing.py")
    # The fault that was adopted, without what was rejected.
    assert len(told["oracle"]) == 1 and "too narrow" in told["oracle"][0] and " and not " not in told["oracle"][0]
    assert (told["reject"], told["argv"], told["arch"]) == (["exit:77"], ["narrow"], 90)
    assert told["fingerprint"]["original"]["phase"] == "compile"
    assert told["versions"]["triton"] and (told["verified"], told["final_runs"]) == (1, 1)


def test_it_is_kept_and_replayed(reduced: Path) -> None:
    added = shrink("corpus", "add", "failing.shrink", "--name", "narrow", "--upstream", "https://x/1", cwd=reduced)
    assert added.code == 0 and added.out.startswith("added: corpus/narrow (compile fault: "), added.err
    case = load(reduced / "corpus" / "narrow")
    assert case.fault is not None and case.fault.text == "too narrow" and case.needs.architecture == "sm_90"
    assert case.original.read_text() == FAILING and len(case.repro.read_text()) < len(FAILING)
    assert (case.reject, case.upstream) == (("exit:77",), ("https://x/1",))
    replayed = shrink("replay", "--arch", "sm_90", cwd=reduced)
    assert replayed.code == 0 and "narrow: still faults" in replayed.err, replayed.err
    assert replayed.out.endswith("1 still faults\nall is as expected\n")
    again = shrink("corpus", "add", "failing.shrink", "--name", "narrow", cwd=reduced)
    assert again.code == 2 and "corpus/narrow is there already: give another --name" in again.message


def test_what_does_not_reproduce_is_refused_and_leaves_nothing(reduced: Path, tmp_path: Path) -> None:
    shutil.copytree(reduced / "failing.shrink", tmp_path / "failing.shrink")
    (tmp_path / "corpus").mkdir()
    repro = tmp_path / "repro_failing.py"
    repro.write_text((reduced / "repro_failing.py").read_text().replace("too narrow", "too wide"))
    path = tmp_path / "failing.shrink" / "result.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "output": str(repro)}))
    said = shrink("corpus", "add", "failing.shrink", cwd=tmp_path)
    assert said.code == 3 and said.message.startswith("shrink: nothing was added: "), said.err
    assert "changed fault" in said.message and not list((tmp_path / "corpus").iterdir())
