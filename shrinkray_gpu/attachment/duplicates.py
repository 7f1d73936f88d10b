"""What to look for before an issue is filed: the project's own search, for the words of this fault."""

from __future__ import annotations

import re
from urllib.parse import quote_plus

from shrinkray_gpu.attachment.forms import Form
from shrinkray_gpu.attachment.symptom import complaint
from shrinkray_gpu.oracle.fault import Fault

MOST = 8
"""Words of a message: with more of them a search finds nothing."""
_WORD = re.compile(r"[A-Za-z_][\w.]*\w")


def terms(fault: Fault | None, spec: str) -> str:
    """The words to search for: the driver's and the construct, or the first of the message; no numbers."""
    if fault is None:
        return " ".join(_WORD.findall(spec.partition(":")[2] or spec)[:MOST])
    if fault.phase == "device" and fault.code:
        return " ".join(filter(None, (fault.klass, fault.construct)))
    said = complaint(fault.said or fault.text) if fault.text else ""
    return " ".join(_WORD.findall(said)[:MOST]) or fault.klass


def search_link(form: Form, fault: Fault | None, spec: str) -> str:
    return f"{form.search}{quote_plus(terms(fault, spec))}"
