"""True against told: recall of each class, wrong classes apart from what is not known, and which lines are named."""

from __future__ import annotations

from dataclasses import replace

from seeding import verdicts
from seeding.cases import Planted
from seeding.operators import by_name
from seeding.places import Source
from seeding.programs import Program
from seeding.verdicts import VerdictRow

KERNEL, HOST, UNKNOWN = "kernel source", "host program", "not known"
ROW = VerdictRow("p.k/mask/k/0", "mask", KERNEL, KERNEL, True, False, "m.py:5", "m.py:5", "no mask", "", 2.0)
SOURCE = """import triton, triton.language as tl
@triton.jit
def k(x, n):
    at = tl.arange(0, 16)
    tl.store(
        x + at,
        0.0,
        mask=at < n,
    )
"""


def test_what_is_not_known_is_no_wrong_class_and_counts_in_recall() -> None:
    told = [(KERNEL, KERNEL), (KERNEL, UNKNOWN), (KERNEL, HOST), (HOST, HOST), (HOST, "no verdict")]
    rows = [replace(ROW, true=true, told=said, named=said == true).to_json() for true, said in told]
    figures = verdicts.figures(rows)
    assert (figures["faults"], figures["wrong class"], figures["not known or no verdict"]) == (5, 1, 2)
    assert figures["recall"][KERNEL][0] == 33.3 and figures["recall"][HOST][0] == 50.0
    assert figures["names the line, of all"][0] == 40.0
    table = verdicts.table(rows)
    assert "| true | host program | kernel source | no verdict | not known |" in table
    assert table.count("p.k/mask/k/0") == 3


def test_a_line_over_which_the_edit_goes_is_named() -> None:
    [edit] = by_name("mask").plants(Source(SOURCE))
    planted = Planted(Program("p", "k", ""), by_name("mask"), "p/m.py", edit, 0)
    last = edit.line + edit.new.count("\n")
    assert verdicts.names_line(planted, f"m.py:{edit.line} it has no mask")
    assert verdicts.names_line(planted, f"the store (m.py:{last}:8)")
    assert not verdicts.names_line(planted, f"m.py:{last + 1}, m.py:{edit.line - 1}, xm.py:{edit.line}")
