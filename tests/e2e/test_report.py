"""The attachment of a reduction, without a GPU: what ISSUE.md names, what is in artifacts/, that the page works."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu.corpus.case import load
from shrinkray_gpu.corpus.expectation import Status
from shrinkray_gpu.corpus.replay import Replayer
from tests.e2e.command import only, refused, shrink

CORPUS = Path(__file__).parents[2] / "corpus"
ARCH = ("--arch", "sm_90")


FIX = """\
--- a/failing.py
+++ b/failing.py
@@ -10 +10 @@
-    for start in tl.range(2, num_stages=3):
+    for start in tl.range(2, num_stages=2):
"""


def attached(case: str, folder: Path, *words: str, report: bool = True) -> Path:
    """The folder of a reduction of a case's repro, which ends after one step: a function that nobody calls goes."""
    repro = (CORPUS / case / f"repro_{case}.py").read_text()
    (folder / "failing.py").write_text(f"{repro}\n\ndef unused():\n    pass\n")
    said = shrink("failing.py", *ARCH, *only("unreachable"), "--skip-pass", "lift", *words, cwd=folder, report=report)
    assert said.code == 0, said.err
    assert ("to attach: failing.shrink/" in said.out) is report
    return folder / "failing.shrink"


@pytest.fixture(scope="module")
def flagship(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("flagship")
    (folder / "fix.diff").write_text(FIX)
    words = ("--oracle", "misaligned address", "--control-patch", "fix.diff", "--zip", "--gpu-price", "3")
    return attached("tma_misaligned", folder, *words)


def test_the_issue_of_the_flagship_has_all_that_a_maintainer_asks_for(flagship: Path) -> None:
    issue = (flagship / "ISSUE.md").read_text()
    for fact in (
        "# misaligned address at UTMALDG (descriptor load) (predicted), Triton ",
        "`misaligned address` (CUDA error 716)",
        "ttng.async_tma_copy_global_to_local",
        "cp.async.bulk.tensor.2d",
        "destination in shared memory",
        "| alignment of shared memory as declared | 16 bytes (`global_smem`) | PTX |",
        "**16 modulo 128**",
        "must be a multiple of 128 bytes",
        "passes up to 2; faults from 3 on",
        "faults up to 16; passes from 32 on",
        "`num_stages` of at most 2",
        "+    for",
        "## Hypothesis, not proven",
        "cost: none, no GPU was used",
        "memcheck | missing: needs the real GPU",
        "| `fix.diff` | passes: no fault, it ends well (exit 0) | passes: no fault, it ends well (exit 0) |",
        "| `ptxas=-O0` | faults: ",
        "No other was tried. Where it was reduced, `shrink report failing.shrink --triton ",
    ):
        assert fact in issue, issue
    page = (flagship / "report.html").read_text()
    predicted = "Predicted by a static rule, not run: compiled for sm_90, this program ends in "
    for told in (issue, page):
        assert predicted in told and "AcceleratorError" not in told, "no error is shown that nobody saw"
    tile = r"a tile extent of 32 \((1x)?32: 128 bytes\)"  # Triton drops the extent of 1 once the loop is bare
    assert re.search(tile, issue), issue
    [patch] = re.findall(r"`fix.diff`, as a change of the repro:\n\n```diff\n(.*?)```", issue, re.S)
    assert "-    for start in tl.range(2, num_stages=3):\n+    for start in tl.range(2, num_stages=2):" in patch
    assert re.search(r"^>> /\*[0-9a-f]{4}\*/ .*UTMALDG", issue, re.M)
    assert re.search(r"^\| num_warps of the launch .* \| no \|$", issue, re.M), "what does not decide is told too"


def test_what_a_reader_pastes_is_what_was_tried(flagship: Path, replayer: Replayer, tmp_path: Path) -> None:
    issue = (flagship / "ISSUE.md").read_text()
    found = re.search(r"```python\n(.*?)```", issue, re.S)
    assert found is not None and found.group(1) == (flagship / "repro_failing.py").read_text()
    (tmp_path / "repro_failing.py").write_text(found.group(1))
    passing = next(line for line in issue.splitlines() if line.startswith("sed ") and line.endswith("# passes"))
    subprocess.run(["sh", "-c", passing.partition(" && ")[0]], cwd=tmp_path, check=True)
    case = load(CORPUS / "tma_misaligned")
    for name, status in (("repro_failing.py", Status.FAULTS), ("variant.py", Status.FIXED)):
        folder = tmp_path / Path(name).stem
        folder.mkdir()
        shutil.copy(tmp_path / name, folder / f"repro_{folder.name}.py")
        outcome = replayer.outcome(replace(case, folder=folder))
        assert outcome.status is status, (name, outcome.why)


def test_the_artifacts_are_whole_and_tell_nobody_where_they_were_made(flagship: Path) -> None:
    folder = flagship / "artifacts"
    names = {path.name for path in folder.iterdir()}
    stages = ("ttir", "ttgir", "llir", "ptx", "sass", "cubin")
    code = {f"repro_failing{which}.{stage}" for which in ("", "_passing") for stage in stages}
    assert code <= names
    assert {"repro_failing_passing.diff", "repro_failing_passing.sass.diff", "repro_failing_passing.py"} <= names
    assert {"env.json", "build.log", "card.txt", "experiments.tsv", "SHA256SUMS"} <= names
    sums = dict(reversed(line.split("  ")) for line in (folder / "SHA256SUMS").read_text().splitlines())
    assert set(sums) == names - {"SHA256SUMS"}
    for name, digest in sums.items():
        data = (folder / name).read_bytes()
        assert hashlib.sha256(data).hexdigest() == digest
        assert str(flagship.parent).encode() not in data, name
    assert "triton" in json.loads((folder / "env.json").read_text())
    assert "registers" in (folder / "build.log").read_text(), "what ptxas says"
    with zipfile.ZipFile(flagship / "failing_attachment.zip") as archive:
        assert "failing/ISSUE.md" in archive.namelist() and "failing/artifacts/env.json" in archive.namelist()


def test_the_page_in_a_browser(flagship: Path) -> None:
    """Loads it as a file, with no network; clicks and keys through its tabs."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    page_path = flagship / "report.html"
    with playwright.sync_playwright() as drive:
        chromium = drive.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = chromium.new_page(viewport={"width": 1280, "height": 900})
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda asked: None if asked.url.startswith(("file:", "data:")) else said.append(asked.url))
        page.goto(page_path.as_uri())
        assert "misaligned address" in page.title()

        tabs = page.get_by_role("tab")
        names = tabs.all_inner_texts()
        assert names[:5] == ["TTIR", "TTGIR", "LLVM IR", "PTX", "SASS"] and len(names) >= 7
        for at in range(len(names)):
            tabs.nth(at).click()
            panels = page.locator("[role=tabpanel]:visible")
            assert panels.count() == 1 and tabs.nth(at).get_attribute("aria-selected") == "true"
            assert panels.get_attribute("aria-labelledby") == tabs.nth(at).get_attribute("id")
        tabs.nth(0).focus()
        page.keyboard.press("End")
        page.keyboard.press("ArrowRight")
        assert tabs.nth(0).get_attribute("aria-selected") == "true", "round the end by key"

        page.get_by_role("tab", name="SASS", exact=True).click()
        line = page.locator("#compiled .marked[data-s]").first
        line.hover()
        hot = page.locator("[role=tabpanel]:visible .hot")
        assert any("UTMALDG" in text for text in hot.all_inner_texts()), "the instruction lights up with its line"
        line.click()
        assert hot.first.is_visible()
        page.get_by_role("tab", name="TTGIR", exact=True).click()
        assert any("async_tma_copy_global_to_local" in text for text in hot.all_inner_texts())

        grid = page.locator("#experiments table").first
        assert page.locator("#guarding tr", has_text="fix.diff").locator("td.passes").count() == 2
        assert grid.locator("td.passes").count() >= 4 and grid.locator("td.faults").count() >= 4
        assert page.locator("figure[role=img] svg").count() == 1
        assert page.locator("#files a[download]").count() >= 15
        if out := os.environ.get("OUT"):
            page.screenshot(path=Path(out) / "report.png", full_page=True)
        assert len(page.screenshot(full_page=True)) > 50_000

        page.set_viewport_size({"width": 390, "height": 800})
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= 390, "on a phone nothing sticks out"
        chromium.close()
    assert said == []


def test_a_compiler_crash_and_the_attachment_made_again(tmp_path: Path) -> None:
    oracle = "compile:WGMMA type or shape is not supported"
    folder = attached("warp_specialized_int8_dot", tmp_path, "--oracle", oracle, report=False)
    assert not (folder / "ISSUE.md").exists()
    installed = importlib.metadata.version("triton")
    said = shrink("report", folder, "--quiet", "--triton", installed, cwd=tmp_path)
    assert said.code == 0, said.err
    issue = (folder / "ISSUE.md").read_text()
    assert issue.startswith("# ConvertNVGPUToLLVM: WGMMA type or shape is not supported, Triton ")
    assert "`warp_specialize=False` in tl.range" in issue, "it compiles so, though it then lacks an allocator"
    assert re.search(rf"^\| {re.escape(installed)} \| still faults: ", issue, re.M), "replayed as it was asked"
    assert "fails otherwise" not in issue, "another failure of the compiler is no pass"
    reproducer = (folder / "artifacts" / "reproducer.mlir").read_text()
    assert "mlir_reproducer" in reproducer and "pipeline" in reproducer
    assert "Assertion" in (folder / "artifacts" / "build.log").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "which folder?"),
        (("gone.shrink",), "is not a folder"),
        ((".",), "has no result.json"),
        ((".", "--gpu-price", "-1"), "--gpu-price"),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    said = refused("report", *words, cwd=tmp_path)
    assert (said.code, said.out) == (2, "") and message in said.message
    assert "\n" not in said.message


def test_a_place_that_cannot_be_written_and_a_repro_that_faults_no_more_or_is_gone(tmp_path: Path) -> None:
    (tmp_path / "failing.py").write_text("raise KeyError('k')\n")
    assert shrink("failing.py", cwd=tmp_path).code == 0
    assert not (tmp_path / "failing.shrink" / "ISSUE.md").exists(), "left out by --no-report"
    (tmp_path / "failing.shrink" / "artifacts").write_text("no folder")
    said = shrink("report", "failing.shrink", cwd=tmp_path)
    assert said.code == 2 and "failing.shrink/artifacts: File exists. Make room there, or" in said.message
    assert (tmp_path / "failing.shrink" / "artifacts").read_text() == "no folder"
    (tmp_path / "failing.shrink" / "artifacts").unlink()
    (tmp_path / "repro_failing.py").write_text("print('fine')\n")
    assert shrink("report", "failing.shrink", cwd=tmp_path).code == 3
    (tmp_path / "repro_failing.py").unlink()
    said = shrink("report", "failing.shrink", cwd=tmp_path)
    assert said.code == 2 and "put it back" in said.message
