"""The table of events in docs/events.md, made of `shrinkray_gpu/events.py`: `python -m tests.events` writes it anew."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "events.md"
BEGIN, END = "<!-- events: begin, by `python -m tests.events` -->", "<!-- events: end -->"


def table() -> str:
    """A row for each event and each of its fields, in the order of the module."""
    rows = ["| event | field | type | meaning |", "| --- | --- | --- | --- |"]
    for each in ast.parse((ROOT / "shrinkray_gpu" / "events.py").read_text()).body:
        if isinstance(each, ast.ClassDef) and each.name != "Event":
            rows += _rows(each)
    return "\n".join(rows)


def _rows(event: ast.ClassDef) -> list[str]:
    [name] = [node.value.value for node in event.body if isinstance(node, ast.Assign)]  # type: ignore[attr-defined]
    rows = [f"| `{name}` | | | {_line(ast.get_docstring(event) or '')} |"]
    for field, told in zip(event.body, event.body[1:]):
        if isinstance(field, ast.AnnAssign) and isinstance(told, ast.Expr):
            kind = ast.unparse(field.annotation).replace("PhaseName", "str").replace("Mapping", "object")
            kind = {"object[str, int]": "object of int", "object[str, Any]": "object"}.get(kind, kind)
            text = ast.literal_eval(told.value)
            rows.append(f"| | `{ast.unparse(field.target)}` | {kind} | {_line(text)} |")
    return rows


def _line(text: str) -> str:
    return " ".join(text.split()).removesuffix(".")


def with_table(page: str) -> str:
    """The page with the table as it is now."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    assert begin and end, f"{PAGE} has no marks"
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text()))
