"""What to look for before an issue is filed: the project's own search, for the words of this fault."""

from __future__ import annotations

import re
from urllib.parse import quote_plus

from shrinkray_gpu.attachment.forms import Form
from shrinkray_gpu.attachment.symptom import complaint
from shrinkray_gpu.evidence.scrubbing import Scrubber
from shrinkray_gpu.oracle.fault import Fault

MOST = 8
"""Words of a message: with more of them a search finds nothing."""
_WORD = re.compile(r"[A-Za-z_][\w.]*\w")
_TAKEN = re.compile(r"<[^<>]*>")
"""What the scrubber puts in the place of something."""


def terms(fault: Fault | None, spec: str, scrub: Scrubber) -> str:
    """The words to search for: the driver's and the construct, or the first of the message; no numbers. Scrubbed while
    they are a text: a secret in pieces looks like none."""
    if fault is None:
        return " ".join(_words(spec.partition(":")[2] or spec, scrub))
    if fault.phase == "device" and fault.code:
        return " ".join(filter(None, (fault.klass, fault.construct)))
    said = complaint(fault.words) if fault.text else ""
    return " ".join(_words(said, scrub)) or fault.klass


def _words(text: str, scrub: Scrubber) -> list[str]:
    return _WORD.findall(_TAKEN.sub(" ", scrub.text(text)))[:MOST]


def search_link(form: Form, words: str) -> str:
    return f"{form.search}{quote_plus(words)}"
