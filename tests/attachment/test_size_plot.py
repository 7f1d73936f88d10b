"""The picture of how the size fell: which points it has, and that its template writes SVG that can be read."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from jinja2 import Environment, PackageLoader, StrictUndefined

from shrinkray_gpu.attachment.course import CoursePoint
from shrinkray_gpu.attachment.size_plot import BOTTOM, LEFT, RIGHT, TOP, size_plot

STEPS = (
    CoursePoint(1.5, 1, 80, "statements"),
    CoursePoint(2.0, 3, 90, "rollback"),
    CoursePoint(3.25, 7, 0, "a<b"),
)
SVG = "{http://www.w3.org/2000/svg}"


def test_a_mark_for_each_step_by_its_pass() -> None:
    plot = size_plot(STEPS, 100)
    assert plot is not None
    assert [style.name for style in plot.styles] == ["a<b", "statements", "other passes"]
    tries, seconds = plot.panels
    assert (tries.name, seconds.name) == ("tries", "seconds")
    assert [number for _, _, number in tries.marks] == [1, 2, 0]
    assert tries.across[0] == (LEFT, "0") and tries.across[-1] == (RIGHT, "8")
    assert tries.up[0] == (BOTTOM, "0") and tries.up[-1] == (TOP, "100")
    assert tries.marks[-1][:2] == (LEFT + (RIGHT - LEFT) * 7 / 8, BOTTOM)
    assert tries.line.startswith(f"M{float(LEFT)} {float(TOP)}H150.0V")


@pytest.mark.parametrize(("most", "last"), [(1, "1"), (7, "8"), (60, "60"), (1234, "1500"), (0.004, "0.004")])
def test_axes_end_at_a_round_number(most: float, last: str) -> None:
    plot = size_plot([CoursePoint(most, 1, 50, "loops")], 100)
    assert plot is not None and plot.panels[1].across[-1] == (RIGHT, last)


def test_no_picture_without_steps() -> None:
    assert size_plot((), 100) is None and size_plot(STEPS, 0) is None


def test_the_template_writes_svg() -> None:
    loader = PackageLoader("shrinkray_gpu.attachment")
    template = Environment(loader=loader, undefined=StrictUndefined, autoescape=True).get_template("size_plot.svg.j2")
    root = ElementTree.fromstring(template.render(plot=size_plot(STEPS, 100)))
    assert root.tag == f"{SVG}svg" and root.get("viewBox") == "0 0 800 600"
    names = [text.text for text in root.iter(f"{SVG}text")]
    assert names.count("tokens") == 2 and {"tries", "seconds", "a<b", "other passes"} <= set(names)
    marks = {mark.get("href") for mark in root.iter(f"{SVG}use")}
    assert marks == {f"#{path.get('id')}" for path in root.iter(f"{SVG}path") if path.get("id")}
