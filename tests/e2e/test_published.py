"""What an attachment shows of a program that means harm, or that holds secrets."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.e2e.command import only, refused, shrink

KEYS = ("a8f9d0c7b6e5f4a3", "pa55word", "a&b<c>d'e1", "hf_Xy12abc")
SCRIPT = """\
import sys
API_KEY = "a8f9d0c7b6e5f4a3"
said = sys.argv[1]
raise ValueError("```\\n@user #1 </pre><script>alert(1)</script> https://me:pa55word@host/x", said)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("a&b `c` <i>")
    (folder / "failing one.py").write_text(SCRIPT)
    words = ("failing one.py", "--oracle", "exception:ValueError", "--env", "HF_TOKEN=hf_Xy12abc")
    said = shrink(*only("statements"), *words, "--", f"--api-key={KEYS[2]}", cwd=folder, report=True)
    assert said.code == 0, said.err
    [told] = [line for line in said.err.splitlines() if line.startswith("replaced in what is published: ")]
    for what in ("an option with a secret in the arguments", "a URL with a password in the repro", "in the original"):
        assert what in told
    assert "the value of HF_TOKEN in the environment" in told and not any(key in told for key in KEYS)
    return folder


def test_no_secret_is_in_any_file_of_it(folder: Path) -> None:
    attachment = folder / "failing one.shrink"
    for file in (attachment / "ISSUE.md", attachment / "report.html", *(attachment / "artifacts").iterdir()):
        text = file.read_text(errors="replace")
        assert not any(key in text for key in (*KEYS, "a&amp;b&lt;c")), file
    assert "--api-key=<secret>" in (attachment / "ISSUE.md").read_text()
    assert "api-key=&lt;secret&gt;" in (attachment / "report.html").read_text()


def test_the_page_has_its_own_two_scripts_and_no_other(folder: Path) -> None:
    page = (folder / "failing one.shrink" / "report.html").read_text()
    assert page.count("<script>") == page.count("<script") == page.count("</script>") == page.count("</script") == 2
    assert "<i>" not in re.sub(r"<i aria[^>]*>", "", page)
    assert "alert(1)" in re.sub("<[^>]*>", "", page)


def test_the_issue_calls_nobody_and_its_code_ends_where_it_should(folder: Path) -> None:
    issue = (folder / "failing one.shrink" / "ISSUE.md").read_text()
    fence = "````"
    assert f"{fence}\nValueError: " in issue and f"{fence}python\n" in issue
    prose = re.sub(r"^(````?)\w*\n.*?^\1$|(`+)(?!`).*?[^`]\2(?!`)", "", issue, flags=re.MULTILINE | re.DOTALL)
    assert "@user" not in prose and "#1" not in prose and "<script" not in prose
    assert "run `python 'repro_failing one.py'`" in issue


def test_strict_publishes_nothing(folder: Path) -> None:
    result = folder / "failing one.shrink" / "result.json"
    before = (result.with_name("ISSUE.md")).read_bytes()
    assert json.loads(result.read_text())["argv"] == [f"--api-key={KEYS[2]}"], "ours, to run it again"
    said = refused("report", folder / "failing one.shrink", "--publish", "strict", "--seconds", "0", cwd=folder)
    assert said.code == 2 and "--publish strict: nothing is published" in said.message
    said = refused("corpus", "add", folder / "failing one.shrink", "--name", "one", "--publish", "strict", cwd=folder)
    assert said.code == 2 and "--publish strict: nothing is published" in said.message
    assert result.with_name("ISSUE.md").read_bytes() == before and not (folder / "corpus" / "one").exists()


def test_a_case_of_the_corpus_has_none(folder: Path) -> None:
    said = shrink("corpus", "add", "failing one.shrink", "--name", "one", cwd=folder)
    assert said.code == 0, said.err
    assert "replaced in what is published: " in said.err
    for file in (folder / "corpus" / "one").iterdir():
        assert not any(key in file.read_text() for key in KEYS), file
