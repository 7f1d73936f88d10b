"""Whose fault it is, asked of real programs on the virtual GPU: the word, the place, the evidence, what is enough."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from shrinkray_gpu.evidence.card import card
from shrinkray_gpu.questions.blame import trials
from shrinkray_gpu.questions.explanation import Explained, explain
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.private_setup import private_setup

ROOT = Path(__file__).parents[3]
HEAD = "import torch, triton, triton.language as tl\n"
COPY = """@triton.jit
def copy(x, y, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + at, tl.load(x + at{mask}){store})
x, y = torch.zeros({size}, device="cuda"), torch.zeros(64, device="cuda")
copy[({grid},)](x, y, {n}, B=16)
torch.cuda.synchronize()
"""
ROWS = """@triton.jit
def rows(x, y, stride, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(y + at, tl.load(x + tl.program_id(0) * stride + at))
x, y = torch.zeros(64, 16, device="cuda"), torch.zeros(8, 40000, device="cuda")
rows[(64,)](x, y, {stride}, N=16)
torch.cuda.synchronize()
"""
GATHERED = """@triton.jit
def gathered(x, index, y):
    at = tl.arange(0, 16)
    tl.store(y + at, tl.load(x + tl.load(index + at)))
x, y = torch.zeros({size}, device="cuda"), torch.zeros(16, device="cuda")
gathered[(1,)](x, torch.full((16,), {index}, device="cuda"), y)
torch.cuda.synchronize()
"""
COUNTED = """@triton.jit
def counted(x, y, first, count, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(y + at, tl.load(x + first + at, mask=at < count), mask=at < count)
x, y = torch.zeros(40, device="cuda"), torch.zeros(16, device="cuda")
counted[(1,)](x, y, 32, 16, B=16)
torch.cuda.synchronize()
"""
SOFTMAX = """@triton.jit
def rows(x, y):
    at = tl.arange(0, 16)[:, None] * 32 + tl.arange(0, 32)[None, :]
    tl.store(y + at, tl.softmax(tl.load(x + at), 1))
rows[(1,)](torch.zeros(16, 32, device="cuda"), torch.zeros(16, 32, device="cuda"))
torch.cuda.synchronize()
"""
REFUSED = """@triton.jit
def refused(x, n, B: tl.constexpr):
    at = tl.arange(0, {end})
    tl.store(x + at, tl.load(x + {index}, mask=at < n), mask=at < n)
refused[(1,)](torch.zeros(16, device="cuda"), 16, B={B})
torch.cuda.synchronize()
"""


DOT = """@triton.jit
def dot(x):
    at = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
    tl.store(x + at, tl.dot(tl.load(x + at), tl.load(x + at).to(tl.float16)))
dot[(1,)](torch.zeros(256, device="cuda"))
torch.cuda.synchronize()
"""


def copy(mask: str = ", mask=at < n", store: str = ", mask=at < n", **given: object) -> str:
    return HEAD + COPY.format(mask=mask, store=store, **{"size": 60, "n": 60, "grid": 4, **given})


def refused(**given: object) -> str:
    return HEAD + REFUSED.format(**{"end": "B", "index": "at", "B": 16, **given})


@pytest.fixture(scope="module")
def lanes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    """One worker on the virtual GPU for the trials of all verdicts that need no module of the program's own."""
    folder = tmp_path_factory.mktemp("trials")
    setup = private_setup(folder, os.environ, python=sys.executable, imports=("torch", "triton"), own=(), arch=90)
    with closing(Pool(Script(folder / "none.py"), setup, mode="virtual", jobs=1, seconds=60)) as made:
        yield made


@pytest.fixture
def one_worker(lanes: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    def serving(script: Script, setup: Setup, *, seconds: float, **_: object) -> Pool:
        view = lanes.serving(script, seconds=seconds)
        monkeypatch.setattr(view, "close", lambda: None)
        return view

    monkeypatch.setattr(trials, "Pool", serving)


def explained(text: str, folder: Path) -> Explained:
    path = folder / "program.py"
    path.write_text(text)
    return explain(path, arch=90)


@pytest.mark.usefixtures("one_worker")
@pytest.mark.parametrize(
    ("text", "whose", "place", "words", "enough"),
    [
        (
            copy(mask=""), "kernel source", "program.py:5",
            "has no mask; the load at program.py:5:29 reaches byte 252 of a tensor of 240. The program instance begins",
            "mask=at < n in tl.load(...) (program.py:5): by Triton's IR no access leaves its tensor then",
        ),
        (copy(mask=", mask=at <= n"), "kernel source", "program.py:5", "bound that is one less", "at < n for at <= n"),
        (
            copy(mask="", store="", size=64, grid=5), "host program", "program.py:7",
            "a grid that is one less keeps the access inside", "(4,) for (5,) (program.py:7)",
        ),
        (
            HEAD + ROWS.format(stride=40_000 + 1), "host program", "program.py:7",
            "the stride stride is 40001, where the tensor's is 16;", "x.stride(0) for 40001 (program.py:7)",
        ),
        (HEAD + ROWS.format(stride="y.stride(0)"), "not known", "program.py:5", "the stride of another tensor", "x."),
        (HEAD + COUNTED, "not known", "program.py:5", "or what the host passes is wrong", "at < count"),
        (HEAD + GATHERED.format(size=64, index=1 << 22), "data", "program.py:5", "an index that was loaded", ""),
        (HEAD + GATHERED.format(size=64, index=-1 << 22), "not known", "program.py:5", "stand for no index", ""),
        (
            refused(index="at.to(tl.float32)"), "kernel source", "program.py:5",
            "invalid operands of type pointer<fp32> and", "at for at.to(tl.float32) (program.py:5)",
        ),
        (HEAD + DOT, "kernel source", "program.py:5", "Got fp32 and fp16 (tl.dot)", "it compiles then, and by"),
        (refused(end="B + 1"), "kernel source", "program.py:4", "a power of 2", "tl.arange(0, B) for"),
        (refused(B=12), "host program", "program.py:4", "B is what the launch passes", ""),
        (
            HEAD + SOFTMAX, "not known", "program.py:5",
            "dimensions at index 1: 32 and 16') (tl.softmax). What is refused stands in Triton's own library",
            "",
        ),
        ("print([1][3])\n", "host program", "program.py:1", "IndexError", ""),
        ("assert 1 > 2, 'a check'\n", "not known", "", "a check", ""),
    ],
)  # fmt: skip
def test_whose_fault_it_is(tmp_path: Path, text: str, whose: str, place: str, words: str, enough: str) -> None:
    told = explained(text, tmp_path).blame
    assert (told.whose, told.place) == (whose, place), told
    assert words in told.why
    assert (enough in told.enough) if enough else not told.enough


@pytest.mark.usefixtures("one_worker")
@pytest.mark.parametrize(
    ("path", "whose", "words"),
    [
        (
            "corpus/int32_offset_overflow/repro_int32_offset_overflow.py",
            "kernel source",
            "is 2679111680, and is kept as",
        ),
        ("corpus/wrong_stride/repro_wrong_stride.py", "host program", "passed in the wrong order"),
        (
            "corpus/stale_trip_count/repro_stale_trip_count.py",
            "host program",
            "the host wrote to pinned memory (repro_stale_trip_count.py:73) before it had waited",
        ),
        ("corpus/device_assert/repro_device_assert.py", "data", "a loaded value is 5"),
        ("corpus/shared_memory_exceeded/repro_shared_memory_exceeded.py", "host program", "asks for 9 stages"),
        ("corpus/topk_one/repro_topk_one.py", "not known", "an exception of its own (AttributeError at semantic.py"),
        ("tests/programs/ptxas_error.py", "kernel source", "ptxas refuses the kernel's inline assembly"),
        ("tests/programs/dot_too_narrow.py", "not known", "what the host passes is not told"),
        ("tests/programs/static_assert_by_heuristic.py", "not known", "static assertion"),
    ],
)
def test_whose_fault_a_case_is(path: str, whose: str, words: str) -> None:
    told = explain(ROOT / path, arch=90).blame
    assert told.whose == whose and words in told.why, told


def test_of_a_launch_that_nobody_followed_it_is_not_told_that_it_was_overwritten(tmp_path: Path) -> None:
    """With what was copied at first it may go wrong as well: here what a kernel wrote decides, too."""
    late = """@triton.jit
def put(x, y, place):
    tl.store(x + tl.load(place), 0)
    tl.store(x + tl.load(y), 0)
@triton.jit
def zero(y):
    tl.store(y, 0)
x, y = torch.zeros(8, device="cuda"), torch.zeros(1, dtype=torch.int32, device="cuda")
h, d = torch.zeros(1, dtype=torch.int32, pin_memory=True), torch.zeros(1, dtype=torch.int32, device="cuda")
zero[(1,)](y)
{anew}
d.copy_(h, non_blocking=True)
put[(1,)](x, y, d)
h.fill_(1 << 24)
torch.cuda.synchronize()
"""
    told = explained(HEAD + late.replace("{anew}", ""), tmp_path).blame
    assert told.whose == "not known" and "with what is copied at first is not told" in told.why, told
    known = explained(HEAD + late.replace("{anew}", "y = torch.zeros_like(d)"), tmp_path).blame
    assert (known.whose, known.place) == ("host program", "program.py:15"), known


def test_a_pass_that_crashes_is_named_and_what_it_compiled() -> None:
    both = explain(ROOT / "corpus/warp_specialized_pointer_dot/repro_warp_specialized_pointer_dot.py", arch=90)
    told, seen = both.blame, both.evidence
    assert (told.whose, told.named) == ("compiler pass", "NVGPUWarpSpecialization") and "unsupported load" in told.why
    assert any("--triton" in each for each in told.next)
    assert seen.fault is not None and (seen.fault.phase, seen.fault.klass) == ("compile", "NVGPUWarpSpecialization")
    assert seen.kernel == "kernel" and seen.place is not None and seen.place.text.startswith("def kernel(")


RACE = (
    HEAD
    + """@triton.jit
def racing(x, y, stride):
    at = tl.arange(0, 16)
    tl.store({place} + at, {value})
x, y = torch.zeros(64, device="cuda"), torch.zeros(64, device="cuda")
racing[(2,)](x, y, 8)
torch.cuda.synchronize()
"""
)


@pytest.mark.parametrize(
    ("place", "value", "whose", "words"),
    [
        ("x", "tl.load(x + at) + tl.load(y + tl.program_id(0))", "kernel source", "the load at program.py:5:"),
        ("x", "tl.load(x + at) + 1", "not known", "The kernel never asks which program instance it is"),
        ("x + tl.program_id(0) * stride", "tl.load(y + at)", "not known", "hang on what is passed (stride)"),
    ],
)
def test_whose_race_it_is(tmp_path: Path, place: str, value: str, whose: str, words: str) -> None:
    (tmp_path / "program.py").write_text(RACE.format(place=place, value=value))
    told = explain(tmp_path / "program.py", arch=90, oracle=("static:race",)).blame
    assert (told.whose, told.place) == (whose, "program.py:5") and words in told.why, told


MODULE = """import torch, triton, triton.language as tl
@triton.jit
def copy(x, y, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + at, tl.load(x + at), mask=at < n)
@triton.jit
def refused(x, n, B: tl.constexpr):
    at = tl.arange(0, B).to(tl.float32)
    tl.store(x + at, 0.0, mask=at < n)
"""
CALLS = {
    "copy": (
        "copy[(4,)](torch.zeros(60, device='cuda'), torch.zeros(60, device='cuda'), 60, B=16)",
        5,
        "(own/triton/kernels.py:5)",
    ),
    "refused": ("refused[(1,)](torch.zeros(16, device='cuda'), 16, B=16)", 9, "(own/triton/kernels.py:8)"),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_kernel_in_a_module_is_mended_there_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    call, line, edit = CALLS[name]
    module = tmp_path / "own" / "triton"  # a name that says nothing of whose it is
    module.mkdir(parents=True)
    for path, text in (
        (module.parent / "__init__.py", ""),
        (module / "__init__.py", ""),
        (module / "kernels.py", MODULE),
    ):
        path.write_text(text)
    head = f"from __future__ import annotations\nimport torch\nfrom own.triton.kernels import {name}\n"
    told = explained(f"{head}{call}\ntorch.cuda.synchronize()\n", tmp_path).blame
    assert (told.whose, told.place) == ("kernel source", f"own/triton/kernels.py:{line}") and edit in told.enough, told
    assert (module / "kernels.py").read_text() == MODULE


@pytest.mark.usefixtures("one_worker")
def test_a_launch_that_is_refused_is_told_with_its_line() -> None:
    told = explain(ROOT / "tests/programs/out_of_shared_memory.py", arch=90).blame
    assert told.whose == "host program" and "asks for 8 stages" in told.why and "num_stages=1" in told.enough
    text = (ROOT / "tests/programs/out_of_shared_memory.py").read_text().splitlines()
    file, _, line = told.place.partition(":")
    assert file == "out_of_shared_memory.py" and "_kernel[" in text[int(line) - 1]


@pytest.mark.usefixtures("one_worker")
def test_the_card_and_the_json_end_in_the_verdict(tmp_path: Path) -> None:
    told = explained(copy(mask=""), tmp_path)
    lines = card(told.evidence, told.blame.rows()).splitlines()
    (at,) = [
        number for number, line in enumerate(lines) if line.startswith("verdict      kernel source at program.py:5")
    ]
    assert all(line.startswith((" ", "reached", "upstream", "enough")) for line in lines[at + 1 :])
    verdict = told.to_json()["verdict"]
    told_of = {"whose", "why", "by", "place", "line", "named", "reached", "upstream", "enough", "tried", "next"}
    assert set(verdict) == told_of
    assert verdict["whose"] == "kernel source" and "Triton's IR" in verdict["by"]
