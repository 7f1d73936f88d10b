"""A kernel that computes something else, and a check that says so: planted, mended, and judged on the virtual GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pytest
from seeding import packages, programs, reducing, runs
from seeding.operators import by_name
from seeding.oracles import ORACLES, VALUES
from seeding.places import Source
from seeding.truth import Outcome, attempts, judge

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n@triton.jit\n"
KERNEL = f"""{HEAD}def k(x, y, n, scale, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i[:, None], mask=i[:, None] < n, other=0.0)
    top = tl.max(tl.load(x + i, mask=i < n, other=-float("inf")), 0)
    acc = tl.zeros([BLOCK, BLOCK], dtype=tl.float32)
    for j in range(n):
        acc = tl.dot(a, tl.trans(a), acc)
        acc += (a - top) * scale
        top = top + a / (scale + 1)
    tl.store(y + i, tl.sum(acc, axis=1), mask=i < n)
"""
SAID = {
    ("operands", "a - top", "top - a"),
    ("operands", "a / (scale + 1)", "(scale + 1) / a"),
    ("factors", "tl.dot(a, tl.trans(a), acc)", "tl.dot(tl.trans(a), a, acc)"),
    ("accumulator", "acc = tl.dot(a, tl.trans(a), acc)", "acc = tl.dot(a, tl.trans(a))"),
    ("accumulator", "acc += (a - top) * scale", "acc = (a - top) * scale"),
    ("accumulator", "top = top + a / (scale + 1)", "top = a / (scale + 1)"),
    ("fill", "other=0.0", "other=1.0"),
    ("fill", 'other=-float("inf")', "other=0.0"),
    ("unscaled", "(a - top) * scale", "(a - top)"),
    ("inverted", "(a - top) * scale", "(a - top) / scale"),
    ("inverted", "a / (scale + 1)", "a * (scale + 1)"),
}


@pytest.mark.parametrize(("name", "right", "wrong"), sorted(SAID))
def test_plants_one_fault_and_gives_the_value_back(name: str, right: str, wrong: str) -> None:
    source, faulty = Source(KERNEL), KERNEL.replace(right, wrong, 1)
    planted = next(edit for edit in by_name(name).plants(source) if source.with_edits([edit]) == faulty)
    mended = {_plain(Source(faulty).with_edits([edit])) for edit in by_name(name).mends(Source(faulty), planted)}
    back = {"acc = tl.dot(a, tl.trans(a), acc)": "acc += tl.dot(a, tl.trans(a))"}
    back |= {"top = top + a / (scale + 1)": "top += a / (scale + 1)", 'other=-float("inf")': 'other=float("-inf")'}
    assert _plain(KERNEL.replace(right, back.get(right, right), 1)) in mended


def _plain(text: str) -> str:
    return text.replace("(", "").replace(")", "").replace(" ", "")


@pytest.mark.parametrize("name", ["operands", "unscaled", "inverted", "accumulator"])
def test_an_address_is_left_alone(name: str) -> None:
    body = "    i = tl.program_id(0) * BLOCK\n    ptr += i_t * s\n    return x + i - stride_x\n"
    source = Source(f"{HEAD}def k(x, ptr, i_t, s, stride_x, BLOCK):\n{body}")
    assert list(by_name(name).plants(source)) == []


def test_a_factor_whose_name_is_gone_is_one_of_the_parameters() -> None:
    planted = next(edit for edit in by_name("unscaled").plants(Source(KERNEL)) if edit.new == "(a - top)")
    repro = Source(f"{HEAD}def k(x, s):\n    tl.store(x, (b - c))\n")
    assert {edit.new for edit in by_name("unscaled").mends(repro, planted)} == {"(b - c) * x", "(b - c) * s"}


def test_a_missing_factor_is_put_first_where_the_statement_was() -> None:
    body = "    tl.store(x, a + b + c)\n    d = (a * b).to(x)\n    tl.store(x, d * c)\n"
    source = Source(f"{HEAD}def k(x, a, b, c):\n{body}")
    planted = next(edit for edit in by_name("unscaled").plants(source) if edit.new == "a")
    faulty = Source(source.with_edits([planted]))
    [first, *_] = attempts(list(by_name("unscaled").mends(faulty, planted)), planted)
    assert faulty.with_edits(first) == source.text


def test_a_missing_factor_is_put_where_its_variable_is_assigned_something_longer() -> None:
    """The value without its factor was another variable's, which is gone."""
    source = Source(f"{HEAD}def k(x, a, b):\n    c = tl.load(x)\n    d = c[None, :] * b\n    tl.store(x, d)\n")
    planted = next(edit for edit in by_name("unscaled").plants(source) if edit.new == "c[None, :]")
    repro = Source(f"{HEAD}def k(x, a, b):\n    d = tl.load(x, mask=a)\n    tl.store(x, d)\n")
    assert "tl.load(x, mask=a) * b" in {edit.new for edit in by_name("unscaled").mends(repro, planted)}


PROGRAM = """{head}def k(x, y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < 12, other={fill})
    tl.store(y, tl.sum(a, 0){more})

x, y = torch.ones(12, device="cuda"), torch.zeros(1, device="cuda")
k[(1,)](x, y, BLOCK=16)
torch.testing.assert_close(y, {right})
"""


@pytest.fixture(scope="module")
def run() -> Iterator[Callable[[str], Outcome]]:
    with runs.lanes(runs.Machine(90), []) as pool:
        yield partial(reducing.outcome, pool, wants=ORACLES[VALUES].wants)


def text(fill: str, right: str = "x.sum()[None]", more: str = "") -> str:
    return PROGRAM.format(head=HEAD, fill=fill, right=right, more=more)


def test_the_check_fails_with_the_fault_and_not_without(run: Callable[[str], Outcome]) -> None:
    assert run(text("0.0")) == Outcome(None, frozenset({"k"}))
    assert ORACLES[VALUES].sees(run(text("1.0")).fault)
    assert not ORACLES[VALUES].sees(run("assert False, 'Scalars are not close!'").fault)


def test_a_repro_is_judged_by_the_check(run: Callable[[str], Outcome]) -> None:
    operator, told = by_name("fill"), {}
    planted = next(operator.plants(Source(text("0.0"))))
    for name, repro in {
        "kept": text("1.0"),
        "other reference": text("1.0", "x.sum()[None] * 3"),
        "no place": text("2.0"),
        "no kernel": "import torch\ntorch.testing.assert_close(torch.ones(2), torch.zeros(2))\n",
    }.items():
        told[name] = judge(repro, planted, operator, run).verdict
    assert told == {"kept": "true", "other reference": "slipped", "no place": "slipped", "no kernel": "slipped"}


def test_what_the_interpreter_does_not_run_is_no_pass(run: Callable[[str], Outcome]) -> None:
    rsqrt = text("0.0", more=" * tl.extra.cuda.libdevice.rsqrt(1.0)")
    seen = run(rsqrt)
    assert seen.fault is None and seen.trouble == "k was not run"


def test_the_calls_with_a_check_have_names_of_their_own_and_parse() -> None:
    every = programs.programs(programs.COMPARED)
    assert len({one.package for one in every}) >= 3 and {one.package for one in every} <= {
        one.name for one in packages.PACKAGES
    }
    for one in every:
        compile(one.text, one.key, "exec")
        assert "assert_close(" in one.text.partition("assert_close = torch.testing.assert_close")[2]
