"""What of ISSUE.md fits into a link, and what is said of the rest."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from shrinkray_gpu.attachment.markdown import prose
from shrinkray_gpu.attachment.submission import LONGEST, submission
from shrinkray_gpu.errors import UsageError

FOLDED = "<details><summary>All</summary>\n\nsed é\n\n</details>\n"


def issue(folder: Path, body: str, name: str = "triton") -> Path:
    path = folder / "ISSUE.md"
    path.write_text(f"# crash & #1, Triton 3.7.1\n\n{body}\n<!-- shrink submit: {name} -->\n", encoding="utf-8")
    return path


def fields(url: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}


@pytest.mark.parametrize(
    ("body", "kept", "left"),
    [
        (f"### Describe\n\nit\n\n{FOLDED}", f"### Describe\n\nit\n\n{FOLDED}".strip(), ""),
        (f"it\n\n{FOLDED * 100}\nend\n\n{FOLDED}", "it\n\nend\n\nIR, SASS and all", "what is folded in ISSUE.md"),
        ("é" * LONGEST, "(ISSUE.md goes here", "the text of ISSUE.md"),
    ],
)
def test_a_link_holds_what_it_has_room_for(tmp_path: Path, body: str, kept: str, left: str) -> None:
    made = submission(issue(tmp_path, body))
    assert len(made.url) <= LONGEST and made.left == left and made.unlikely == ""
    assert made.url.startswith("https://github.com/triton-lang/triton/issues/new?title=")
    got = fields(made.url)
    assert got["title"] == "crash & #1, Triton 3.7.1" and got["body"].startswith(kept) and "<!--" not in got["body"]


def test_a_title_is_no_markdown(tmp_path: Path) -> None:
    path, title = issue(tmp_path, "it"), "'!tt.ptr<f32>' and a `cut, @x"
    path.write_text(path.read_text().replace("crash & #1", prose(title)))
    assert prose(title) != title
    assert fields(submission(path).url)["title"] == f"{title}, Triton 3.7.1"


def test_a_form_that_cannot_be_filled_in_gets_its_title(tmp_path: Path) -> None:
    made = submission(issue(tmp_path, "it", "vllm"))
    assert fields(made.url) == {"template": "400-bug-report.yml", "title": "crash & #1, Triton 3.7.1"}
    assert made.left.startswith("the text of ISSUE.md, since its form takes no more")


def test_a_forum_is_filled_in_as_well(tmp_path: Path) -> None:
    made = submission(issue(tmp_path, "it", "nvidia"))
    assert (
        made.url.startswith("https://forums.developer.nvidia.com/new-topic?title=") and fields(made.url)["body"] == "it"
    )


def test_that_it_is_likely_no_bug_is_told_beside_it(tmp_path: Path) -> None:
    made = submission(issue(tmp_path, "> **Likely no bug of Triton.** By what follows: an error of the program.\n\nit"))
    assert made.unlikely == "Likely no bug of Triton. By what follows: an error of the program."


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("no title\n<!-- shrink submit: triton -->\n", "its first line is no title"),
        ("# title\n\nit\n", "its last line does not say for which project"),
        ("# title\n\nit\n<!-- shrink submit: linux -->\n", "its last line does not say for which project"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "ISSUE.md").write_text(text)
    with pytest.raises(UsageError, match=why):
        submission(tmp_path / "ISSUE.md")
