"""Controls and the guards by the real command: refused, held, told. Switched off they are in test_lift.py."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import Said, shrink

REPRO = (Path(__file__).parents[2] / "corpus/tma_misaligned/repro_tma_misaligned.py").read_text()
ASKED = ("failing.py", "--oracle", "misaligned address", "--arch", "sm_90")
BRIEF = ("--max-time", "1", "--skip-pass", "lift", "--json")
"""The program is as small as it gets: what is asked here is what is said of it."""


@pytest.fixture(autouse=True)
def _libraries() -> None:
    pytest.importorskip("triton")


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "failing.py").write_text(REPRO)
    return tmp_path


def told(said: Said) -> dict[str, Any]:
    assert said.code == 0, said
    return said.result


def test_a_control_under_which_the_fault_stays_is_none(tmp_path: Path) -> None:
    (tmp_path / "failing.py").write_text("print([1][3])\n")
    said = shrink("failing.py", "--oracle", "exception:IndexError", "--control-env", "SAFE=1", cwd=tmp_path)
    assert (said.code, said.out) == (2, "")
    assert said.message.startswith("shrink: under the control SAFE=1 the original still shows the fault")
    assert "\n" not in said.message
    assert not (tmp_path / "repro_failing.py").exists()


@pytest.mark.slow
def test_the_evidence_is_told_and_a_fix_is_a_control(here: Path) -> None:
    fixed = REPRO.replace("num_stages=3", "num_stages=1")
    diff = difflib.unified_diff(REPRO.splitlines(True), fixed.splitlines(True), "a/failing.py", "b/failing.py")
    (here / "fix.diff").write_text("".join(diff))
    answer = told(shrink(*ASKED, "--control", "num_stages=1", "--control-patch", "fix.diff", *BRIEF, cwd=here))
    fault = "device fault: misaligned address (CUDA error 716) in the kernel at UTMALDG"
    assert answer["fault"] == f"{fault}; predicted by a static rule, not run"
    assert answer["same"].startswith("same fault: by the instruments (UTMALDG, shared memory)")
    assert answer["same"].endswith("under controls: num_stages=1 passes, fix.diff passes")
    outcomes = {name: outcome.partition(":")[0] for name, outcome in answer["controls"].items()}
    assert outcomes == {"num_stages=1": "passes", "fix.diff": "passes", "num_warps=1": "faults", "ptxas=-O0": "faults"}
    assert list(answer["held"]) == ["num_stages=1", "fix.diff"]
    assert all(outcome.startswith("passes: ") for outcome in answer["held"].values()), answer["held"]
    assert answer["guarded"] == "guarded, as far as the text shows: no mask, bound or initialised input is missing"
    prints = answer["fingerprint"]
    assert prints["original"] == prints["repro"]
    assert (prints["repro"]["code"], prints["repro"]["space"], prints["repro"]["access"]) == (716, "shared", "write")
    assert answer["tries"]["control"] >= 3 and answer["tries"]["fingerprint"] >= 1 and answer["slips"] == 0
