"""What of a kernel's memory decides where its launch goes: what is made up there may show a fault of its own."""

from __future__ import annotations

import ast
import textwrap
from typing import Any

import pytest

from shrinkray_gpu.lift.decisive import Decisive, decisive, made_before, pointers_in, with_exact, with_outputs_blank

HELPERS = """
def address_of(table, which):
    return tl.load(table + which).to(tl.pointer_type(tl.float32))

def gather(source, at, mask):
    return tl.load(source + at, mask=mask)

def split(n):
    i = tl.arange(0, n)
    return i, i + n
"""


def definitions(text: str) -> list[Any]:
    functions = ast.parse(textwrap.dedent(text)).body
    return [{"kind": "function", "name": each.name, "text": ast.unparse(each)} for each in functions]  # type: ignore[attr-defined]


def argument(name: str, storage: int = 0, **more: Any) -> Any:
    kind = "value" if name in ("n", "address") else "tensor"
    return {"kind": kind, "name": name, "storage": storage, **more}


def of(body: str, names: str = "x y n address") -> Decisive:
    text = f"def kernel({', '.join(names.split())}):\n{textwrap.indent(textwrap.dedent(body), '    ')}"
    return decisive("kernel", [argument(name) for name in names.split()], definitions(HELPERS + text))


@pytest.mark.parametrize(
    ("body", "decide"),
    [
        ("tl.store(y + i, tl.load(x + i) * 2.0, mask=i < n)", ""),
        ("tl.store(y + tl.load(x), 1)", "x"),
        ("a = tl.load(x)\nb = a + 1\ntl.store(y, tl.load(y + b))", "x"),
        ("tl.store(y, 1, mask=tl.load(x) > 0)", "x"),
        ("tl.store(y, tl.where(tl.load(x) > 0, 1, 2))", ""),
        ("for i in range(tl.load(x)):\n    tl.store(y, i)", "x"),
        ("if tl.load(x) > n:\n    tl.store(y, 1)", "x"),
        ("while tl.load(x) > n:\n    n += 1", "x"),
        ("tl.device_assert(tl.load(x) < n)", "x"),
        ("d = tl.make_tensor_descriptor(y + tl.load(x), [n], [1], [16])\nd.store([0], d.load([0]))", "x"),
        ("d = tl.make_tensor_descriptor(y, [n], [1], [16])\nd.store([tl.load(x)], d.load([0]))", "x"),
        ("y.store([0], x.load([0]))", ""),
        ("y.store([0], gather(x, tl.load(y), None))", "y"),
        ("tl.atomic_add(y + tl.load(x), 1)", "x"),
        ("tl.store(y, tl.atomic_add(x, 1))", ""),
        ("old = tl.atomic_add(x, 1)\ntl.store(y + old, 1)", "x"),
        ("at, far = split(16)\ntl.store(y + far, gather(x, at, far < n))", ""),
        ("at, far = split(16)\ntl.store(y + far, gather(x, tl.load(y), far < n))", "y"),
        ("for i in range(4):\n    tl.store(y + p, 1)\n    p = tl.load(x + i)", "x"),
        ("tl.store(y, tl.load(x).to(y.dtype.element_ty))", ""),
    ],
)
def test_what_decides(body: str, decide: str) -> None:
    assert of(body).decide == frozenset(decide.split())


def test_what_is_written() -> None:
    assert of("tl.store(y + 1, tl.load(x))").written == {"y"}
    assert of("tl.atomic_add(x, tl.load(y))").written == {"x"}
    assert of("d = tl.make_tensor_descriptor(x, [n], [1], [16])\nd.store([0], 1)").written == {"x"}


def test_numbers_that_are_taken_as_addresses() -> None:
    assert of("tl.store(address_of(x, n), 1)").pointers == {"x"}
    assert of("tl.store(address.to(tl.pointer_type(tl.int8)), 1)").pointers == {"address"}
    assert of("tl.store(x.to(tl.pointer_type(tl.int8)), 1)").pointers == frozenset()


def test_what_decides_is_as_it_was_recorded() -> None:
    exact = {"kind": "list", "values": [4, 0]}
    held = {"kind": "range", "low": 0, "high": 4, "exact": exact}
    launch: Any = {"arguments": [argument("x", content=held), argument("y", content=held)]}
    found = with_exact(launch, Decisive(decide=frozenset({"x"})))
    assert [each["content"] for each in found["arguments"]] == [exact, held]  # type: ignore[typeddict-item]


def test_what_is_only_written_holds_zeros() -> None:
    """What nobody had written yet was a range of codes on an H100, and stood in for what the kernel wrote."""
    garbage = {"kind": "range", "low": 0, "high": 255}
    every = [argument("x", content=garbage), argument("y", content=garbage)]
    found: Any = with_outputs_blank(every, of("tl.store(y, tl.load(x))"))
    assert [each["content"]["kind"] for each in found] == ["range", "zeros"]
    found = with_outputs_blank(every, of("tl.atomic_add(y, tl.load(x))"))
    assert [each["content"]["kind"] for each in found] == ["range", "range"]


def history(*names: str) -> Any:
    text = "def make(x):\n    tl.store(x, 1)\ndef use(x, y):\n    tl.store(y + tl.load(x), 1)\n"
    launches = [
        {"kernel": "make", "arguments": [argument("x", 7)]},
        {"kernel": "use", "arguments": [argument("x", 7), argument("y", 8)]},
    ]
    order = {each["kernel"]: at for at, each in enumerate(launches)}
    events = [{"kind": "launch", "launch": order[name]} for name in names]
    return {"events": events, "launches": launches, "definitions": definitions(text)}


def test_what_decides_may_be_the_work_of_an_earlier_launch() -> None:
    assert made_before(history("make", "use"), "use")
    assert not made_before(history("use", "make"), "use")
    assert not made_before(history("make", "use"), "make")
    assert not made_before(None, "use")
    assert not pointers_in(history("make", "use"))
