"""All launches of a run in one script: in order, with the buffers they share, and the host's part between them."""

from __future__ import annotations

import re
import textwrap

from shrinkray_gpu import lift
from shrinkray_gpu.lift.launch_list import Buffers, fold_loops
from shrinkray_gpu.runner.pool import Pool
from shrinkray_gpu.runner.run import Run

HEAD = """\
import torch
import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, n, C: tl.constexpr):
    i = tl.arange(0, C)
    tl.store(y_ptr + i, tl.load(x_ptr + i, i < n) + 1, i < n)


@triton.jit
def reset(w_ptr):
    tl.store(w_ptr, 0)


"""


def listed(pool: Pool, steps: str) -> tuple[Run, str]:
    """How a program of these steps ran, and the steps of the script of its history."""
    run = pool.run(HEAD + textwrap.dedent(steps), capture="values")
    assert run.captured is not None and run.captured["history"]["trouble"] == [], run.stderr
    texts = lift.histories(run)
    assert texts, run.captured
    return run, texts[0].rpartition("\n\n\n")[2].strip()


def launched(run: Run) -> list[tuple[object, ...]]:
    """Kernels, grids and arguments but for their content."""
    return [
        (launch.kernel, launch.grid, tuple(re.sub(r" #\S+", "", arg) for arg in launch.args)) for launch in run.launches
    ]


def test_a_buffer_that_is_kept_is_one_buffer_and_another_one_dies_when_it_did(pool: Pool) -> None:
    run, steps = listed(
        pool,
        """\
        def step(n):  # what is global lives on in Triton's compiler for a while
            x = torch.zeros(n, device="cuda")
            add[(1,)](x, x, n, C=32)
            reset[(1,)](workspace)

        workspace = torch.zeros(8, dtype=torch.int32, device="cuda")
        step(32)
        step(16)
        """,
    )
    assert steps == textwrap.dedent("""\
        x = torch.zeros(32, device="cuda")
        add[(1,)](x, x, 32, C=32)
        w = torch.zeros(8, dtype=torch.int32, device="cuda")
        reset[(1,)](w)
        del x
        x = torch.zeros(16, device="cuda")
        add[(1,)](x, x, 16, C=32)
        reset[(1,)](w)
        torch.cuda.synchronize()""")
    assert launched(pool.run(lift.histories(run)[0])) == launched(run)


def test_views_of_one_storage_stay_views_of_one(pool: Pool) -> None:
    run, steps = listed(
        pool,
        """\
        x = torch.zeros(64, device="cuda")
        add[(1,)](x, x[32:], 32, C=32)
        add[(1,)](x[8:16], x, 8, C=32)
        """,
    )
    assert steps.count("torch.zeros") == 1
    assert launched(pool.run(lift.histories(run)[0])) == launched(run)


def test_the_host_waits_where_it_did_and_gives_memory_back_where_it_did(pool: Pool) -> None:
    _, steps = listed(
        pool,
        """\
        x = torch.zeros(32, device="cuda")
        add[(1,)](x, x, 32, C=32)
        torch.cuda.synchronize()
        add[(1,)](x, x, 16, C=32)
        torch.cuda.empty_cache()
        add[(1,)](x, x, 8, C=32)
        add[(1,)](x, x, 4, C=32)
        """,
    )
    between = [line for line in steps.splitlines() if line.startswith(("torch.cuda", "add"))]
    assert [line.split("(")[0] for line in between] == [
        *("add[", "torch.cuda.synchronize", "add[", "torch.cuda.empty_cache", "add[", "add[", "torch.cuda.synchronize"),
    ]


def test_what_the_host_writes_between_two_launches_is_written_again(pool: Pool) -> None:
    _, steps = listed(
        pool,
        """\
        x = torch.ones(4, device="cuda")
        add[(1,)](x, x, 4, C=32)
        x.zero_()
        add[(1,)](x, x, 4, C=32)
        """,
    )
    assert steps.splitlines()[:3] == ['x = torch.ones(4, device="cuda")', "add[(1,)](x, x, 4, C=32)", "x.zero_()"]


def test_what_is_said_beside_a_line_stays_at_its_end() -> None:
    """Within the call it would swallow the bracket."""
    saved = {"kind": "file", "path": "/v/1.pt", "dtype": "float32", "bytes": 16}
    view = {"dtype": "float32", "shape": [4], "strides": [1], "offset": 0, "storage": 0, "bytes": 16}
    tensor = {**view, "residue": 0, "device": "cuda"}
    buffers = Buffers(lambda _: saved, {"torch"})
    buffers.plan([{"kind": "tensor", **tensor}])
    assert buffers.text({"kind": "tensor", "name": "x", **tensor}) == "x" and len(buffers.new_lines()) == 1
    [line] = buffers.host_write(tensor)
    assert line == 'x.copy_(torch.load("/v/1.pt", weights_only=True).cuda())  # as recorded, 16 bytes\n'


def test_what_is_repeated_stands_in_a_loop(pool: Pool) -> None:
    run, steps = listed(
        pool,
        """\
        x = torch.zeros(32, device="cuda")
        for _ in range(50):
            add[(1,)](x, x, 32, C=32)
            reset[(1,)](x)
        """,
    )
    assert steps.endswith(
        "for _ in range(50):\n    add[(1,)](x, x, 32, C=32)\n    reset[(1,)](x)\ntorch.cuda.synchronize()"
    )
    assert launched(pool.run(lift.histories(run)[0])) == launched(run)


def test_a_compiled_kernel_that_was_kept_is_launched_as_it_was(pool: Pool) -> None:
    """Past Triton's look at the arguments: a plain launch would compile it anew for them."""
    run, steps = listed(
        pool,
        """\
        x = torch.zeros(66, device="cuda")
        compiled = add[(1,)](x, x, 32, C=64)
        compiled[(1, 1, 1)](x[1:], x, 33, 64)
        """,
    )
    assert "compiled = add[(1,)](x, x, 32, C=64)\n" in steps
    assert re.search(r"^compiled\[\(1, 1, 1\)\]\(\w+, x, 33, 64\)$", steps, re.MULTILINE), steps
    again = pool.run(lift.histories(run)[0])
    assert len(again.compiles) == len(run.compiles) == 1
    assert launched(again) == launched(run)


def test_a_kept_kernel_whose_launch_raises_is_still_launched_by_itself(pool: Pool) -> None:
    """Where launches are serialised the faulty one raises."""
    _, steps = listed(
        pool,
        """\
        def tired(metadata):
            raise RuntimeError("Triton Error [CUDA]: misaligned address")

        x = torch.zeros(66, device="cuda")
        compiled = add[(1,)](x, x, 32, C=64)
        triton.knobs.runtime.launch_enter_hook = tired
        compiled[(1, 1, 1)](x[1:], x, 33, 64)
        """,
    )
    assert re.search(r"^compiled\[\(1, 1, 1\)\]\(\w+, x, 33, 64\)$", steps, re.MULTILINE), steps


def test_a_plain_capture_keeps_no_history(pool: Pool) -> None:
    run = pool.run(HEAD + 'reset[(1,)](torch.zeros(8, device="cuda"))\n', capture="launch")
    assert lift.histories(run) == ()


def test_no_tensor_lives_longer_for_it(pool: Pool) -> None:
    source = """\
        import weakref

        def step():
            x = torch.zeros(8, device="cuda")
            reset[(1,)](x)
            return weakref.ref(x)

        if step()() is not None:
            raise SystemExit("it lives")
        """
    run = pool.run(HEAD + textwrap.dedent(source), capture="values")
    assert run.exit == 0, run.stderr


def test_folding_finds_rounds_of_any_length_and_rounds_within_rounds() -> None:
    assert fold_loops(["a\n", "b\n"]) == ["a\n", "b\n"]
    assert fold_loops(["a\n"] * 2) == ["a\n", "a\n"]
    assert fold_loops(["a\n", *["b\n", "c\n"] * 3, "d\n"]) == ["a\n", "for _ in range(3):\n    b\n    c\n", "d\n"]
    nested = ["a\n", *["b\n"] * 4] * 3
    assert fold_loops(nested) == ["for _ in range(3):\n    a\n    for _ in range(4):\n        b\n"]
