"""Capsules that anybody may have sent: each becomes scripts or is refused in words, and none gets code into them."""

from __future__ import annotations

import ast
import base64
import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.lift.from_capsule import capsule
from shrinkray_gpu.oracle.spec import parse
from shrinkray_gpu.runner.inside.capsule.capsule_schema import VERSION
from tests.damage import damaged
from tests.e2e.command import refused
from tests.lift.test_mutated_traces import EVIL, ODD, Place, places, put

KERNEL = "@triton.jit\ndef add(x, i, n, mode, BLOCK: tl.constexpr):\n    tl.store(x, tl.load(x + tl.load(i)) + ONE)\n"
TENSOR = {"offset": 0, "strides": [1], "residue": 0, "device": "cuda", "kind": "tensor", "constexpr": False}
NAME = "0123456789abcdef.pt"
HELD = {"kind": "range", "low": 0, "high": 9, "exact": {"kind": "file", "path": NAME, "bytes": 4}}
WHOLE_TENSOR = {**TENSOR, "dtype": "float32", "shape": [64], "storage": 0, "bytes": 256}
WHOLE: dict[str, Any] = {
    "capsule": VERSION,
    "mode": "record",
    "error": {"type": "RuntimeError", "text": "Triton Error [CUDA]: misaligned address\nmore", "where": "launch"},
    "exact": False,
    "launches_seen": 12,
    "launches": [
        {
            "number": 12,
            "times": 3,
            "needs_contents": ["i"],
            "record": {
                "kernel": "add",
                "trouble": "",
                "how": "jit",
                "grid": [4],
                "arguments": [
                    {**TENSOR, "name": "x", "dtype": "float32", "shape": [64], "storage": 0, "bytes": 256},
                    {**TENSOR, "name": "i", "dtype": "int64", "shape": [9], "storage": 1, "bytes": 72, "content": HELD},
                    {"kind": "value", "name": "n", "constexpr": False, "text": "64"},
                    {"kind": "value", "name": "mode", "constexpr": False, "text": "Mode.FAST"},
                    {"kind": "value", "name": "BLOCK", "constexpr": True, "text": "16"},
                ],
                "options": [{"kind": "value", "name": "num_warps", "text": "2"}],
                "allocator": False,
                "definitions": [
                    {"kind": "import", "name": "IntEnum", "text": "from enum import IntEnum\n"},
                    {"kind": "function", "name": "Mode", "text": "class Mode(IntEnum):\n    FAST = 1\n"},
                    {"kind": "constant", "name": "ONE", "text": "ONE = tl.constexpr(1)\n"},
                    {"kind": "function", "name": "add", "text": KERNEL},
                ],
            },
        }
    ],
    "versions": {"triton": "3.7.1"},
    "contents": {NAME: base64.b64encode(b"data").decode()},
    "next": "",
}
PLACES = places(WHOLE)
RECORD: Place = ("launches", 0, "record")
TEXTS = [
    *EVIL,
    "__import__('os').system('evil')",
    "(lambda: evil)()",
    "torch.hub.evil()",
    "[evil() for _ in (1,)]",
]
DEFINITIONS = [
    {"kind": "import", "name": "os", "text": "import os\n"},
    {"kind": "import", "name": "evil", "text": "from subprocess import run as evil\n"},
    {"kind": "constant", "name": "ONE", "text": "ONE = evil()\n"},
    {"kind": "constant", "name": "ONE", "text": "ONE = 1; evil()\n"},
    {"kind": "constant", "name": "triton", "text": "triton = add\n"},
    {"kind": "function", "name": "h", "text": "@evil\ndef h(x):\n    pass\n"},
    {"kind": "function", "name": "h", "text": "@triton.jit(noinline=evil())\ndef h(x):\n    pass\n"},
    {"kind": "function", "name": "h", "text": "@triton.jit\ndef h(x=evil()):\n    pass\n"},
    {"kind": "function", "name": "h", "text": "@triton.jit\ndef h(x: evil()):\n    pass\n"},
    {"kind": "function", "name": "h", "text": "class h(evil()):\n    pass\n"},
    {"kind": "function", "name": "h", "text": "class h:\n    evil()\n"},
    {"kind": "function", "name": "h", "text": "class h:\n    x: evil() = 1\n"},
    {"kind": "function", "name": "h", "text": "class h:\n    def __set_name__(self):\n        evil()\n"},
    {"kind": "function", "name": "h", "text": "for h in evil():\n    pass\n"},
    {"kind": "function", "name": "h", "text": "class h:\n    evil().x: int = 1\n"},
    {"kind": "function", "name": "h", "text": "class h:\n    __init__ = ONE\n"},
    {"kind": "function", "name": "h", "text": "class h(IntEnum):\n    _missing_ = ONE\n"},
    {"kind": "function", "name": "h", "text": "class h:\n    step = plain\n"},
    {"kind": "function", "name": "h", "text": "class h:\n    step: plain = alias\n"},
    {"kind": "function", "name": "h", "text": "class h(triton.Config):\n    pass\n"},
    {"kind": "function", "name": "h", "text": "@triton.jit(repr=plain)\ndef h(x):\n    pass\n"},
    {"kind": "function", "name": "exec", "text": "class exec:\n    pass\n"},
    {"kind": "function", "name": "TensorDescriptor", "text": "def TensorDescriptor(x):\n    evil()\n"},
    {"kind": "function", "name": "dataclass", "text": "def dataclass(x):\n    evil()\n"},
    {"kind": "import", "name": "dataclass", "text": "from torch.utils.collect_env import run as dataclass\n"},
    {"kind": "import", "name": "tl", "text": "import torch as tl\n"},
    {"kind": "function", "name": "add", "text": KERNEL.replace("add", "plain")},
]
SEVERAL: dict[str, list[tuple[str, str, str]]] = {
    "a type by the words of a comment": [
        ("import", "f", "from torch.utils.collect_env import run as f  # = namedtuple(\n"),
        ("constant", "y", "y = f('evil')\n"),
    ],
    "a type by a name that a function takes": [
        ("function", "f", "class f:\n    pass\n"),
        ("function", "f", "def f():\n    evil()\n"),
        ("constant", "y", "y = f()\n"),
    ],
    "a type that comes later": [
        ("constant", "y", "y = f('evil')\n"),
        ("function", "f", "class f:\n    pass\n"),
    ],
}


def read(folder: Path, made: object) -> capsule.Capsule:
    path = folder / "capsule_1.json"
    path.write_text(made if isinstance(made, str) else json.dumps(made))
    return capsule.read(path, folder / "contents")


def changed(place: Place, value: object) -> Any:
    return put(WHOLE, place, value)


def test_a_capsule_as_the_hook_writes_it(tmp_path: Path) -> None:
    found = read(tmp_path, WHOLE)
    assert (found.error, found.cuda_error) == (
        "RuntimeError: Triton Error [CUDA]: misaligned address",
        "misaligned address",
    )
    [suspect] = found.suspects
    assert (suspect.number, suspect.kernel, suspect.why_none) == (12, "add", "")
    assert any("add[(4,)](x, i, 64, Mode.FAST, BLOCK=16, num_warps=2)" in text for text in suspect.scripts)
    assert any(f'torch.load("{tmp_path / "contents" / NAME}", weights_only=True)' in text for text in suspect.scripts)
    capsule.unpack(found, tmp_path / "contents")
    assert (tmp_path / "contents" / NAME).read_bytes() == b"data"


@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda each: each["text"].splitlines()[0])
def test_no_definition_runs_anything_on_the_host(tmp_path: Path, definition: dict[str, str]) -> None:
    made = copy.deepcopy(WHOLE)
    record = made["launches"][0]["record"]
    record["definitions"] = [
        {"kind": "function", "name": "plain", "text": "def plain(self):\n    evil()\n"},
        {"kind": "constant", "name": "alias", "text": "alias = plain\n"},
        *(each for each in record["definitions"] if each["name"] != definition["name"]),
        definition,
    ]
    [suspect] = read(tmp_path, made).suspects
    assert not suspect.scripts and f"its definition of {definition['name']} is none" in suspect.why_none


@pytest.mark.parametrize("several", SEVERAL.values(), ids=SEVERAL)
def test_a_type_is_what_was_accepted_as_one(tmp_path: Path, several: list[tuple[str, str, str]]) -> None:
    made = copy.deepcopy(WHOLE)
    definitions = made["launches"][0]["record"]["definitions"]
    definitions += [{"kind": kind, "name": name, "text": text} for kind, name, text in several]
    [suspect] = read(tmp_path, made).suspects
    assert not suspect.scripts and "is none that a kernel needs" in suspect.why_none


def test_types_that_kernels_have_are_accepted(tmp_path: Path) -> None:
    made = copy.deepcopy(WHOLE)
    made["launches"][0]["record"]["definitions"] += [
        {"kind": "import", "name": "namedtuple", "text": "from collections import namedtuple\n"},
        {"kind": "constant", "name": "Pair", "text": "Pair = namedtuple('Pair', 'a b')\n"},
        {"kind": "constant", "name": "PAIR", "text": "PAIR = tl.constexpr(Pair(1, 2))\n"},
        {"kind": "import", "name": "dataclass", "text": "from dataclasses import dataclass\n"},
        {"kind": "function", "name": "Sizes", "text": "@dataclass(frozen=True)\nclass Sizes:\n    m: int = 16\n"},
        {"kind": "import", "name": "enum", "text": "import enum\n"},
        {"kind": "function", "name": "Act", "text": "class Act(str, enum.Enum):\n    RELU = 'relu'\n"},
        {"kind": "function", "name": "h", "text": "@triton.jit(noinline=True)\ndef h(x, act=Act.RELU):\n    pass\n"},
    ]
    [suspect] = read(tmp_path, made).suspects
    assert suspect.scripts and "class Act(str, enum.Enum):" in suspect.scripts[0], suspect.why_none


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("options", 0), {"kind": "unknown", "name": "arch", "text": "evil()"}),
        (
            ("arguments", 2),
            {
                "kind": "tuple",
                "name": "n",
                "constexpr": False,
                "items": [{"kind": "tuple", "named": "exec", "items": [{"kind": "value", "text": "'evil'"}]}],
            },
        ),
        (
            ("arguments", 0),
            {
                "kind": "descriptor",
                "name": "x",
                "constexpr": False,
                "base": {key: value for key, value in WHOLE_TENSOR.items() if key != "kind"},
                **{"shape": [64], "strides": [1], "block_shape": [16], "padding": "zero", "round_f32_to_tf32": False},
                **{"layout": "None", "module": "evil.tools"},
            },
        ),
    ],
    ids=["an option of no kind", "a type within a tuple", "a descriptor's module"],
)
def test_no_part_of_an_argument_is_imported_or_called(tmp_path: Path, place: Place, value: dict[str, Any]) -> None:
    [suspect] = read(tmp_path, changed((*RECORD, *place), value)).suspects
    assert not suspect.scripts and suspect.why_none and "schema" not in suspect.why_none, suspect.why_none


@pytest.mark.parametrize("text", TEXTS)
def test_no_argument_runs_anything(tmp_path: Path, text: str) -> None:
    for place in ((*RECORD, "arguments", 2, "text"), (*RECORD, "options", 0, "text")):
        [suspect] = read(tmp_path, changed(place, text)).suspects
        assert not suspect.scripts and suspect.why_none


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (json.dumps(WHOLE)[:900], "is no capsule, or is cut short"),
        ("[" * 100_000, "is no capsule, or is cut short"),
        ("{}", "does not say of which version"),
        ([], "does not say of which version"),
        (
            changed(("capsule",), VERSION + 1),
            f"a capsule of version {VERSION + 1}, and this shrink reads version {VERSION}",
        ),
        (changed(("capsule",), True), "does not say of which version"),
        (changed(("mode",), "fast"), "capsule.mode is 'fast', and not 'capture' or 'record'"),
        (changed(("launches",), {}), "capsule.launches is {}, and not a list"),
        (changed(("launches", 0, "number"), "1"), "capsule.launches[0].number is '1', and not a whole number"),
        (changed(("launches",), []), "names no launch"),
        (changed(("contents",), {"../evil.pt": "AAAA"}), "its contents '../evil.pt' cannot be read"),
        (changed(("contents", NAME), "no base 64"), f"its contents {NAME!r} cannot be read"),
        (changed(("contents", NAME), 7), f"its contents {NAME!r} cannot be read"),
    ],
)
def test_what_is_no_capsule_is_told_in_a_line(tmp_path: Path, made: object, said: str) -> None:
    with pytest.raises(UsageError) as told:
        read(tmp_path, made)
    assert said in str(told.value) and "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("torch.AcceleratorError", "CUDA error: an illegal memory access was encountered\nCUDA kernel errors", None),
        ("RuntimeError", "CUDA error: script:./evil.sh", r"regex:script:\./evil\.sh"),
        ("RuntimeError", "Triton Error [CUDA]: exit:1", r"regex:exit:\d+"),
        ("ValueError", "script:./evil (a+)+$", r"exception:ValueError:script:\./evil\ \(a\+\)\+\$"),
        (
            "triton.runtime.errors.OutOfResources",
            "out of resource: shared memory, Required: 262144, Hardware limit: 232448.",
            r"exception:triton.runtime.errors.OutOfResources:out\ of\ resource:\ shared\ memory,\ Required:\ \d+,"
            r"\ Hardware\ limit:\ \d+\.",
        ),
        ("a.Error", "at 2:4:\ndef f(x):\n    ^\na wrong thing\n", r"exception:a.Error:a\ wrong\ thing"),
        ("script:./evil", "no: type", r"regex:no:\ type"),
        ("IndexError", "", "exception:IndexError"),
    ],
)
def test_the_error_that_it_names_must_persist_and_no_other(
    tmp_path: Path, kind: str, text: str, expected: str | None
) -> None:
    made = changed(("error",), {"type": kind, "text": text, "where": "uncaught"})
    asked = capsule.spec(read(tmp_path, made))
    assert asked == (expected or "an illegal memory access was encountered")
    oracle = parse(asked, folder=tmp_path)
    assert type(oracle).__name__ in ("StickyOracle", "WordsOracle", "ExceptionOracle")


def test_an_error_without_a_name_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="say it with --oracle"):
        capsule.spec(read(tmp_path, changed(("error",), {"type": "script:x", "text": "\n", "where": "exit"})))


def test_the_command_ends_with_2(tmp_path: Path) -> None:
    (tmp_path / "cut.json").write_text(json.dumps(WHOLE)[:900])
    (tmp_path / "evil.json").write_text(json.dumps(changed((*RECORD, "arguments", 2, "text"), "evil()")))
    (tmp_path / "whole.json").write_text(json.dumps(WHOLE))
    for words, said in (
        ((), "shrink: which capsule?"),
        (("none.json",), "shrink: cannot read none.json: No such file or directory"),
        (("cut.json",), "shrink: cut.json is no capsule, or is cut short"),
        (("evil.json",), "shrink: evil.json: no launch can be made a script (add: its argument n is no literal)"),
        (
            ("whole.json", "--launch", "3"),
            "shrink: --launch 3: whole.json has no launch of that number. It holds 12 (add)",
        ),
    ):
        told = refused("capsule", *words, "--arch", "sm_90", cwd=tmp_path)
        assert told.code == 2 and said in told.err and "Traceback" not in told.err, told.err


@settings(max_examples=600, deadline=None, derandomize=True)
@given(st.sampled_from(PLACES), st.sampled_from([*EVIL, *ODD]))
def test_no_value_of_a_capsule_becomes_code(tmp_path_factory: pytest.TempPathFactory, at: Place, value: Any) -> None:
    folder = tmp_path_factory.getbasetemp()
    try:
        found = read(folder, changed(at, value))
    except UsageError as error:
        assert "\n" not in str(error)
        return
    for text in (text for suspect in found.suspects for text in suspect.scripts):
        nodes = list(ast.walk(ast.parse(text)))
        names = {node.id for node in nodes if isinstance(node, ast.Name)}
        names |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        assert not {"evil", "inf"} & names, text


@settings(max_examples=400, deadline=None, derandomize=True)
@given(damaged(json.dumps(WHOLE, indent=1).encode()))
def test_no_damage_to_a_capsule_is_thrown(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.json"
    path.write_bytes(data)
    try:
        capsule.read(path, path.parent)
    except UsageError as error:
        assert "\n" not in str(error)
