"""A regex that somebody typed may take long, and never for ever."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.oracle import Answer, guarded_pattern, parse
from shrinkray_gpu.oracle.guarded_pattern import GuardedPattern, TooSlow
from tests.oracle.runs import failing

TEXTS = ["", "aab", "x\naab\n", "é\ud800aab", "a" * 30_000 + "b"]


@pytest.mark.parametrize("regex", ["aab", "a+b", "(a|é).*b$", "x?y?a?b", "a{2,3}(b|c)+", "^a*?b"])
def test_it_finds_what_re_finds(regex: str) -> None:
    for text in TEXTS:
        if len(text) > 100 and regex == "^a*?b":
            continue
        found, match = GuardedPattern(regex, re.MULTILINE).search(text), re.search(regex, text, re.MULTILINE)
        assert (found and found.start()) == (match and match.start())


def test_a_search_without_end_is_given_up_and_the_next_one_works() -> None:
    slow = GuardedPattern("(a+)+$", re.MULTILINE)
    with pytest.raises(TooSlow, match=r"'\(a\+\)\+\$' takes more than 2 s on 41 characters"):
        slow.search("a" * 40 + "b")
    found = slow.search("ba")
    assert found is not None and found.start() == 1


def test_an_oracle_does_not_know_then() -> None:
    oracle = parse("regex:(a+)+$", folder=Path())
    verdict = oracle.judge(failing("ValueError", "a" * 40 + "!"))
    assert verdict.answer is Answer.UNKNOWN and "takes more than 2 s" in verdict.why


@pytest.mark.parametrize("regex", ["(a|a)*$", "(?:a?){30}", "a?" * 30, "a*b*", "(a+)+$"])
def test_what_may_take_long_is_searched_elsewhere(regex: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(guarded_pattern._searcher, "start", lambda regex, flags, text: asked.append(regex) or 0)
    GuardedPattern(regex, 0).search("a")
    assert asked == [regex]


@pytest.mark.parametrize("regex", ["(" * 5000 + "a" + ")" * 5000, "a{99999999999}"])
def test_a_regex_that_cannot_be_compiled_is_refused(regex: str) -> None:
    with pytest.raises(UsageError):
        parse(f"regex:{regex}", folder=Path())
