"""Programs whose compiler is wrong: each has a whole case in known words, and what proves one."""

from __future__ import annotations

import ast
import json
import re

import below_source
import pytest
from below_source import BelowCase

from shrinkray_gpu.questions.blame.blame import BELOW, FRONT_END, LLVM, PASS, PTXAS

CASES = below_source.cases()
CASE = BelowCase("c", "triton 3.0.0", "triton 3.2.0", "sm_90", FRONT_END, "no targets", "a/b#1", "It is.")


def test_each_program_has_a_case_and_each_case_a_program() -> None:
    assert {one.name for one in CASES} == {path.stem for path in below_source.FOLDER.glob("*.py")}
    assert len({one.wrong for one in CASES}) == len(CASES) >= 25, "each is another defect"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_is_whole(case: BelowCase) -> None:
    assert case.true in {PASS, FRONT_END, LLVM, PTXAS, BELOW}
    assert bool(case.failing) == (case.true == PASS)
    assert re.fullmatch(r"sm_\d+", case.arch) and re.fullmatch(r"[\w-]+/[\w-]+#\d+", case.report)
    assert case.says and case.wrong.endswith(".")
    broken, fixed = ([one.split() for one in releases.split(", ")] for releases in (case.broken, case.fixed))
    assert [tool for tool, _ in broken] == [tool for tool, _ in fixed] and broken[0][0] == "triton"
    numbers = [[[int(part) for part in version.split(".")] for _, version in side] for side in (broken, fixed)]
    assert numbers[0] < numbers[1], "a later release mends it"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_program_is_short_and_launches_its_kernel_on_tensors_of_its_own(case: BelowCase) -> None:
    text = (below_source.FOLDER / f"{case.name}.py").read_text()
    assert 8 <= len(ast.unparse(ast.parse(text)).splitlines()) <= 40
    assert "@triton.jit" in text and "torch." in text and re.search(r"^\w+\[\(.*\)\]\(", text, re.MULTILINE)


@pytest.mark.parametrize(
    "broken, fixed, because",
    [
        ((0, "no targets"), 3, ""),
        ((3, ""), 3, "triton 3.0.0 shows no fault"),
        ((0, "no room"), 3, "triton 3.0.0 says something else"),
        ((0, "no targets"), 0, "triton 3.2.0 mends nothing"),
        ((0, "no targets"), 2, "triton 3.2.0 mends nothing"),
        ((None, ""), 3, "triton 3.0.0 shows no fault"),
    ],
)
def test_proven_is_what_fails_so_with_one_release_and_ends_well_with_the_other(
    monkeypatch: pytest.MonkeyPatch, broken: tuple[int | None, str], fixed: int, because: str
) -> None:
    def explain(case: BelowCase, releases: str, timeout: float) -> tuple[int | None, str, str]:
        code, text = broken if releases == case.broken else (fixed, "")
        return code, json.dumps({"fault": {"text": text}}), ""

    monkeypatch.setattr(below_source, "explain", explain)
    _, unproven, _ = below_source.proven(CASE, 1.0)
    assert unproven.startswith(because) and bool(unproven) == bool(because)


def test_the_pass_counts_where_there_is_one() -> None:
    row = {"true": PASS, "told": PASS, "pass": "A", "named": "A", "seconds": 1.0}
    figures = below_source.figures([row, row | {"named": "B"}, row | {"pass": "", "true": LLVM, "told": "not known"}])
    assert figures["names the pass, of those with one"][0] == 50.0
    assert (figures["recall"][PASS][0], figures["recall"][LLVM][0], figures["wrong class"]) == (100.0, 0.0, 0)
