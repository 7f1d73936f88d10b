"""A tiny kernel with one planted fault, reduced by hand in several ways: what the checker says, on the virtual GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pytest
from seeding import reducing, runs
from seeding.operators import Operator, by_name
from seeding.places import Edit, Source
from seeding.truth import Judgement, Outcome, attempts, judge, likeness

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n@triton.jit\n"
PROGRAM = (
    HEAD
    + """\
def add(x, y, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + offsets, mask=offsets < n, other=0.0)
    tl.store(y + offsets, value + 1, mask=offsets < n)

x = torch.zeros(100, device="cuda")
add[(7,)](x, x, 100, BLOCK=16)
"""
)
RUN = "\nx = torch.zeros(1, device='cuda')\nkernel[(1,)](x)\n"


@pytest.fixture(scope="module")
def run() -> Iterator[Callable[[str], Outcome]]:
    with runs.lanes(runs.Machine(90), []) as pool:
        yield partial(reducing.outcome, pool)


def planted(name: str) -> tuple[Edit, Operator]:
    operator = by_name(name)
    return next(operator.plants(Source(PROGRAM))), operator


def verdict(name: str, body: str, run: Callable[[str], Outcome]) -> Judgement:
    return judge(f"{HEAD}def kernel(x):\n    {body}\n{RUN}", *planted(name), run)


def test_the_program_passes_and_fails_with_the_fault(run: Callable[[str], Outcome]) -> None:
    edit, _ = planted("extent")
    assert run(PROGRAM).fault is None
    fault = run(Source(PROGRAM).with_edits([edit])).fault
    assert fault is not None and fault.phase == "compile"


@pytest.mark.parametrize("body", ["tl.arange(0, 4 + 1)", "tl.arange(0, 5)", "tl.store(x + tl.arange(0, 17), 0)"])
def test_true_where_the_fix_helps(body: str, run: Callable[[str], Outcome]) -> None:
    assert verdict("extent", body, run).verdict == "true"


def test_slipped_where_the_fix_does_not_help(run: Callable[[str], Outcome]) -> None:
    told = verdict("extent", "tl.arange(0, 7)", run)
    assert told == Judgement("slipped", "the fixed repro still fails with the same fault")


def test_slipped_where_the_index_has_become_a_literal(run: Callable[[str], Outcome]) -> None:
    told = verdict("index_dtype", "x + 0.0", run)
    assert told == Judgement("slipped", "nothing of the place is left")
    assert verdict("index_dtype", "x + tl.arange(0, 4).to(tl.float32)", run).verdict == "true"


def test_undecided_where_a_second_fault_shows(run: Callable[[str], Outcome]) -> None:
    told = verdict("extent", "tl.arange(0, 5) + tl.arange(0, 2) + tl.arange(0, 4)", run)
    assert told.verdict == "undecided" and "fails otherwise" in told.why


def test_undecided_where_the_repro_shows_nothing(run: Callable[[str], Outcome]) -> None:
    assert verdict("extent", "tl.arange(0, 4)", run).verdict == "undecided"


def test_the_mask_comes_back_though_its_names_are_gone(run: Callable[[str], Outcome]) -> None:
    assert verdict("mask_of_other", "tl.load(x, other=0.0)", run).verdict == "true"


def test_copies_are_mended_together() -> None:
    edit, operator = planted("extent")
    source = Source("@triton.jit\ndef k():\n    a = tl.arange(0, 5)\n    b = tl.arange(0, 5)\n")
    tried = attempts(list(operator.mends(source, edit)), edit)
    assert [len(one) for one in tried] == [1, 2, 1]


def test_a_renamed_statement_is_like_itself() -> None:
    edit, operator = planted("extent")
    source = Source("@triton.jit\ndef k():\n    o = tl.program_id(0) * B + tl.arange(0, B + 1)\n    tl.arange(1, 3)\n")
    first, second = operator.mends(source, edit)
    assert likeness(first, edit) > likeness(second, edit) + 0.25
