"""A file's text in, the definitions that a kernel of it needs out; nothing is imported or run."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.lift.from_trace.trace_source import Missing, definitions

HEAD = "import triton\nimport triton.language as tl\n"
KERNEL = "@triton.jit\ndef kernel(x):\n    tl.store(x, N)\n"


def needed(text: str, name: str = "kernel", *also: str, **place: int) -> list[str]:
    """The texts of the definitions, but for the three imports that every script has."""
    _, found = definitions(name, {"code": text, "file_path": "", **place}, [], also)
    usual = ("import triton\n", "import triton.language as tl\n", "import torch\n")
    return [definition["text"] for definition in found if definition["text"] not in usual]


def missing(text: str, name: str = "kernel") -> str:
    with pytest.raises(Missing) as told:
        definitions(name, {"code": text, "file_path": ""}, [])
    return str(told.value)


@pytest.mark.parametrize(
    ("before", "taken"),
    [
        ("N = tl.constexpr(3)\n", "N = tl.constexpr(3)\n"),
        ("N: tl.constexpr = 3\n", "N = tl.constexpr(3)\n"),
        ("M = 2\nN = M * 3  # six\n", "M = 2\n|N = M * 3\n"),
        ("from triton.language import float32 as N\n", "from triton.language import float32 as N\n"),
        ("if True:\n    from math import pi as N, e\n", "from math import pi as N\n"),
        ("@triton.jit\ndef N(x):\n    return x\n", "@triton.jit\ndef N(x):\n    return x\n"),
        ("@triton.constexpr_function\ndef f():\n    return 1\nN = f()\n", None),
        ("import os\nN = int(os.environ.get('N', 3))\n", "import os\n|N = int(os.environ.get('N', 3))\n"),
    ],
)
def test_what_a_name_stands_for(before: str, taken: str | None) -> None:
    taken = taken or "@triton.constexpr_function\ndef f():\n    return 1\n|N = f()\n"
    assert needed(HEAD + before + "unused = 1\n" + KERNEL) == [*taken.split("|"), KERNEL]


def test_what_is_made_with_a_function_stands_after_it() -> None:
    text = HEAD + "@triton.jit\ndef f(x):\n    return x\nN = f\n" + KERNEL
    _, found = definitions("kernel", {"code": text, "file_path": ""}, [])
    assert [(d["kind"], d["name"]) for d in found if d["kind"] != "import"] == [
        ("function", "f"),
        ("function", "N"),
        ("function", "kernel"),
    ]


@pytest.mark.parametrize(
    ("before", "why"),
    [
        ("", "N (read by kernel)"),
        ("N = 1\nN = 2\n", "N (bound more than once)"),
        ("N = 1\nN += 2\n", "N (bound more than once)"),
        ("N, M = 1, 2\n", "N (bound by more than a plain assignment)"),
        ("from mine.ops import N\n", "N (from mine.ops, a module that is not in the trace)"),
        ("from . import N\n", "N (from ., a module that is not in the trace)"),
        ("import mine.ops as N\n", "N (from mine.ops, a module that is not in the trace)"),
        ("M = 1\n@triton.jit\ndef N(x):\n    return x + K + L\n", "K (read by N), L (read by N)"),
    ],
)
def test_what_cannot_be_known(before: str, why: str) -> None:
    assert missing(HEAD + before + KERNEL) == why


@pytest.mark.parametrize(
    ("decorators", "kept"),
    [
        ("@triton.autotune([triton.Config({})], key=[])\n@triton.heuristics({})\n@triton.jit\n", "@triton.jit\n"),
        ("@triton.jit(launch_metadata=about, repr=lambda s: 'k')\n", "@triton.jit\n"),
        ("@triton.jit(noinline=True, repr=name)\n", "@triton.jit(noinline=True)\n"),
        ("@partial(triton.jit, do_not_specialize=['x'])\n", "@partial(triton.jit, do_not_specialize=['x'])\n"),
        ("@triton_heuristics.pointwise(size_hints={}, filename=__file__)\n@triton.jit\n", "@triton.jit\n"),
        ("@gluon.jit\n", "@gluon.jit\n"),
    ],
)
def test_only_what_makes_the_kernel_is_kept_of_its_decorators(decorators: str, kept: str) -> None:
    kernel = "def kernel(x):\n    pass\n"
    found = needed(HEAD + "from functools import partial\n" + decorators + kernel)
    assert found[-1] == kept + kernel
    assert found[:-1] == {
        "@p": ["from functools import partial\n"],
        "@g": ["from triton.experimental import gluon\n"],
    }.get(kept[:2], [])


def test_annotations_that_say_nothing_are_dropped() -> None:
    kernel = "@triton.jit\ndef kernel(x: 'T', ü: Tensor, y: my.Type, N: tl.constexpr = 3):\n    pass\n"
    text = "from mine import Tensor\n" + HEAD + kernel
    assert needed(text) == [kernel.replace(": Tensor", "").replace(": my.Type", "")]


def test_a_kernel_in_a_function_and_one_under_another_name() -> None:
    inner = "def make():\n    @triton.jit\n    def kernel(x):\n        tl.store(x, 1)\n    return kernel\n"
    assert needed(HEAD + inner) == ["@triton.jit\ndef kernel(x):\n    tl.store(x, 1)\n"]
    two = HEAD + KERNEL.replace("kernel", "first").replace("N", "1") + KERNEL.replace("N", "2")
    assert needed(two, "kernel_B64", function_start_line=6, function_end_line=9)[0].endswith("x, 2)\n")
    assert needed(KERNEL.replace("N", "1"), "kernel_B64")[0].startswith("@triton.jit\ndef kernel")
    assert "under another name" in missing(two, "kernel_B64")


def test_helpers_that_were_compiled_as_kernels_of_the_same_file() -> None:
    source = {"code": KERNEL.replace("N", "helper(1)"), "file_path": "a.py"}
    helper = {"code": "@triton.jit\ndef helper(x):\n    return x\n", "file_path": "a.py"}
    _, found = definitions("kernel", source, [{**helper, "file_path": "b.py"}, helper])
    assert [d["name"] for d in found if d["kind"] == "function"] == ["helper", "kernel"]
    with pytest.raises(Missing, match="helper"):
        definitions("kernel", source, [{**helper, "file_path": "b.py"}])


def test_the_file_counts_while_the_kernel_stands_in_it(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text(HEAD + "N = tl.constexpr(3)\n" + KERNEL)
    source = {"code": KERNEL, "file_path": str(file)}
    assert "N = tl.constexpr(3)\n" in [d["text"] for d in definitions("kernel", source, [])[1]]
    file.write_text(HEAD + "N = tl.constexpr(3)\n" + KERNEL.replace("x, N", "x, N + 1"))
    with pytest.raises(Missing, match="N"):
        definitions("kernel", source, [])


def test_source_that_does_not_parse() -> None:
    assert missing("def kernel(:\n") == "source that can be parsed"
