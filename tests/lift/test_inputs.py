"""From tensor records to the lines that make them: pure, no process."""

from __future__ import annotations

from typing import Any

import pytest

from shrinkray_gpu.lift.inputs import Inputs, more_behind, share_memory
from shrinkray_gpu.lift.values import choices


def tensor(name: str, shape: list[int], strides: list[int] | None = None, **more: Any) -> dict[str, Any]:
    if strides is None:
        strides = [1] * len(shape)
        for i in range(len(shape) - 1, 0, -1):
            strides[i - 1] = strides[i] * shape[i]
    count = 1 + sum((n - 1) * t for n, t in zip(shape, strides))
    given = {"dtype": "float32", "offset": 0, "storage": name, "residue": 0, "device": "cuda", "bytes": 4 * count}
    return {"kind": "tensor", "name": name, "shape": shape, "strides": strides, **given, **more}


def lines(*arguments: dict[str, Any], way: int = 0, **how: bool) -> list[str]:
    inputs = Inputs(choices(arguments)[way], {"torch"}, **how)
    inputs.plan(arguments)
    for argument in arguments:
        inputs.text(argument)
    return [line.rstrip("\n").replace(', device="cuda"', "") for line in (inputs.seed, *inputs.lines) if line]


def whole(content: dict[str, Any], **more: Any) -> dict[str, Any]:
    return tensor("i", [100], dtype="int64", content=content, **more)


def test_a_tensor_stays_on_its_gpu() -> None:
    assert lines(tensor("x", [4]), tensor("y", [4], device="cuda:1")) == [
        "x = torch.zeros(4)",
        'y = torch.zeros(4, device="cuda:1")',
    ]


def test_floats_are_guessed_twice() -> None:
    x = tensor("x_ptr", [4, 8])
    assert len(choices([x])) == 2
    assert lines(x) == ["x = torch.zeros(4, 8)"]
    assert lines(x, way=1) == ["torch.manual_seed(0)", "x = torch.randn(4, 8)"]


def test_integers_may_be_indices() -> None:
    x, i = tensor("x", [8]), tensor("i", [2, 3], dtype="int32")
    ways = [lines(x, i, way=way)[-1] for way in range(len(choices([x, i])))]
    assert ways == [
        "i = torch.zeros(2, 3, dtype=torch.int32)",
        "i = torch.ones(2, 3, dtype=torch.int32)",
        "i = torch.arange(6, dtype=torch.int32).view(2, 3)",
    ]
    assert lines(tensor("b", [300], dtype="int8"), way=2) == [
        "b = torch.ones(300, dtype=torch.int8)"
    ]  # cannot count so far


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ({"kind": "zeros"}, "i = torch.zeros(100, dtype=torch.int64)"),
        ({"kind": "full", "value": 9}, "i = torch.full((100,), 9)"),
        ({"kind": "arange", "start": 0, "step": 1}, "i = torch.arange(100)"),
        ({"kind": "arange", "start": 5, "step": -2}, "i = torch.arange(5, -195, -2)"),
        ({"kind": "range", "low": 0, "high": 31}, "i = torch.randint(0, 32, (100,))"),
        ({"kind": "unknown", "why": ""}, "i = torch.zeros(100, dtype=torch.int64)"),
        (
            {"kind": "range", "low": 0, "high": 3, "exact": {"kind": "list", "values": [3, 0]}},
            "i = torch.tensor([3, 0])",
        ),
    ],
)
def test_the_simplest_content_that_agrees(content: dict[str, Any], line: str) -> None:
    assert lines(whole(content))[-1] == line


def test_then_the_values_themselves_those_of_integers_first() -> None:
    saved = {"kind": "file", "path": "/v/1.pt", "dtype": "int64", "bytes": 12345}
    i = whole({"kind": "range", "low": 0, "high": 3, "exact": saved})
    few = {"kind": "list", "values": [0.5, float("nan")]}
    x = tensor("x", [2], content={"kind": "normal", "mean": 3.0, "std": 0.1, "nan": True, "exact": few})
    ways = [lines(x, i, way=way) for way in range(len(choices([x, i])))]
    assert ways == [
        [
            "torch.manual_seed(0)",
            "x = torch.randn(2) * 0.1 + 3  # NaN in it when recorded",
            'x[0] = float("nan")',
            "i = torch.randint(0, 4, (100,))",
        ],
        [
            "torch.manual_seed(0)",
            "x = torch.randn(2) * 0.1 + 3  # NaN in it when recorded",
            'x[0] = float("nan")',
            'i = torch.load("/v/1.pt", weights_only=True).cuda()  # as recorded, 12,345 bytes',
        ],
        [
            'x = torch.tensor([0.5, float("nan")])',
            'i = torch.load("/v/1.pt", weights_only=True).cuda()  # as recorded, 12,345 bytes',
        ],
    ]


def test_what_is_loaded_goes_where_the_view_had_it() -> None:
    saved = {"kind": "file", "path": "/v/1.pt", "dtype": "float32", "bytes": 9}
    content = {"kind": "normal", "mean": 0.0, "std": 1.0, "exact": saved}
    x = tensor("x", [4, 6], [8, 1], content=content)
    assert lines(x, way=1) == [
        "x = torch.zeros(4, 8)[:, :6]",
        'x.copy_(torch.load("/v/1.pt", weights_only=True).cuda())  # as recorded, 9 bytes',
    ]
    assert lines(x) == ["torch.manual_seed(0)", "x = torch.randn(4, 8)"]


def test_scaled_values_are_one_operand() -> None:
    content = {"kind": "normal", "mean": 50.0, "std": 4.0}
    assert lines(tensor("x", [9], offset=1, content=content))[-1] == "x = (torch.randn(10) * 4 + 50)[1:]"
    eight = tensor("x", [9], dtype="float8_e5m2", content=content)
    assert lines(eight)[-1] == "x = (torch.randn(9) * 4 + 50).to(torch.float8_e5m2)"


def test_memory_shared_and_apart() -> None:
    a, b = tensor("a", [100], bytes=800), tensor("b", [100], storage="a", offset=100, bytes=800)
    assert share_memory([a, b]) and not share_memory([a, a])
    assert lines(a, b) == ["buffer = torch.zeros(200)", "a = buffer[:100]", "b = buffer[100:200]"]
    assert lines(a, b, apart=True) == ["a = torch.zeros(100)", "b = torch.zeros(100)"]


def test_a_far_corner_of_a_pool_needs_no_pool() -> None:
    far = 1 << 30
    a = tensor("a", [100], storage="p", offset=far, bytes=far * 8)
    b = tensor("b", [100], storage="p", offset=far + 50, bytes=far * 8)
    assert lines(a, b) == ["buffer = torch.zeros(150)", "a = buffer[:100]", "b = buffer[50:150]"]


def test_memory_behind_a_view_may_be_needed() -> None:
    row = tensor("x", [64], bytes=64 * 64 * 4)
    assert more_behind(row) and not more_behind(tensor("x", [64]))
    assert not more_behind(tensor("x", [8, 48], [64, 1], bytes=8 * 64 * 4))
    assert lines(row) == ["x = torch.zeros(64)"] and lines(row, whole=True) == ["x = torch.zeros(4096)"]


def test_shared_memory_with_contents() -> None:
    a = tensor("a", [4], content={"kind": "ones"})
    b = tensor("b", [4], storage="a", offset=4, content={"kind": "full", "value": 2.0})
    assert lines(a, b) == [
        "buffer = torch.zeros(8)",
        "a = buffer[:4]",
        "a.copy_(torch.ones(4))",
        "b = buffer[4:8]",
        "b.copy_(torch.full((4,), 2.0))",
    ]
    both = [a, {**b, "content": {"kind": "ones"}}]
    assert lines(*both) == ["buffer = torch.ones(8)", "a = buffer[:4]", "b = buffer[4:8]"]


def test_a_parameter_whose_name_without_its_ending_is_a_keyword_keeps_it() -> None:
    assert lines(tensor("in_ptr", [4])) == ["in_ptr = torch.zeros(4)"]
