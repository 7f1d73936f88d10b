"""The page on which an issue is filed, filled in from ISSUE.md. Nothing is opened and nothing is sent here."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode

from shrinkray_gpu.attachment.forms import FORMS, Form
from shrinkray_gpu.errors import UsageError

LONGEST = 8000
"""Characters of an address: browsers and GitHub refuse much longer ones."""
_MARK = re.compile(r"^<!-- shrink submit: (\w+) -->$", re.MULTILINE)
_DETAILS = re.compile(r"^<details>.*?^</details>\n*", re.MULTILINE | re.DOTALL)
_UNLIKELY = re.compile(r"^> \*\*(Likely no bug of .*)$", re.MULTILINE)
_LEFT_OUT = "IR, SASS and all experiments are in ISSUE.md and artifacts/, to be attached."
_PASTE = "(ISSUE.md goes here: it is too long for a link.)"


@dataclass(frozen=True)
class Submission:
    """What the page gets."""

    form: Form
    title: str
    body: str
    left: str
    """What of the issue the link has no room for, in words; empty where it has all."""
    unlikely: str
    """That this is likely no bug of the project; empty where nothing says so."""

    @property
    def url(self) -> str:
        return _url(self.form, self.title, self.body)


def submission(issue: Path) -> Submission:
    """Of this ISSUE.md, as it stands: its reader may have edited it. Raises UsageError where it is none."""
    try:
        text = issue.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot read {issue} ({error.strerror}): shrink report FOLDER makes it") from error
    mark, title = _MARK.search(text), re.match(r"# (.+)\n", text)
    if mark is None or mark.group(1) not in FORMS or title is None:
        why = "its first line is no title" if title is None else "its last line does not say for which project it is"
        raise UsageError(f"{issue} is not what shrink report writes ({why}): shrink report FOLDER makes it anew")
    head, unlikely = _plain(title.group(1)), _UNLIKELY.search(text)
    form, whole = FORMS[mark.group(1)], _MARK.sub("", text[title.end() :]).strip()
    short = f"{_DETAILS.sub('', whole).strip()}\n\n{_LEFT_OUT}"
    choices = [(whole, ""), (short, "what is folded in ISSUE.md"), (_PASTE, "the text of ISSUE.md")]
    if form.template:
        choices = [("", "the text of ISSUE.md, since its form takes no more than a title from a link")]
    fits = (each for each in choices if len(_url(form, head, each[0])) <= LONGEST)
    body, left = next(fits, choices[-1])
    return Submission(form, head, body, left, _plain(unlikely.group(1)).replace("**", "") if unlikely else "")


def _plain(markdown: str) -> str:
    """A line of ISSUE.md as it is to be read: a title is no Markdown."""
    return html.unescape(markdown).replace("\u200b", "")


def _url(form: Form, title: str, body: str) -> str:
    given = {"template": form.template, "title": title, "body": body}
    return f"{form.new}?{urlencode({name: text for name, text in given.items() if text}, quote_via=quote)}"
