"""`report.html`: the attachment as one page that needs no network, on a desk or a phone.

Everything is in the file: styles, script, pictures, and the artifacts themselves as downloads.
"""

from __future__ import annotations

import base64
import difflib
import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from shrinkray_gpu.attachment import highlighting
from shrinkray_gpu.attachment.course import by_pass
from shrinkray_gpu.attachment.dossier import Dossier
from shrinkray_gpu.attachment.highlighting import HighlightedLine
from shrinkray_gpu.attachment.issue import facts
from shrinkray_gpu.attachment.size_plot import size_plot
from shrinkray_gpu.attachment.source_lines import sass_lines, source_lines
from shrinkray_gpu.evidence.scrubbing import Scrubber

LARGEST = 512 * 1024
"""Bytes of a file that is in the page too; larger ones are beside it only."""
_SHOWN = {"ttir": "TTIR", "ttgir": "TTGIR", "llir": "LLVM IR", "ptx": "PTX", "amdgcn": "AMDGCN", "sass": "SASS"}


@dataclass(frozen=True)
class Tab:
    """One text in the row of tabs."""

    key: str
    name: str
    lines: list[HighlightedLine]
    left_out: int = 0
    """Lines that the page does not show."""


def text(dossier: Dossier, scrub: Scrubber, *, files: Mapping[str, bytes]) -> str:
    """The page: scrubbed first, escaped last. `files` are scrubbed already, and offered for download."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # each start of the tool would wait for it
    from jinja2.utils import urlize
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("shrinkray_gpu.attachment"),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: (
            scrub.text(value) if isinstance(value, str) and not hasattr(value, "__html__") else value
        ),
    )

    environment.filters["linked"] = lambda text: Markup(urlize(scrub.text(text)))

    def shown(text: str, language: str, *more: Any) -> list[HighlightedLine]:
        return highlighting.lines(scrub.text(text), language, *more)

    start = (dossier.told.get("before") or (0, 0))[1]
    tabs = list(_tabs(dossier, scrub))
    linked = {line.source for tab in tabs for line in tab.lines} - {0}
    place = dossier.evidence.place
    own = place is not None and place.file.rpartition("/")[2] == dossier.name
    marked = frozenset({place.line}) if place is not None and own else frozenset()
    rows = dossier.text.splitlines()
    numbers = [number if number in linked else 0 for number in range(1, len(rows) + 1)]
    told = facts(dossier, scrub)
    above = next((at for at, row in enumerate(rows) if row.strip() and not row.startswith("#")), 0)
    return environment.get_template("report.html.j2").render(
        **told,
        badge=_badge(dossier),
        changed=shown(told["change"]["diff"], "diff"),
        others=[one for one in told["results"] if not one["row"].matters],
        opened=next((tab.key for tab in tabs if any(line.marked for line in tab.lines)), tabs[0].key if tabs else ""),
        styles=highlighting.styles(),
        before=shown(dossier.before, "python", (), _surviving(dossier.before, dossier.text)),
        after=shown(dossier.text, "python")[above:],
        source=shown(dossier.text, "python", numbers, marked),
        tabs=tabs,
        plot=size_plot(dossier.course, start),
        taken=by_pass(dossier.course, start),
        passing=shown(dossier.passing.diff, "diff") if dossier.passing else [],
        twin=shown(dossier.twin_diff, "diff"),
        patches={name: shown(diff, "diff") for name, diff in (dossier.told.get("patches") or {}).items()},
        downloads=Markup(_downloads(files, scrub)),
    )


def _badge(dossier: Dossier) -> dict[str, str]:
    """The verdict in a few words, and whether that is the program's own fault; empty without a verdict."""
    verdict = dossier.told.get("verdict") or {}
    whose = re.split(r" at | \(by |: ", verdict.get("verdict", ""), maxsplit=1)[0]
    if not whose:
        return {}
    of = "program" if verdict.get("upstream") else "" if whose == "not known" else "below"
    return {"of": of, "text": f"your program: {whose}" if of == "program" else whose}


def _surviving(before: str, text: str) -> frozenset[int]:
    """Numbers of the lines of the original that the repro has, in their order."""
    rows, kept = ([line.strip() for line in each.splitlines()] for each in (before, text))
    blocks = difflib.SequenceMatcher(None, rows, kept, autojunk=False).get_matching_blocks()
    same = (at for block in blocks for at in range(block.a, block.a + block.size))
    return frozenset(at + 1 for at in same if rows[at])


def _tabs(dossier: Dossier, scrub: Scrubber) -> Iterator[Tab]:
    """The stages of the repro's kernel, then what differs in the passing variant."""
    code, seen = dossier.code, dossier.evidence

    def tab(key: str, name: str, body: str, language: str, *more: Any) -> Tab:
        return _tab(key, name, scrub.text(body), language, *more)

    operations = set(dossier.site.operations) | set(dossier.site.ptx)
    for stage, body in code.stages.items():
        marked = frozenset(
            at
            for at, line in enumerate(body.splitlines(), 1)
            if any(line.strip().startswith(one) for one in operations)
        )
        yield tab(stage, _SHOWN[stage], body, stage, source_lines(stage, body, dossier.name), marked)
    if code.listing:
        at = frozenset(i for i, one in enumerate(code.listing, 1) if one.offset == seen.offset)
        yield tab("sass", _SHOWN["sass"], code.sass, "sass", sass_lines(code.listing, dossier.name), at)
    for name, body in dossier.reproducers.items():
        yield tab("reproducer", name, body, "mlir", source_lines("mlir", body, dossier.name))
    for name, body in dossier.as_ir.items():
        yield tab("as-ir", name, body, "mlir")
    if dossier.passing is not None:
        for stage, difference in dossier.passing.differences.items():
            yield tab(f"diff-{stage}", f"{_SHOWN[stage]}: diff to passing", difference, "diff")


def _tab(
    key: str,
    name: str,
    body: str,
    language: str,
    sources: list[int] | None = None,
    marked: frozenset[int] = frozenset(),
) -> Tab:
    shown = highlighting.lines(body, language, sources or (), marked)
    return Tab(key, name, shown, len(body.splitlines()) - len(shown))


def _downloads(files: Mapping[str, bytes], scrub: Scrubber) -> str:
    rows = []
    for name, data in sorted(files.items()):
        size = f"{len(data):,} bytes"
        shown = html.escape(scrub.text(name))
        if len(data) <= LARGEST:
            link = f"data:application/octet-stream;base64,{base64.b64encode(data).decode()}"
            rows.append(f'<li><a download="{shown}" href="{link}">{shown}</a> <small>{size}</small></li>')
        else:
            rows.append(f"<li>artifacts/{shown} <small>{size}, beside this page</small></li>")
    return "\n".join(rows)
