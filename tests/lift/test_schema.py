"""The form of captured launches: what is missing or of another type is told, and nothing broken reaches a script."""

from __future__ import annotations

import ast
import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shrinkray_gpu import lift
from shrinkray_gpu.lift.losses import lost_properties
from shrinkray_gpu.runner.inside.capture import schema
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.start.choice import in_a_launch
from tests.lift.record_problems import problems

Path = tuple[str | int, ...]

KERNEL = """\
@triton.jit
def k(a, b, c, d, e, f, g, h, p: tl.constexpr, q, r, s):
    tl.store(a, 1)
"""


def tensor(storage: int, **more: Any) -> dict[str, Any]:
    plain = {"dtype": "float32", "shape": [4, 4], "strides": [4, 1], "offset": 0, "storage": storage, "bytes": 64}
    return {**plain, "residue": 0, "device": "cuda", **more}


def parameter(name: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "constexpr": name == "p", "kind": kind, **more}


def content(kind: str, **more: Any) -> dict[str, Any]:
    return {"content": {"kind": kind, **more}}


DEFINITIONS = [
    {"kind": "import", "name": "namedtuple", "text": "from collections import namedtuple\n"},
    {"kind": "constant", "name": "Pair", "text": "Pair = namedtuple('Pair', 'one two')\n"},
    {"kind": "function", "name": "k", "text": KERNEL},
]
SAVED = {"kind": "file", "path": "/values/1.pt", "dtype": "float32", "bytes": 64}
NORMAL = {"mean": 0.0, "std": 1.0, "low": -1.0, "high": 1.0, "nan": False, "inf": False}
GLUON = "triton.experimental.gluon.nvidia.hopper"
ARGUMENTS = [
    parameter("a", "tensor", **tensor(0, **content("zeros"))),
    parameter("b", "tensor", **tensor(1, **content("normal", **NORMAL, exact=SAVED))),
    parameter(
        "c",
        "descriptor",
        base=tensor(2, **content("ones", value=1)),
        **{"shape": [4, 4], "strides": [4, 1], "block_shape": [4, 4], "padding": "zero", "round_f32_to_tf32": False},
        **{"layout": "gl.NVMMASharedLayout(128)", "module": GLUON},
    ),
    parameter("d", "reinterpreted", base=tensor(3, **content("full", value=2.5)), text="tl.float8e5"),
    parameter(
        "e",
        "tuple",
        items=[
            {"kind": "tensor", **tensor(4, dtype="int64", **content("arange", start=0, step=1))},
            {"kind": "value", "text": "2"},
        ],
        named="Pair",
    ),
    parameter(
        *("f", "tensor"),
        **tensor(
            *(5,),
            dtype="int32",
            shape=[2],
            strides=[1],
            **content("range", low=0, high=9, exact={"kind": "list", "values": [9, 0]}),
        ),
    ),
    parameter("g", "tensor", **tensor(6, dtype="bool", **content("bool", share=0.5))),
    parameter("h", "tensor", **tensor(7, **content("other", nan=True, inf=False))),
    parameter("p", "value", text="tl.float32"),
    parameter("q", "tensor", **tensor(0, offset=1, shape=[2], strides=[1])),
    parameter("r", "tensor", **tensor(8, **content("unknown", why="nobody looked"))),
]
LAUNCH = {
    **{"kernel": "k", "trouble": "", "how": "jit", "tuning": False, "graph": False, "launch": 0, "notes": ["a note"]},
    **{"grid": [4, 1, 1], "arguments": ARGUMENTS, "overlap": False, "allocator": True, "definitions": DEFINITIONS},
    "options": [{"name": "num_warps", "kind": "value", "text": "8"}],
    "process": 7,
}
CALL = {name: LAUNCH[name] for name in ("kernel", "how", "grid", "arguments", "options", "allocator")}
HISTORY = {
    "events": [
        {"kind": "launch", "launch": 0},
        {"kind": "wait"},
        {"kind": "write", "tensor": tensor(1, **content("zeros"))},
        {"kind": "release"},
        {"kind": "free", "storage": 3},
    ],
    "launches": [{**CALL, "compiled": 0}],
    "definitions": DEFINITIONS,
    "left_out": 0,
    "trouble": ["x: its grid is not known"],
}
CAPTURED = {
    "launches": [LAUNCH, {"kernel": "k", "trouble": "a strange thing", "tuning": True}],
    "children": [{"process": 7, "command": ["python", "job.py"], "launches": [{}], "compiles": [], "trouble": ""}],
    "history": HISTORY,
}
OPTIONAL = {"content", "exact", "layout", "module", "named", "how", "tuning", "graph", "launch", "notes", "overlap"}
OPTIONAL |= {"process", "history"}


def paths(value: Any, at: Path = ()) -> Iterator[Path]:
    """Of each key and item of a record, however deep."""
    items: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*at, key)
        yield from paths(inner, (*at, key))


def holder(record: Any, path: Path) -> Any:
    for key in path[:-1]:
        record = record[key]
    return record


def is_optional(path: Path) -> bool:
    """Whether a record without this key is whole. An event and a history have keys of the same names that are not."""
    is_needed = path[0] == "history" and path[-1] in ("how", "launch") or path[0] == "children" and len(path) > 1
    return path[-1] in OPTIONAL and not is_needed or is_unread(path)


def is_unread(path: Path) -> bool:
    """What the worker says and no schema asks for."""
    return (holder(CAPTURED, path).get("kind"), path[-1]) in (("file", "dtype"), ("ones", "value"))


KEYS = [
    path
    for path in paths(CAPTURED)
    if isinstance(path[-1], str) and (path[:2] != ("history", "launches") or len(path) < 5)
]
"""The arguments of a launch in the history are looked at as those of any other."""


def broken(path: Path, *value: Any) -> Any:
    """The record with another value there, or none."""
    record = json.loads(json.dumps(CAPTURED))  # in which no two places are one object
    inner = holder(record, path)
    if value:
        inner[path[-1]] = value[0]
    else:
        del inner[path[-1]]
    return record


def run(captured: Any) -> Run:
    return Run.from_json({"mode": "cold", "exit": 1, "captured": json.loads(json.dumps(captured))})


def made(of: Run) -> list[str]:
    """All that is made of a captured run, and all that is said of it."""
    texts = [*lift.candidates(of), *lift.histories(of)]
    for text in texts:
        ast.parse(text)
    assert isinstance(in_a_launch(of), bool) and lift.suspect_kernels(of) is not None
    return [*lift.obstacles(of), *lost_properties(of)]


def test_a_record_with_every_kind_of_argument_is_well_and_becomes_a_script() -> None:
    assert problems(CAPTURED) == []
    sound = run(CAPTURED)
    assert sound.captured == CAPTURED
    assert lift.candidates(sound) and lift.histories(sound)
    assert not [text for text in made(sound) if "broken" in text]


def test_each_key_that_is_missing_is_told() -> None:
    for path in KEYS:
        told = problems(broken(path))
        assert bool(told) != is_optional(path), path
        assert not told or any(f"{path[-1]} is missing" in text for text in told), (path, told)


def test_each_value_of_another_type_is_told() -> None:
    for path in KEYS:
        for other in (None, "five", 5.5, True, ["five"], {"five": 5}):
            value = holder(CAPTURED, path)[path[-1]]
            told = problems(broken(path, other))
            if type(other) is not type(value) and not is_unread(path):
                assert told == [] if may_be(path, other) else told, (path, other, told)


def may_be(path: Path, other: Any) -> bool:
    """Whether another type is right there too."""
    holding, key = holder(CAPTURED, path), path[-1]
    if key == "values" or key == "value" and holding["kind"] == "full":
        return isinstance(other, bool | float)
    may_be_nothing = key in ("compiled", "history") or path[0] == "launches" and key in ("grid", "launch")
    return other is None and may_be_nothing


@pytest.mark.parametrize(
    ("path", "value", "why"),
    [
        (("launches", 0, "arguments", 0, "name"), "no name", "arguments[0].name"),
        (("launches", 0, "arguments", 1, "name"), "a", "there twice"),
        (("launches", 0, "arguments", 1, "name"), "z", "none of the kernel's parameters"),
        (("launches", 0, "arguments", 0, "strides"), [1], "not as many as its sizes"),
        (("launches", 0, "arguments", 0, "bytes"), -1, "below zero"),
        (("launches", 0, "arguments", 0, "dtype"), "int9999999999", "is no type"),
        (("launches", 0, "arguments", 0, "device"), 'cuda"', "is no device"),
        (("launches", 0, "arguments", 0, "device"), "cuda:0", "is no device"),
        (("launches", 0, "arguments", 8, "text"), "1 # x", "is no expression"),
        (("launches", 0, "arguments", 8, "text"), "1, y=2", "is no expression"),
        (("launches", 0, "arguments", 2, "module"), "a b", "is no module"),
        (("launches", 0, "arguments", 5, "content", "exact", "values"), [], "are no numbers"),
        (("launches", 0, "definitions", 2, "text"), "def k(:\n", "no whole lines of Python"),
        (("launches", 0, "kernel"), "other", "hold no function other"),
        (("history", "events", 0, "launch"), 1, "there are 1 launches"),
        (("history", "events", 2, "tensor", "shape"), [4], "not as many as its sizes"),
    ],
)
def test_what_does_not_fit_together_is_told_and_is_the_reason_why_nothing_is_lifted(
    path: Path, value: Any, why: str
) -> None:
    record = broken(path, value)
    assert any(why in text for text in problems(record))
    told = [text for text in made(run(record)) if schema.BROKEN in text]
    assert told and (lift.candidates(run(record)) == ()) == (path[0] == "launches")
    assert (lift.histories(run(record)) == ()) == (path[0] == "history")


@pytest.mark.parametrize("captured", ["text", [], {}, {"launches": None, "children": []}, {"launches": [None]}])
def test_what_is_no_record_at_all_cannot_be_lifted(captured: Any) -> None:
    assert problems(captured)
    told = made(run(captured))
    assert told and all(schema.BROKEN in text for text in told)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=4,
)
PATHS = list(paths(CAPTURED))
OTHERS = [holder(CAPTURED, path)[path[-1]] for path in PATHS]
"""Values that have a place in such a record, but not everywhere."""
GONE = object()


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(PATHS), JSON | st.sampled_from(OTHERS) | st.just(GONE)), min_size=1, max_size=3)
)
def test_no_record_however_broken_ends_in_another_exception(changes: list[tuple[Path, Any]]) -> None:
    record: Any = json.loads(json.dumps(CAPTURED))
    for path, value in changes:
        try:
            inner = holder(record, path)
            if value is GONE:
                del inner[path[-1]]
            else:
                inner[path[-1]] = copy.deepcopy(value)
        except (KeyError, IndexError, TypeError):  # an earlier change took it away
            continue
    captured = run(record)
    told = made(captured)
    if captured.captured is not None:
        assert problems(captured.captured) == []
        launches = record.get("launches") if isinstance(record, dict) else None
        if isinstance(launches, list) and any(schema.launch_problem(each) for each in launches[:6]):
            assert any(schema.BROKEN in text for text in told)
