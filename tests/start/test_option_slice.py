"""What the host chooses for a launch that is out of resources: what stays of the program, and when that is asked."""

from __future__ import annotations

import pytest

from shrinkray_gpu.runner.run import Failure, Launch, Run
from shrinkray_gpu.start.argument_slice import HEAD, MARK, PARTS
from shrinkray_gpu.start.option_slice import with_options_kept

PROGRAM = """\
TUNED = {64: (32, 4), 128: (64, 2)}

def tile_for(width):
    return TUNED.get(width * 2, (256, 5))

@triton.jit
def kernel(x, width, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    tl.store(x, 0.0)

def run(x, unused):
    width = x.shape[1]
    rows, stages = tile_for(width)
    kernel[(1,)](x, width, ROWS=rows, WIDTH=width, num_stages=stages)

run(torch.zeros(4, 64), 3)
"""
TUNER = """\
def fitting(configs, named, **kwargs):
    found = [each for each in configs if each.num_stages * 2 < 8]
    return found[:1]

unused = 3

CONFIGS = [triton.Config({"ROWS": 64}, num_stages=each) for each in (2, 3)]

@triton.autotune(CONFIGS, key=[], prune_configs_by={"p": fitting})
@triton.jit
def kernel(x, ROWS: tl.constexpr):
    tl.store(x, 0.0)

kernel[(1,)](torch.zeros(4))
"""
WORDS = "out of resource: shared memory, Required: 1, Hardware limit: 0"


def short(kind: str = "triton.runtime.errors.OutOfResources", words: str = WORDS) -> Run:
    failure = Failure(kind, words, traceback=f"{kind}: {words}")
    launch = Launch("kernel", "", (1,), failure=f"{kind}: {words}")
    return Run("virtual", 1, failure=failure, launches=(launch,), virtual=True)


def kept(marked: str, mark: str) -> list[str]:
    lines = [line.strip() for line in marked.splitlines()]
    return [each.removesuffix(mark) for each in lines if each.endswith(mark)]


def test_what_the_constants_and_options_hang_on_stays() -> None:
    marked = with_options_kept(PROGRAM, short())
    compile(marked, "marked", "exec")
    assert kept(marked, HEAD) == ["def kernel(x, width, ROWS: tl.constexpr, WIDTH: tl.constexpr):"]
    assert kept(marked, MARK) == [
        "TUNED = {64: (32, 4), 128: (64, 2)}", "return TUNED.get(width * 2, (256, 5))", "width = x.shape[1]",
        "rows, stages = tile_for(width)", "run(torch.zeros(4, 64), 3)",
    ]  # fmt: skip
    assert (
        f"num_stages=stages){PARTS}rows ;; stages\n" in marked
    )  # of `rows, stages = ...` nothing else would keep them


def test_so_does_what_an_autotuner_is_told() -> None:
    marked = with_options_kept(TUNER, short())
    assert kept(marked, HEAD) == ["def kernel(x, ROWS: tl.constexpr):"]
    assert kept(marked, MARK) == [
        "found = [each for each in configs if each.num_stages * 2 < 8]", "return found[:1]",
        'CONFIGS = [triton.Config({"ROWS": 64}, num_stages=each) for each in (2, 3)]',
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("program", "run"),
    [
        (PROGRAM.replace("tile_for(width)\n    kernel", "256, 5\n    kernel"), short()),
        (PROGRAM.replace("def kernel", "def other"), short()),
        (PROGRAM, short("RuntimeError", "no")),
        (PROGRAM, Run("virtual", 0, virtual=True)),
    ],
)
def test_of_anything_else_nothing_is_known(program: str, run: Run) -> None:
    assert with_options_kept(program, run) == ""
