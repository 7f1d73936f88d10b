"""What can be typed, and what is said about what cannot."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.oracle import parse, table
from shrinkray_gpu.oracle.__main__ import with_table
from shrinkray_gpu.oracle.spec import FORMS, OracleForm, markdown_table

MISTAKES = {
    "": "is empty",
    "   ": "is empty",
    "regex:": "empty regex",
    "regex:(": r"missing \), unterminated subpattern at position 0",
    "compile:[": "bad regex",
    "ttgir:!": "empty regex",
    "exception:": "names no exception type",
    "exception:no type:x": "names no exception type",
    "exception:ValueError:(": "bad regex",
    "exit:": "names no exit status",
    "exit:256": "from 0 to 255",
    "exit:one": "names no exit status",
    "signal:SIGABORT": "did you mean signal:SIGABRT",
    "signal:SIGWHAT": "names no signal",
    "signal:": "names no signal",
    "static:tma-aligment": "did you mean static:tma-alignment",
    "static:other": "known: static:tma-alignment",
}


@pytest.mark.parametrize("spec", MISTAKES)
def test_mistakes_are_told_in_one_line(spec: str) -> None:
    with pytest.raises(UsageError, match=MISTAKES[spec]) as told:
        parse(spec, folder=Path())
    assert "\n" not in str(told.value)


HINTS = {
    "timeot": "did you mean 'timeout'",
    "expection:ValueError": "did you mean 'exception:ValueError'",
    "singal:SIGABRT": "did you mean 'signal:SIGABRT'",
    "complie:foo": "did you mean 'compile:foo'",
    "RuntimeError: shapes": "",
    "exceptional": "",
    "error: no such thing": "",
    "https://example.org": "",
    "timeouts are bad": "",
}


@pytest.mark.parametrize("spec", HINTS)
def test_an_unknown_prefix_is_plain_text_with_a_hint_at_most(spec: str) -> None:
    hint = parse(spec, folder=Path()).hint
    assert HINTS[spec] in hint
    assert bool(hint) == bool(HINTS[spec])


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.shape)
def test_each_form_has_an_example_that_parses_to_itself(form: OracleForm, tmp_path: Path) -> None:
    script = tmp_path / "test.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    oracle = parse(form.example, folder=tmp_path)
    again = parse(oracle.spec, folder=tmp_path)
    assert oracle.spec == again.spec
    assert type(oracle) is type(again)


@pytest.mark.parametrize("typed", ["signal:6", "exit:003", "RuntimeError: CUDA error: misaligned address", " timeout "])
def test_the_canonical_spec_parses_to_itself(typed: str) -> None:
    spec = parse(typed, folder=Path()).spec
    assert parse(spec, folder=Path()).spec == spec


def test_help_and_docs_come_from_the_one_table() -> None:
    docs = (Path(__file__).parents[2] / "docs" / "oracles.md").read_text(encoding="utf-8")
    assert docs == with_table(docs), "run python -m shrinkray_gpu.oracle docs/oracles.md"
    assert markdown_table() in docs
    for form in FORMS:
        assert form.shape in table()
        assert form.holds in re.sub(r"\s+", " ", table())
