"""Scripts made of launches: what they say, what they leave unsaid, and why some cannot be made."""

from __future__ import annotations

import ast
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu import lift
from shrinkray_gpu.lift import data_files, emit
from shrinkray_gpu.lift.refusals import beyond
from shrinkray_gpu.runner.pool import Pool
from shrinkray_gpu.runner.run import Failure, Run
from tests.lift.conftest import Lift, same_launch

HEAD = "import torch, triton\nimport triton.language as tl\n"
HELION = os.environ.get("SHRINK_HELION_PYTHON", "")
"""An interpreter with Helion, for the tests of real Helion kernels."""


def launch(**more: Any) -> dict[str, Any]:
    """The record of a launch of a kernel without arguments."""
    kernel = {"kind": "function", "name": "k", "text": "@triton.jit\ndef k():\n    pass\n"}
    plain = {"kernel": "k", "trouble": "", "grid": [1], "arguments": [], "options": [], "allocator": False}
    return {**plain, "definitions": [kernel], **more}


def option(name: str, text: str) -> dict[str, Any]:
    return {"name": name, "kind": "value", "text": text}


def test_the_whole_script() -> None:
    assert emit.lifts(launch(grid=[4, 1, 1])) == (
        "import torch\nimport triton\n\n\n@triton.jit\ndef k():\n    pass\n\n\nk[(4,)]()\ntorch.cuda.synchronize()\n",
    )


def test_options_that_say_nothing_are_left_out() -> None:
    quiet = [option(name, text) for name, text in emit.DEFAULTS.items()]
    loud = [option("num_warps", "8"), option("launch_cooperative_grid", "True"), option("ptx_options", "'-v'")]
    assert "k[(1,)]()\n" in emit.lifts(launch(options=quiet))[0]
    assert (
        "k[(1,)](num_warps=8, launch_cooperative_grid=True, ptx_options='-v')\n" in emit.lifts(launch(options=loud))[0]
    )


def test_stages_are_said_whatever_they_are_on_one_vendors_gpus() -> None:
    """Where they are the target's own default, the record leaves them out."""
    assert "k[(1,)](num_stages=3)\n" in emit.lifts(launch(options=[option("num_stages", "3")]))[0]


def test_a_kernel_may_read_numpy() -> None:
    numpy = {"kind": "import", "name": "np", "text": "import numpy as np\n"}
    record = launch()
    record["definitions"].insert(0, numpy)
    assert emit.lifts(record)[0].startswith("import numpy as np\nimport torch\n")


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"trouble": "it is odd"}, "it is odd"),
        ({"grid": None}, "its grid is not known"),
        ({"options": [option("_remote_copy_signal_dst", "3")]}, "launched with _remote_copy_signal_dst"),
        ({"arguments": [{"kind": "unknown", "name": "x", "text": "a strange thing"}]}, "argument x is a strange thing"),
        (
            {"definitions": [{"kind": "import", "name": "h", "text": "import helion.language as h\n"}]},
            "needs helion, and a lifted script may import numpy, torch, triton only",
        ),
    ],
)
def test_why_a_launch_cannot_be_lifted(more: dict[str, Any], why: str) -> None:
    record = launch(**more)
    assert why in emit.obstacle(record) and emit.lifts(record) == ()
    run = Run("cold", 0, captured={"launches": [record]})
    assert lift.candidates(run) == () and [why in text for text in lift.obstacles(run)] == [True]


def test_a_generator_that_fails_by_itself_is_said() -> None:
    trace = 'Traceback (most recent call last):\n  File "/x/helion/runtime/kernel.py", line 3, in bind\nE\n'
    failed = Run("cold", 1, failure=Failure("helion.exc.RankMismatch", "Expected ndim=2\nmore", traceback=trace))
    assert "the fault is in Helion itself (helion.exc.RankMismatch: Expected ndim=2)" in beyond(failed)
    inside = replace(failed, failure=Failure("KeyError", "'x'", traceback=trace))
    assert "Helion itself (KeyError: 'x')" in beyond(inside)
    outside = replace(failed, failure=Failure("KeyError", "'x'", traceback=trace.replace("helion", "mine")))
    assert beyond(outside) == ""
    assert beyond(replace(failed, captured={"launches": [launch()]})) == ""


GENERATED = """
import torch
from torch._inductor.runtime import triton_helpers
from torch._inductor.runtime.triton_compat import libdevice
from torch._inductor.runtime.triton_helpers import math as tl_math
import triton
import triton.language as tl

_BLOCK_SIZE_0 = tl.constexpr(64)

@triton.jit
def _helion_f(x, out, out_stride_0, _NUM_SM: tl.constexpr):
    # src[f.py:3]: for tile in hl.tile(x.size()):
    at = tl.program_id(0) * _BLOCK_SIZE_0 + tl.arange(0, _BLOCK_SIZE_0)
    # a person wrote this
    load = tl.load(x + at)
    prod = triton_helpers.prod(load, 0)
    v = libdevice.tanh(load) + tl_math.abs(load) + triton_helpers.maximum(load, prod)
    prod = prod + triton_helpers.prod(v, 0)
    tl.store(out + at * out_stride_0, v + prod)

x = torch.ones(128, device="cuda")
_helion_f.run(x, torch.empty_like(x), 1, 132, grid=(2,), warmup=False, num_warps=4, num_stages=1,
              launch_cooperative_grid=False)
torch.cuda.synchronize()
"""


def test_what_helion_generates_comes_out_as_plain_triton(lifted: Lift) -> None:
    found = lifted(GENERATED)
    same_launch(found.original, found.original.launches[0], found.again)
    assert packages(found.text) == {"torch", "triton"} and "_inductor" not in found.text
    assert "from triton.language.extra import libdevice\n" in found.text
    assert "tl.abs(load)" in found.text and "maximum(load, prod)" in found.text and "triton_helpers" not in found.text
    assert "prod = prod_2(load, 0)" in found.text and "prod + prod_2(v, 0)" in found.text  # not its own variable
    assert "src[f.py" not in found.text and "# a person wrote this" in found.text
    assert "_helion_f[(2,)](x, out, 1, _NUM_SM=132, num_stages=1)\n" in found.text


TUNED = """
@triton.autotune([triton.Config({"B": 16}), triton.Config({"B": 48}, num_warps=8, num_stages=2)], key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % 2 == 0})
@triton.jit
def fill(x, n, B: tl.constexpr, EVEN: tl.constexpr):
    tl.store(x + tl.arange(0, B), 1.0)

fill[lambda meta: (meta["n"] // meta["B"], )](torch.zeros(96, device="cuda"), 96)
"""


def test_of_many_configs_the_failing_one_is_left(lifted: Lift) -> None:
    found = lifted(HEAD + TUNED)  # 48 is no power of two
    assert found.again.failure is not None and "power of 2" in found.again.failure.text
    assert "fill[(2,)](x, 96, B=48, EVEN=True, num_warps=8, num_stages=2)\n" in found.text
    decorators = [line for line in found.text.splitlines() if line.startswith("@")]
    assert decorators == ["@triton.jit"] and "Config" not in found.text and "lambda" not in found.text


GATHER = """
@triton.jit
def gather(table, index, out, flags, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    at = tl.load(index + i, mask=i < n)
    tl.store(out + i, tl.load(table + at), mask=i < n)

torch.manual_seed(3)
table = torch.randn(1000, device="cuda") * 9
index = torch.randint(0, 1000, (500,), device="cuda")
flags = torch.tensor([1, 0, 3], dtype=torch.int32, device="cuda")
gather[(4,)](table, index, torch.empty(500, device="cuda"), flags, 500, B=128)
torch.cuda.synchronize()
"""


def with_values(pool: Pool, source: str) -> tuple[Run, list[str]]:
    run = pool.run(source, capture="values")
    return run, list(lift.candidates(run))


def test_recorded_values_from_the_simplest_to_themselves(pool: Pool) -> None:
    original, texts = with_values(pool, HEAD + GATHER)
    like, whole, same = texts
    assert re.search(r"table = torch\.randn\(1000, device=.cuda.\) \* [89]", like)
    assert re.search(r"index = torch\.randint\(\d, (99\d|1000), \(500,\), device=.cuda.\)", like)
    assert all("flags = torch.tensor([1, 0, 3], dtype=torch.int32" in text for text in texts)
    assert all("out = torch.zeros(500" in text for text in texts)
    assert [len(data_files.files(text)) for text in texts] == [0, 1, 2]
    assert 'index = torch.load("' in whole and "table = torch.randn(" in whole
    for text in texts:
        same_launch(original, original.launches[0], pool.run(text))
    again = pool.run(same)
    assert again.launches[0].args == original.launches[0].args  # with the hash of what each tensor holds


def test_nothing_is_known_of_what_another_kernel_should_have_written(pool: Pool) -> None:
    twice = GATHER.replace("torch.cuda.sync", "gather[(4,)](table, index, table, flags, 500, B=128)\ntorch.cuda.sync")
    twice += "gather[(1,)](table, index, index, flags, 500, B=128)\ntorch.cuda.synchronize()\n"
    _, texts = with_values(pool, HEAD + twice)
    assert "table = torch.zeros(1000" in texts[0] and "index = torch.randint(" in texts[0]


def test_values_survive_the_run_they_were_recorded_in(pool: Pool, tmp_path: Path) -> None:
    _, texts = with_values(pool, HEAD + GATHER)
    text, files = data_files.final_files(texts[-1], tmp_path / "repro.py")
    assert [file.name for file in files] == ["repro.pt", "repro_2.pt"] and all(file.is_file() for file in files)
    assert 'torch.load(Path(__file__).with_name("repro.pt"), weights_only=True).cuda()' in text
    ast.parse(text)


SHARED = """
@triton.jit
def add(a, b, c):
    tl.store(c, tl.load(a) + tl.load(b))

pool = torch.ones(3, 40, device="cuda")
add[(1,)](pool[0], pool[1], pool[2])
torch.cuda.synchronize()
"""


def test_what_shares_memory_does_so_first_and_then_no_more(lifted: Lift) -> None:
    found = lifted(HEAD + SHARED)
    together, randomly, apart = found.texts
    assert "a = buffer[:40]" in together and "b = buffer[40:80]" in together and "randn" in randomly
    assert "buffer" not in apart and "c = torch.zeros(40, " in apart
    same_launch(found.original, found.original.launches[0], found.again)


def packages(text: str) -> set[str]:
    names = re.findall(r"^(?:import|from) (\w+)", text, re.MULTILINE)
    return set(names)


MATMUL = """
import torch, helion, helion.language as hl

@helion.kernel(config=helion.Config(block_sizes=[16, 64, 64], num_warps=4, num_stages=4, indexing="tensor_descriptor"))
def scaled(x: torch.Tensor, w: torch.Tensor, s: torch.Tensor) -> torch.Tensor:
    m, k = x.size()
    _, n = w.size()
    out = torch.empty([m, n], dtype=torch.float32, device=x.device)
    for tm, tn in hl.tile([m, n]):
        acc = hl.zeros([tm, tn], dtype=torch.float32)
        for tk in hl.tile(k):
            acc = torch.addmm(acc, x[tm, tk] * torch.tanh(s[tk])[None, :], w[tk, tn])
        out[tm, tn] = acc
    return out

f16 = {"device": "cuda", "dtype": torch.float16}
scaled(torch.randn(64, 256, **f16), torch.randn(256, 64, **f16), torch.randn(256, **f16))
torch.cuda.synchronize()
"""


@pytest.mark.skipif(not shutil.which(HELION), reason="SHRINK_HELION_PYTHON names no interpreter with Helion")
def test_a_helion_kernel(pool: Pool) -> None:
    """The whole way, with a real Helion: it needs some seconds to generate the kernel."""
    setup = replace(pool.setup, python=HELION)
    helion = Pool(pool.script, setup, mode="virtual", jobs=1, seconds=120)
    try:
        original = helion.run(MATMUL, capture="launch")
        text = lift.candidates(original)[0]
    finally:
        helion.close()
    again = pool.run(text)  # where there is no helion to import
    same_launch(original, original.launches[-1], again)
    assert packages(text) == {"torch", "triton"} and "helion" not in text.replace("_helion_scaled", "")
    assert "triton.set_allocator(" in text and "_helion_scaled[(4,)](" in text and ", num_stages=4)" in text


def test_no_tensor_is_named_like_what_a_kernel_looks_up() -> None:
    """`max_ptr` would become `max`, which the kernel calls; `float_ptr` the `float` of `float("nan")`."""
    kernel = "@triton.jit\ndef k(max_ptr, scale_ptr, float_ptr, x_ptr):\n    x = max(scale(x_ptr), 1)\n"
    helper = "@triton.jit\ndef scale(x):\n    return x\n"
    record = launch(arguments=[pointer(name) for name in ("max_ptr", "scale_ptr", "float_ptr", "x_ptr")])
    record["definitions"] = [
        {"kind": "function", "name": name, "text": text} for name, text in (("scale", helper), ("k", kernel))
    ]
    assert "k[(1,)](max_ptr, scale_ptr, float_ptr, x)\n" in emit.lifts(record)[0]


def pointer(name: str) -> dict[str, Any]:
    where = {"storage": name, "offset": 0, "residue": 0, "device": "cuda", "bytes": 16}
    whole = {"shape": [4], "strides": [1], "dtype": "float32"}
    return {"kind": "tensor", "name": name, "constexpr": False, **whole, **where}


def test_a_launch_that_makes_no_python_is_no_offer_and_ends_nothing() -> None:
    odd = launch(options=[option("num_warps", "8  # as recorded")])
    assert emit.lifts(odd) == ()
    broken = launch(kernel="gone")  # no definition has that name
    run = Run("cold", 1, captured={"launches": [{**broken, "arguments": [pointer("x")]}, launch()]})
    assert [offer.kernel for offer in lift.offers(run)] == ["k"]
    assert ["a bug of shrink's own" in text for text in lift.obstacles(run)] == [True]
