"""What came out: `triage.json`, and one page over all, as Markdown and as HTML."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from shrinkray_gpu.attachment.markdown import cell, code, plain
from shrinkray_gpu.events import SCHEMA
from shrinkray_gpu.evidence.secrets_found import without_secrets
from shrinkray_gpu.runner.plain_file import replace_file
from shrinkray_gpu.triage.clusters import CauseCluster, FailureMember, without_addresses
from shrinkray_gpu.triage.reductions import REDUCED
from shrinkray_gpu.triage.triage import TriageResult

INDEX, PAGE, DATA = "index.md", "index.html", "triage.json"
WAITING, KNOWN, NOT_HERE, NOT_ASKED, OTHER = (
    "its turn did not come", "known", "it cannot be run here", "not asked for", "another fault shows here",
)  # fmt: skip


def to_json(result: TriageResult) -> dict[str, Any]:
    """Everything, with secrets replaced."""
    told = {
        "schema": SCHEMA,
        "failures": result.failures,
        "seconds": round(result.seconds, 1),
        "interrupted": result.interrupted,
        "clusters": [_cluster(each, result) for each in result.found.clusters],
        "machine": [{**_member(each), **asdict(trouble)} for each, trouble in result.found.machine],
        "not_seen_again": [_member(each) for each in result.found.gone],
        "maybe_the_same": [asdict(each) for each in result.found.maybe],
    }
    clean: dict[str, Any] = _clean(told)
    return clean


def write(folder: Path, told: Mapping[str, Any]) -> None:
    """Write the three files: each whole or not at all. Raises OSError."""
    import jinja2  # each start of the tool would wait for it

    loader = jinja2.PackageLoader("shrinkray_gpu.triage")
    options: dict[str, Any] = {"loader": loader, "undefined": jinja2.StrictUndefined, "trim_blocks": True}
    markdown = jinja2.Environment(**options, lstrip_blocks=True)
    markdown.filters.update(cell=_cell, code=_code, plain=plain, row=_row)
    html = jinja2.Environment(**options, lstrip_blocks=True, autoescape=True)
    texts = {
        DATA: json.dumps(told, indent=1) + "\n",
        INDEX: markdown.get_template("index.md.j2").render(told=told, summary=summary(told)),
        PAGE: html.get_template("index.html.j2").render(told=told, summary=summary(told)),
    }
    for name, text in texts.items():
        replace_file(folder / name, text.encode())


def _code(text: str) -> str:
    return code(" ".join(text.split()))


def _cell(text: str) -> str:
    return cell(" ".join(text.split()))


def _row(text: str) -> str:
    """As plain text in a table."""
    return plain(text).replace("|", "\\|")


def summary(told: Mapping[str, Any]) -> str:
    """One line: how many failures, and what they are."""
    clusters = told["clusters"]
    repros = sum(each["state"] == REDUCED for each in clusters)
    counts = {
        "known": sum(each["state"] == KNOWN for each in clusters),
        "of the machine": len(told["machine"]),
        "not seen again": len(told["not_seen_again"]),
    }
    rest = [f"{count} {what}" for what, count in counts.items() if count]
    first = [_counted(len(clusters), "cause"), _counted(repros, "repro")]
    return f"{_counted(told['failures'], 'failure')}: {', '.join([*first, *rest])}"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _cluster(cluster: CauseCluster, result: TriageResult) -> dict[str, Any]:
    reduction = result.reductions.get(cluster.name, {})
    told = {
        "name": cluster.name,
        "title": cluster.title,
        "origin": asdict(cluster.origin),
        "fault": without_addresses(str(cluster.fault or "")),
        "messages": list(cluster.messages),
        "members": [{**_member(each), **_explained(each, reduction)} for each in cluster.members],
        "sources": list(cluster.sources),
        "known": list(cluster.known),
        "state": reduction.get("state", ""),
        "why": reduction.get("why", ""),
        "reduction": {"same": "", "verdict": "", **reduction},
    }
    if not reduction:
        told["state"] = _state(cluster, result)
    return told


def _state(cluster: CauseCluster, result: TriageResult) -> str:
    if cluster.known:
        return KNOWN
    if cluster.cheapest is None:
        not_yet = any(each.subject and each.rerun is None for each in cluster.members)
        if not_yet:
            return WAITING
        return OTHER if any(each.is_other for each in cluster.members) else NOT_HERE
    return WAITING if cluster.name in result.waiting else NOT_ASKED


def _explained(member: FailureMember, reduction: Mapping[str, Any]) -> dict[str, Any]:
    """Whether the repro has the fault of this member, and why not; nothing where there is no repro."""
    found = reduction.get("explains")
    if found is None or member.key not in found:
        return {}
    return {"explained": not found[member.key], "why_not": found[member.key]}


def _member(member: FailureMember) -> dict[str, Any]:
    rerun = member.rerun
    return {
        "name": member.name,
        "message": member.message,
        "sources": list(dict.fromkeys(each.source for each in member.reports)),
        "seen_here": member.is_seen,
        "flaky": member.is_flaky,
        "runs": rerun.runs if rerun is not None else 0,
        "seconds": round(rerun.seconds, 2) if rerun is not None else 0.0,
        "spec": rerun.spec if rerun is not None else "",
        "trouble": member.trouble,
        "machine": f"{member.machine.kind}: {member.machine.line}" if member.machine is not None else "",
    }


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return without_secrets(value)
    if isinstance(value, dict):
        return {name: _clean(each) for name, each in value.items()}
    return [_clean(each) for each in value] if isinstance(value, (list, tuple)) else value
