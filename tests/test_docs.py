"""The pages that a user reads: README stays short, links lead somewhere, options exist."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from shrinkray_gpu.cli.main import COMMANDS, command

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
NOTES = [ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")]
"""Beside README, where such pages are looked for."""
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.S)
COMMAND = re.compile(r"(?:^ {4}|`|^\$ )shrink( (?:[^`\n]|\n(?= {8}))*)", re.M)


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", page.read_text(), flags=re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def options(command: click.Command) -> Iterator[str]:
    for parameter in command.params:
        yield from (*parameter.opts, *parameter.secondary_opts)
    for each in command.commands.values() if isinstance(command, click.Group) else ():
        yield from options(each)


OF_PROGRAMS = {"--op", "--dtype"}
"""Options of the programs in the examples."""


def named(word: str) -> click.Command:
    """The command that `shrink WORD ...` runs."""
    return command(word if word in COMMANDS else "reduce")


def test_the_readme_is_for_a_newcomer() -> None:
    text = PAGES[0].read_text()
    assert len(text.splitlines()) <= 150 and len(text.encode()) <= 10_000


@pytest.mark.parametrize("page", [*PAGES, *NOTES], ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(CODE.sub("", page.read_text())):
        name, _, anchor = target.partition("#")
        if target.startswith(("http://", "https://")):
            continue
        other = page.parent / name if name else page
        assert other.exists(), target
        assert not anchor or anchor in anchors(other), target


def test_each_page_is_in_the_index() -> None:
    index = set(LINK.findall((ROOT / "docs" / "index.md").read_text()))
    assert {page.name for page in PAGES[1:]} - {"index.md"} <= index


def test_each_page_is_in_the_navigation_of_the_site() -> None:
    named_there = re.findall(r"^ *- (?:.*: )?(\w+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M)
    assert sorted(named_there) == sorted(page.name for page in PAGES[1:])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_options_exist(page: Path) -> None:
    for words in COMMAND.findall(page.read_text()):
        own = re.split(r" -- | -m | pytest | torchrun | accelerate launch ", words)[0]
        written = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", own))
        assert written - OF_PROGRAMS <= {*options(named(words.split()[0])), "--help"}, words


def test_the_options_page_has_every_option_that_help_shows() -> None:
    page = (ROOT / "docs" / "options.md").read_text()
    shown = {option for each in named("").params if not getattr(each, "hidden", False) for option in each.opts}
    assert {option for option in shown if option.startswith("--") and option not in page} <= {"--version"}


def percent(ratio: float) -> str:
    return "100" if ratio == 1 else f"{100 * ratio:.1f}"


def test_the_comparison_is_what_was_recorded() -> None:
    """Tokens before stand in the table of docs/measurements.md, tokens left in the results."""
    rows = re.findall(r"^\| (\w+) \| ([\d,]+) \|", (ROOT / "docs" / "measurements.md").read_text(), re.M)
    recorded = json.loads((ROOT / "benchmarks" / "results" / "peers_cpu.json").read_text())["programs"]
    before = {name: int(tokens.replace(",", "")) for name, tokens in rows if name in recorded}
    assert before.keys() == recorded.keys()
    tools = ("ours", "shrinkray", "pysource-minimize", "autodd", "cvise")
    left = [[recorded[name]["tools"][tool]["tokens"] / before[name] for name in recorded] for tool in tools]
    readme = (ROOT / "README.md").read_text()
    for words, cells in (
        ("median of what is left", [f"{percent(statistics.median(ratios))} %" for ratios in left]),
        ("least, most", [f"{percent(min(ratios))} %, {percent(max(ratios))} %" for ratios in left]),
    ):
        assert f"| {words} | {' | '.join(cells)} |" in readme
