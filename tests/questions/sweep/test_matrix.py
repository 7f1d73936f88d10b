"""The matrix of a sweep: kinds, intervals, axes that reach nothing; as text, CSV and picture."""

from __future__ import annotations

import csv
import io
import xml.etree.ElementTree as xml
from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu.oracle.statistics import Rate, interval
from shrinkray_gpu.questions.sweep import CellKind, Matrix, MatrixCell, picture, sweep_tables
from shrinkray_gpu.questions.varying import Axis, ConfiguredProgram, combinations

SVG = "{http://www.w3.org/2000/svg}"


def matrix(*rates: tuple[int, int], axes: str = "BLOCK=64,80 num_warps=4,8", code: tuple[str, ...] = ()) -> Matrix:
    parsed = [Axis(one.partition("=")[0], tuple(one.partition("=")[2].split(","))) for one in axes.split()]
    cells = []
    for at, (settings, (seen, runs)) in enumerate(zip(combinations(parsed), rates, strict=True)):
        faults = (("device fault: misaligned address & <more>", seen),) if seen else ()
        doubt, kernels = ("" if runs else "the lane died"), frozenset(code[at : at + 1])
        program = ConfiguredProgram(Path("/x/f.py"), "", ())
        cells.append(MatrixCell(settings, program, Rate(seen, runs), faults=faults, doubt=doubt, code=kernels))
    return Matrix(tuple(parsed), tuple(cells), 100, "misaligned address", {"triton": "3.6.0"}, "NVIDIA H100")


MIXED = matrix((0, 100), (100, 100), (30, 100), (0, 0))


def test_kinds() -> None:
    assert [cell.kind for cell in MIXED.cells] == [
        CellKind.PASSES,
        CellKind.CONSISTENT,
        CellKind.INTERMITTENT,
        CellKind.UNKNOWN,
    ]
    assert matrix((1, 1), (0, 1), axes="A=1,2").cells[0].kind is CellKind.FAULTS  # one run tells nothing of chance


def test_text() -> None:
    lines = sweep_tables.table(MIXED).splitlines()
    assert lines[0].split() == ["BLOCK", "num_warps", "faults", "rate", "95", "%", "interval", "outcome", "fault"]
    assert lines[2].split() == ["64", "4", "0", "of", "100", "0", "%", "0", "to", "4", "%", "passes"]
    assert "30 of 100   30 %   21 to 40 %" in lines[4]
    assert lines[5].split() == ["80", "8", "-", "-", "-", "unknown", "the", "lane", "died"]
    assert "4 configurations: 1 passes, 1 intermittent, 1 consistent, 1 unknown" in lines[7]
    assert "passes: not one fault in 100 runs, so in under 3 % of runs (95 % sure)" in lines


def test_csv() -> None:
    rows = list(csv.DictReader(io.StringIO(sweep_tables.to_csv(MIXED))))
    assert [(row["BLOCK"], row["num_warps"], row["kind"], row["rate"]) for row in rows] == [
        ("64", "4", "passes", "0.0000"),
        ("64", "8", "consistent", "1.0000"),
        ("80", "4", "intermittent", "0.3000"),
        ("80", "8", "unknown", "0.0000"),
    ]
    low, high = interval(30, 100)
    assert (float(rows[2]["low"]), float(rows[2]["high"])) == pytest.approx((low, high), abs=1e-4)
    assert rows[1]["fault"] == "100 x device fault: misaligned address & <more>"


def test_an_axis_that_reaches_nothing_is_told() -> None:
    found = matrix((0, 9), (0, 9), (9, 9), (9, 9), code=("a", "a", "b", "b"))
    assert found.idle == ["num_warps"]
    assert "num_warps changes no kernel and no launch: does it reach them?" in sweep_tables.table(found)
    assert matrix((0, 9), (1, 9), (9, 9), (9, 9), code=("a", "a", "b", "b")).idle == []  # it changes something else
    unseen = matrix((0, 9), (0, 9), (9, 9), (9, 9))
    assert unseen.idle == [] and "no configuration compiles a kernel: " in sweep_tables.table(unseen)
    assert "no configuration compiles" not in sweep_tables.table(found)
    extension = replace(unseen, cells=tuple(replace(cell, builds=True) for cell in unseen.cells))
    assert "no configuration compiles" not in sweep_tables.table(extension)


def test_the_picture_says_all_in_words_too() -> None:
    root = xml.fromstring(picture.svg(MIXED))
    groups = {group.get("class"): group for group in root.iter(f"{SVG}g")}
    assert set(groups) == {"passes", "consistent", "intermittent", "unknown"}
    words = [text.text for text in groups["intermittent"].iter(f"{SVG}text")]
    assert words == ["intermittent", "30 of 100", "21 to 40 %"]
    title = groups["consistent"].find(f"{SVG}title")
    assert title is not None and title.text is not None and title.text.startswith("BLOCK=64, num_warps=8, consistent")
    assert any(rect.get("fill") == "url(#stripes)" for rect in groups["intermittent"].iter(f"{SVG}rect"))


@pytest.mark.parametrize("axes", ["A=1,2,3,4", "A_long_name=1,2 B=first,second", "A=1,2 B=1 C=x,y"])
def test_nothing_of_the_picture_lies_outside(axes: str) -> None:
    found = matrix(*[(1, 3)] * 4, axes=axes)
    root = xml.fromstring(picture.svg(found))
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    squares = [rect for rect in root.iter(f"{SVG}rect") if rect.get("x")]
    assert squares and all(
        float(rect.attrib["x"]) + float(rect.attrib["width"]) <= width
        and float(rect.attrib["y"]) + float(rect.attrib["height"]) <= height
        for rect in squares
    )
    labels = [text for text in root.iter(f"{SVG}text") if text.get("text-anchor") is None and text.get("x") == "12"]
    left = min(float(rect.attrib["x"]) for rect in squares)
    in_rows = [text.text or "" for text in labels if 60 < float(text.attrib["y"]) < height - 30]
    assert in_rows and all(12 + 7 * len(text) <= left for text in in_rows)
