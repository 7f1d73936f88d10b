"""The words of a fault for a project's search: no numbers, and nothing of a secret."""

from __future__ import annotations

import pytest

from shrinkray_gpu.attachment.duplicates import terms
from shrinkray_gpu.evidence.scrubbing import scrubber
from shrinkray_gpu.oracle.fault import Fault


def fault(said: str) -> Fault:
    return Fault("python", "RuntimeError", text=said, said=said)


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("expected 8 rows of tt.ptr, got 4", "expected rows of tt.ptr got"),
        ("login at redis://bob:s3cretpw@host failed", "login at redis bob host failed"),
        ("no header Bearer abcdefgh12345678ab here", "no header Bearer here"),
        ("my-own-pass is refused", "is refused"),
    ],
)
def test_what_is_searched_for(said: str, wanted: str) -> None:
    scrub = scrubber([], environment={"DB_PASSWORD": "my-own-pass"})
    assert terms(fault(said), "", scrub) == wanted
    assert terms(None, f"regex:{said}", scrub) == wanted
