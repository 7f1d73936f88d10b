"""Traces that anybody may have written: each becomes a script or is refused in words, and none gets code into it."""

from __future__ import annotations

import ast
import copy
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.lift.from_trace import trace
from tests.damage import damaged
from tests.lift.test_trace import FULL

EVIL = (
    'inf"), evil("',
    "evil()",
    "torch.float32, evil()",
    "torch.evil()",
    "cuda', evil(), '",
    'cuda", evil(), "',
    "constexpr[evil()]",
    "constexpr[1) + evil(]",
    "(1, evil())",
    "0x10, evil()",
    "zero', x=evil(), y='",
    "\nevil()",
    "fp32\n, evil()",
)
ODD = (
    None,
    True,
    -1,
    0,
    1 << 40,
    1 << 70,
    10**400,
    1e300,
    0.5,
    "",
    "128",
    "\udc80",
    "é" * 300,
    [],
    [1, "a"],
    {},
    [[[1]]],
)
DEEP = '{"event_type": "launch", "name": ' + "[" * 100_000 + "]" * 100_000 + "}"
PLAIN = gzip.decompress(FULL.read_bytes())
Place = tuple[Any, ...]


def places(value: Any, at: Place = ()) -> list[Place]:
    """Where a JSON value has others in it, but for the sources of kernels, which are code."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    below = [place for key, one in items if key != "python_source" for place in places(one, (*at, key))]
    return [*([at] if at else []), *below]


def put(event: Any, place: Place, value: Any) -> Any:
    changed = copy.deepcopy(event)
    inner = changed
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return changed


def outcome(path: Path, number: int | None) -> str:
    """The script; empty where the trace is refused."""
    try:
        return trace.script(path, number)
    except UsageError as error:
        assert all(char.isprintable() or char == "\n" for char in str(error))
        return ""


EVENTS = [json.loads(line) for line in PLAIN.splitlines()]
PLACES = [(n, place) for n, event in enumerate(EVENTS) for place in places(event)]


@settings(max_examples=1200, deadline=None, derandomize=True)
@given(st.sampled_from(PLACES), st.sampled_from([*EVIL, *ODD]), st.sampled_from([None, 0, 1, 2, 3, 4, -1]))
def test_no_value_of_a_trace_becomes_code(
    tmp_path_factory: pytest.TempPathFactory, at: tuple[int, Place], value: Any, number: int | None
) -> None:
    path = tmp_path_factory.getbasetemp() / "odd.ndjson"
    events = [put(event, at[1], value) if n == at[0] else event for n, event in enumerate(EVENTS)]
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    text = outcome(path, number)
    nodes = list(ast.walk(ast.parse(text)))  # in a string it is no code
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    names |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    assert not {"evil", "inf", "nan"} & names, text


@settings(max_examples=800, deadline=None, derandomize=True)
@given(st.one_of(damaged(PLAIN), damaged(FULL.read_bytes())), st.sampled_from([None, 0, 2, 4]))
def test_no_damage_to_a_trace_is_thrown(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, number: int | None
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.ndjson"
    path.write_bytes(data)
    outcome(path, number)


def test_a_float_is_a_number(tmp_path: Path) -> None:
    def evil(event: Any) -> Any:
        for argument in (event.get("extracted_args") or {}).values():
            if argument.get("type") == "float":
                argument.update(value='inf"), __import__("os").system("true"), float("0')
        return event

    path = tmp_path / "evil.ndjson"
    path.write_text("".join(json.dumps(evil(copy.deepcopy(event))) + "\n" for event in EVENTS))
    with pytest.raises(UsageError, match=r"launch 0 of evil.ndjson: a float is .*, and must be one. Choose another"):
        trace.script(path, 0)


def test_a_line_of_any_depth_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "deep.ndjson"
    path.write_text(DEEP + "\n" + DEEP + "\n")
    with pytest.raises(UsageError, match="line 1, is no JSON"):
        trace.script(path)


def test_a_line_without_an_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "LONGEST", 1 << 20)
    path = tmp_path / "long.ndjson.gz"
    path.write_bytes(gzip.compress(b'{"event_type": "' + b"x" * (2 << 20)))
    with pytest.raises(UsageError, match="a line of more than 1 MiB"):
        trace.script(path)


def test_a_kernel_nested_too_deep_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "elif.ndjson"
    arms = "".join(f"    elif x == {n}:\n        y = {n}\n" for n in range(1200))
    code = f"@triton.jit\ndef k(x):\n    if x:\n        y = 0\n{arms}"
    source = {"python_source": {"code": code}, "metadata": {"name": "k"}}
    events = [
        {"event_type": "compilation", "payload": source},
        {"event_type": "launch", "name": "k", "grid": [1], "extracted_args": {"x": {"type": "int", "value": 1}}},
    ]
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    text = outcome(path, 0)
    assert not text or "x == 1199" in text
