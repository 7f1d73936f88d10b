"""Faults are drawn by a seed, within their half, with no operator and no package above its share."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from seeding import cases, packages, scoreboard
from seeding.operators import by_name
from seeding.programs import Program, programs, read

KERNEL = """\
import triton
import triton.language as tl

@triton.jit
def {name}(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    j = tl.arange(0, BLOCK)
    tl.store(y + i + j, tl.load(x + i, mask=i < n, other=0.0), mask=i < n)
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Program]:
    """Two packages of ours, with eight kernels each."""
    monkeypatch.setattr(packages, "SITE", tmp_path)
    cases._texts.cache_clear()
    cases._source.cache_clear()
    for package in ("one", "two"):
        (tmp_path / package).mkdir()
        for at in range(8):
            (tmp_path / package / f"m{at}.py").write_text(KERNEL.format(name=f"k{at}"))
    return [
        Program(package, f"k{at}", f"from {package}.m{at} import k{at}\n")
        for package in ("one", "two")
        for at in range(8)
    ]


def names(programs: list[Program], **given: object) -> list[str]:
    asked = {"half": "A", "seed": 0, "limit": 10} | given
    found = cases.draw(programs, kernels=lambda one: [one.name], shows=lambda one: True, **asked)  # type: ignore[arg-type]
    return [one.name for one in found]


def test_the_name_fixes_the_half(site: list[Program]) -> None:
    first, second = names(site), names(site, half="B")
    assert first and second and not set(first) & set(second)
    assert all(cases.half_of(name) == "A" for name in first)


def test_the_seed_fixes_the_draw(site: list[Program]) -> None:
    assert names(site) == names(list(reversed(site)))
    assert names(site) != names(site, seed=1)


def test_a_short_draw_begins_with_another_package_by_another_seed(site: list[Program]) -> None:
    assert {names(site, seed=seed, limit=1)[0].partition(".")[0] for seed in range(8)} == {"one", "two"}


def test_nobody_has_more_than_a_share(site: list[Program]) -> None:
    drawn = names(site)
    assert max(Counter(name.split("/")[1] for name in drawn).values()) <= 2
    assert max(Counter(name.split(".")[0] for name in drawn).values()) <= 4


def test_what_shows_nothing_is_not_drawn(site: list[Program]) -> None:
    assert not list(
        cases.draw(site, half="A", seed=0, limit=5, kernels=lambda one: [one.name], shows=lambda one: False)
    )
    assert not list(cases.draw(site, half="A", seed=0, limit=5, kernels=lambda one: [], shows=lambda one: True))


def test_a_diff_has_the_changed_lines_only(site: list[Program]) -> None:
    first = next(cases.places(site[0], ["k0"], [by_name("extent")]))
    assert first.file == "one/m0.py"
    assert first.diff == "@@ -6 +6 @@\n-i = tl.arange(0, BLOCK)\n+i = tl.arange(0, BLOCK + 1)"


def test_an_overlay_changes_one_file(site: list[Program], tmp_path: Path) -> None:
    packages.overlay(tmp_path / "over", "one", {"one/m0.py": "changed"}, site=tmp_path)
    assert (tmp_path / "over/one/m0.py").read_text() == "changed"
    assert (tmp_path / "one/m0.py").read_text() == KERNEL.format(name="k0")
    assert (tmp_path / "over/one/m1.py").samefile(tmp_path / "one/m1.py")


def test_a_file_of_calls_is_a_head_and_parts() -> None:
    first, second = read("p", "import torch\n# %% a\nf()\n# %% b\ng()\n")
    assert (first.key, first.text) == ("p.a", "import torch\n\nf()\ntorch.cuda.synchronize()\n")
    assert second.name == "b"
    with pytest.raises(ValueError, match="twice"):
        read("p", "# %% a\nf()\n# %% a\ng()\n")


def test_every_package_has_calls_that_parse() -> None:
    every = programs()
    assert {one.package for one in every} == {one.name for one in packages.PACKAGES}
    for one in every:
        compile(one.text, one.key, "exec")


def test_a_memory_asks_once(tmp_path: Path) -> None:
    path = tmp_path / "runs.json"
    assert cases.Memory(path).get("a", lambda: 1) == 1
    assert cases.Memory(path).get("a", lambda: 2) == 1


def test_two_memories_of_one_file_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "runs.json"
    one, other = cases.Memory(path), cases.Memory(path)
    assert (one.get("a", lambda: 1), other.get("b", lambda: 2)) == (1, 2)
    assert cases.Memory(path).get("a", lambda: 3) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["runs.json"]


def told(verdict: str, lines: int) -> dict[str, object]:
    figures = {"verdict": verdict, "lines": lines, "seconds": 10.0, "gpu_seconds": 0.0, "why": ""}
    return {"name": verdict, "operator": "extent", "package": "one", "kernel": f"k{lines}", **figures}


def test_a_row_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "board.json"
    board = scoreboard.load(path)
    row = scoreboard.row_of(board, {"commit": "abc", "half": "A", "seed": 0})
    row["faults"] += [told("true", 6), told("true", 30), told("slipped", 8), told("refused", 0)]
    scoreboard.save(path, board)
    board = scoreboard.load(path)
    assert len(scoreboard.row_of(board, {"commit": "abc", "half": "A"})["faults"]) == 4
    assert scoreboard.row_of(board, {"commit": "def", "half": "A"})["faults"] == []
    board["runs"].pop()
    assert "| abc | A | 0 | 4 | 2 | 1 | 0 | 1 | 0 | 8 | 10.0 | 0.0 |" in scoreboard.table(board)
    assert scoreboard.figures(board["runs"][0]["faults"])["true, 25 lines or fewer"] == 1


def test_wilsons_interval() -> None:
    assert scoreboard.interval(9, 10) == [90.0, 59.6, 98.2]
    assert scoreboard.interval(0, 0) == []
