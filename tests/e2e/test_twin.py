"""The healthy twin after a reduction: in the summary, in result.json, in the attachment; and a second defect."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.e2e.command import Said, only, shrink

CORPUS = Path(__file__).parents[2] / "corpus"
SOON = ("--arch", "sm_90", *only("unreachable"), "--skip-pass", "lift")
UNMASKED = """import torch, triton, triton.language as tl
@triton.jit
def k(x, n):
    at = tl.arange(0, 16) + n
    tl.store(x + at, tl.load(x + at.to(tl.float32)))
k[(1,)](torch.zeros(16, device="cuda"), 1 << 24)
"""


@pytest.fixture(scope="module")
def swapped(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Said]:
    folder = tmp_path_factory.mktemp("twin")
    shutil.copy(CORPUS / "wrong_stride" / "repro_wrong_stride.py", folder / "failing.py")
    said = shrink("failing.py", *SOON, cwd=folder, report=True)
    assert said.code == 0, said.err
    return folder, said


def test_the_summary_names_the_edit_that_is_enough(swapped: tuple[Path, Said]) -> None:
    folder, said = swapped
    (line,) = [line for line in said.out.splitlines() if line.startswith("  healthy with: ")]
    assert "v.stride(0), v.stride(1), v.stride(2) for v.stride(1), v.stride(0), v.stride(2)" in line
    assert line.endswith("; by Triton's IR no access leaves its tensor then")
    assert "not healthy" not in said.out
    told = json.loads((folder / "failing.shrink" / "result.json").read_text())
    assert told["unhealthy"] == "" and set(told["twin"]) == {"text", "edit", "proof"}


def test_the_twin_goes_into_the_attachment_and_passes(swapped: tuple[Path, Said]) -> None:
    folder = swapped[0] / "failing.shrink"
    twin, issue = folder / "artifacts" / "twin.py", (folder / "ISSUE.md").read_text()
    assert issue.index("\nOne change away it passes; by Triton's IR") < issue.index("<details>")
    section = issue.partition("The healthy twin, `artifacts/twin.py`: ")[2].partition("\n</details>")[0]
    assert section.count("\n@@") == 1 and section.count("\n+    ") == 1
    assert "v.stride(0), v.stride(1), v.stride(2)" in twin.read_text()
    assert "The healthy twin" in (folder / "report.html").read_text()
    said = shrink("explain", twin, "--arch", "sm_90", cwd=folder)
    assert said.code == 3 and "twin.py shows no fault" in said.err


def test_a_defect_that_the_error_hid_is_told_and_no_twin_claimed(tmp_path: Path) -> None:
    (tmp_path / "failing.py").write_text(UNMASKED)
    said = shrink("failing.py", *SOON, "--json", cwd=tmp_path)
    assert said.code == 0, said.err
    told = said.result
    assert told["twin"] == {}
    assert told["unhealthy"].startswith("once it compiles (at for at.to(tl.float32)), the ")
