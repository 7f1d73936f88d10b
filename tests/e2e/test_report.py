"""The attachment of a reduction, without a GPU: what ISSUE.md names, what is in artifacts/, that the page works."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu.attachment import attachment, forms
from shrinkray_gpu.corpus.case import load
from shrinkray_gpu.corpus.expectation import Status
from shrinkray_gpu.corpus.replayer import Replayer
from shrinkray_gpu.job import attach
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
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHRINK_ENVIRONMENTS", str(folder / "none"))  # whatever Triton this machine has aside
        asked = (*ARCH, *only("unreachable"), "--skip-pass", "lift", *words)
        said = shrink("failing.py", *asked, cwd=folder, report=report, interpreters=True)
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
        "# misaligned address at UTMALDG (descriptor load) with num_stages=3 (predicted), Triton ",
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
        "<details><summary>Hypothesis, not proven, and workarounds</summary>",
        "cost: none, no GPU was used",
        "memcheck | missing: needs the real GPU",
        "| `fix.diff` | passes: no fault, it ends well (exit 0) | passes: no fault, it ends well (exit 0) |",
        "| `ptxas=-O0` | faults: ",
        "No other Triton was run: none is installed aside. By the corpus a fault like it is fixed in Triton >=3.9 (",
        " --triton 3.6.0,3.9.0` tries others, where it was reduced.",
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


def test_the_first_screen_says_what_decides_and_the_rest_is_folded(flagship: Path) -> None:
    issue = (flagship / "ISSUE.md").read_text()
    first, _, folded = issue.partition("<details>")
    in_order = (
        "### Describe the bug",
        "Predicted by a static rule, not run",
        "- **Whose:** compiler or below",
        "- **Line:** failing.py:",
        "- **Reached by:** failing.py:",
        "```python\n# Shows: device fault: misaligned address (CUDA error 716) in the kernel at UTMALDG",
        "```diff\n-    for start in tl.range(2, num_stages=3):\n+    for start in tl.range(2, num_stages=2):\n```",
        ") | 3 | passes up to 2; faults from 3 on (tried to 6) |",
        "other knobs do not decide it: num_stages of the launch, num_warps of the launch",
        "[misaligned address descriptor load](https://github.com/triton-lang/triton/issues?q=is%3Aissue+misaligned+",
        "- Known: the same fingerprint as the case ",
        "### Environment details",
        "| Triton | 3.",
    )
    places = [first.find(fact) for fact in in_order]
    assert -1 not in places and places == sorted(places), (in_order[places.index(min(places))], first)
    assert "Likely no bug" not in first and "\nsed " not in first and "UTMALDG.2D" not in first
    assert folded.count("<details>") + 1 == folded.count("</details>") >= 4


HEADINGS = {
    "triton": ["### Describe the bug", "### Environment details"],
    "pytorch": ["### 🐛 Describe the bug", "### Error logs", "### Versions"],
    "helion": [
        *("**Describe the bug**", "**To Reproduce**", "**Expected behavior**", "**Versions**"),
        "**Additional context**",
    ],
    "vllm": ["### Your current environment", "### 🐛 Describe the bug", "### Before submitting a new issue..."],
    "nvidia": [
        *("### Describe the bug", "### How to Reproduce", "### Expected behavior"),
        *("### Operating System, nvidia-smi output, NVCC version", "### Is this a duplicate?"),
    ],
}


def test_each_project_is_told_the_same_in_the_order_of_its_form(
    flagship: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Measured once, and written for each."""
    written: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    monkeypatch.setattr(attach.attachment, "write", lambda *one, **named: written.append((one, named)) or one[0])
    said: list[str] = []
    attach.report(flagship, jobs=1, seconds=1, reader="vllm", say=said.append)
    monkeypatch.undo()
    assert "ISSUE.md is for vLLM (as asked); --for chooses another: triton, pytorch, helion, nvidia" in said
    (tmp_path / "artifacts").mkdir()
    [((_, told, measured), named)] = written
    assert set(HEADINGS) == set(forms.FORMS)
    for name, headings in HEADINGS.items():
        named["form"] = forms.FORMS[name]
        issue = attachment.write(tmp_path, told, measured, **named).read_text()
        assert re.findall(r"^(?:###|\*\*).*$", issue, re.M) == headings
        assert issue.count("```python\n") == 1 and "| Triton | 3." in issue and "Search for duplicates: [" in issue
        assert issue.splitlines()[0].startswith(f"# {forms.FORMS[name].prefix}misaligned address")
        assert issue.endswith(f"<!-- shrink submit: {name} -->\n")
        assert ("None that anybody saw" in issue) is (name == "pytorch"), "its form has a field for the error alone"


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


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    with playwright.sync_playwright() as drive:
        opened = drive.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.mark.parametrize(("width", "height", "scheme"), [(1280, 900, "light"), (390, 844, "dark")])
def test_the_first_screen_of_the_page(flagship: Path, chromium: Any, width: int, height: int, scheme: str) -> None:
    """On a desk and on a phone: verdict, repro and passing change, before anything is scrolled."""
    page = chromium.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    page.goto((flagship / "report.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "nothing sticks out"
    for seen, text in (
        (page.locator(".badge"), "compiler or below"),
        (page.locator(".facts"), "lines → "),
        (page.locator("#hero .code").first, "import torch"),
        (page.locator("#hero .code").nth(1), "+    for start in tl.range(2, num_stages=2):"),
    ):
        assert text in seen.inner_text()
        box = seen.bounding_box()
        assert box["x"] >= 0 and box["y"] + box["height"] <= height, (text, box)
    colours = page.evaluate(
        """() => [...document.querySelectorAll("figure, figure path[stroke=currentColor], figure text")]
            .map((each) => getComputedStyle(each))
            .map((style) => [style.backgroundColor, style.fill, style.stroke])"""
    )
    dark = scheme == "dark"
    assert len(colours) > 10 and all("rgb(255, 255, 255)" not in each for each in colours), "no white slab"
    assert any(each[2] == ("rgb(232, 234, 237)" if dark else "rgb(27, 27, 27)") for each in colours), colours
    assert page.locator("section:not(:has(h2, h3))").count() == 0 and page.locator("table:not(:has(td))").count() == 0
    page.evaluate("navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }")
    page.locator("#hero button.copy").first.click()
    assert page.evaluate("window.copied") == (flagship / "repro_failing.py").read_text()
    page.close()


def shade(page: Any) -> tuple[str, str]:
    """The colours of the page and of a keyword of the repro."""
    words = "[...document.querySelectorAll('body, #hero .code .k')].map((one) => getComputedStyle(one))"
    back, *rest = page.evaluate(f"{words}.map((style, at) => at ? style.color : style.backgroundColor)")
    return back, rest[0]


def test_the_reader_chooses_light_or_dark_and_it_is_remembered(flagship: Path, chromium: Any) -> None:
    shown = {}
    for scheme in ("light", "dark"):
        context = chromium.new_context(color_scheme=scheme)
        page = context.new_page()
        page.goto((flagship / "report.html").as_uri())
        shown[scheme] = shade(page)
        context.close()
    assert len({*shown["light"], *shown["dark"]}) == 4, "page and words differ"
    for scheme, other in (("light", "dark"), ("dark", "light")):
        context = chromium.new_context(color_scheme=scheme)
        page = context.new_page()
        page.goto((flagship / "report.html").as_uri())
        button = page.get_by_role("button", name=f"{other.title()} theme")
        button.focus()
        page.keyboard.press("Enter")
        assert shade(page) == shown[other]
        page.reload()
        assert shade(page) == shown[other], "remembered"
        page.get_by_role("button", name=f"{scheme.title()} theme").click()
        assert shade(page) == shown[scheme]
        context.close()


def test_without_javascript_the_page_shows_all_that_it_has(flagship: Path, chromium: Any) -> None:
    context = chromium.new_context(java_script_enabled=False, color_scheme="dark")
    page = context.new_page()
    page.goto((flagship / "report.html").as_uri())
    assert "import torch" in page.locator("#hero .code").first.inner_text()
    panels = page.locator("[role=tabpanel]")
    assert panels.count() >= 5 and all(panels.nth(at).is_visible() for at in range(panels.count()))
    assert page.locator("#compiled h4").all_inner_texts()[:2] == ["TTIR", "TTGIR"]
    assert page.locator("button:visible").count() == 0, "no button that does nothing"
    context.close()


def test_the_rest_of_the_page_in_a_browser(flagship: Path, chromium: Any) -> None:
    """Loads it as a file, with no network; clicks and keys through its tabs."""
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda asked: None if asked.url.startswith(("file:", "data:")) else said.append(asked.url))
    page.goto((flagship / "report.html").as_uri())
    assert "misaligned address" in page.title()

    tabs = page.get_by_role("tab")
    names = tabs.all_inner_texts()
    assert names[:5] == ["TTIR", "TTGIR", "LLVM IR", "PTX", "SASS"] and "TTIR: diff to passing" in names
    opened = page.locator("[role=tabpanel]:visible")
    marked = opened.locator(".marked").first
    assert opened.get_attribute("id") == "panel-ttgir" and "async_tma_copy" in marked.inner_text()
    pane, line = opened.locator(".code").bounding_box(), marked.bounding_box()
    assert pane["y"] <= line["y"] <= pane["y"] + pane["height"], "the marked line is in view"
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
    assert "num_warps" not in grid.inner_text(), "what does not decide is folded"
    assert page.locator("figure[role=img] svg").count() == 1
    assert page.locator("#files a[download]").count() >= 15
    assert page.locator("#before .marked").count() >= 8, "lines that the repro still has"
    page.close()
    assert said == []


def test_a_compiler_crash_and_the_attachment_made_again(tmp_path: Path) -> None:
    oracle = "compile:WGMMA type or shape is not supported"
    folder = attached("warp_specialized_int8_dot", tmp_path, "--oracle", oracle, report=False)
    assert not (folder / "ISSUE.md").exists()
    installed = importlib.metadata.version("triton")
    said = shrink("report", folder, "--quiet", "--triton", installed, cwd=tmp_path)
    assert said.code == 0, said.err
    issue = (folder / "ISSUE.md").read_text()
    assert issue.startswith(
        "# ConvertNVGPUToLLVM: WGMMA type or shape is not supported with warp_specialize=True, Triton "
    )
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
        ((".", "--for", "linux"), "'linux' is not one of 'triton', 'pytorch', 'helion', 'vllm', 'nvidia'"),
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
