"""Triton issue 10474 on the virtual GPU: small tiles loaded by TMA in a pipelined loop."""

from __future__ import annotations

import pytest

KERNEL = """
import torch, triton, triton.language as tl

@triton.jit
def jsd(x, y, out, M, N, ROWS: tl.constexpr, COLS: tl.constexpr, STAGES: tl.constexpr):
    row = tl.program_id(0) * ROWS
    a = tl.make_tensor_descriptor(x, [M, N], [N, 1], [ROWS, COLS])
    b = tl.make_tensor_descriptor(y, [M, N], [N, 1], [ROWS, COLS])
    acc = tl.zeros([ROWS, COLS], tl.float32)
    for col in tl.range(0, N, COLS, num_stages=STAGES, flatten=False):
        acc += a.load([row, col]) * b.load([row, col])
    tl.store(out + row + tl.arange(0, ROWS), tl.sum(acc, 1))

def allocate(size, align, stream):
    return torch.empty(size, dtype=torch.int8, device="cuda")
"""
HOST = """
triton.set_allocator(allocate)
x, y = torch.randn(2, {m}, {n}, device="cuda")
out = torch.empty({m}, device="cuda")
jsd[({grid},)](x, y, out, {m}, {n}, {rows}, {cols}, {stages})
"""
SYNC = "torch.cuda.synchronize()\n"


def script(rows=1, cols=4, stages=4, m=8, n=64, grid=None, end=SYNC):
    return (
        KERNEL
        + HOST.format(rows=rows, cols=cols, stages=stages, m=m, n=n, grid=m // rows if grid is None else grid)
        + end
    )


@pytest.mark.parametrize(("rows", "cols"), [(1, 4), (1, 8), (2, 4)])
@pytest.mark.parametrize("stages", [3, 4])
def test_a_small_tile_in_a_pipelined_loop_faults_at_the_synchronise(play, rows, cols, stages):
    seen = play(script(rows, cols, stages))
    assert seen.sticky == 716
    assert seen.failure["type"] == "torch.AcceleratorError"
    assert seen.failure["text"].startswith("CUDA error: misaligned address\n")
    assert "static:tma-alignment" in seen.failure["text"].splitlines()[1]
    assert seen.failure["line"] == len(script().splitlines())
    [launch] = seen.launches
    assert launch["kernel"] == "jsd" and launch["synced"]
    assert f"{rows}x{cols}xf32" in launch["fault"] and f"{rows * cols * 4} mod 128" in launch["fault"]


@pytest.mark.parametrize(("rows", "cols", "stages"), [(1, 4, 1), (1, 4, 2), (1, 32, 4), (2, 16, 4)])
def test_whole_lines_or_one_buffer_do_not_fault(play, rows, cols, stages):
    seen = play(script(rows, cols, stages))
    assert (seen.exit, seen.sticky, seen.faults) == (0, 0, [])
    assert [launch["kernel"] for launch in seen.launches] == ["jsd"]


def test_a_script_that_never_waits_does_not_see_the_fault(play):
    seen = play(script(end=""))
    assert (seen.exit, seen.sticky) == (0, 0)
    assert seen.faults and not seen.launches[0]["synced"]


CAPTURES = "graph = torch.cuda.CUDAGraph()\nwith torch.cuda.graph(graph):\n    jsd["


@pytest.mark.parametrize(
    ("end", "sticky", "faults", "synced"),
    [
        (SYNC, 0, 0, True),
        ("graph.replay()\n" + SYNC, 716, 1, True),
        (SYNC + "graph.replay()\n", 0, 1, False),
    ],
)
def test_what_is_captured_into_a_graph_faults_when_that_is_replayed(play, end, sticky, faults, synced):
    seen = play(script(end=end).replace("jsd[(8", CAPTURES + "(8"))
    assert (seen.sticky, len(seen.faults)) == (sticky, faults), seen.error
    assert [launch["synced"] for launch in seen.launches] == [synced]


def test_an_error_before_the_wait_is_what_the_script_dies_of(play):
    seen = play(script(end="1 / 0\n" + SYNC))
    assert seen.error.startswith("ZeroDivisionError") and seen.sticky == 0


@pytest.mark.parametrize(
    "wait",
    [
        "out.sum().item()",
        "out.cpu()",
        "out.tolist()",
        "out.to('cpu')",
        "bool(out.any())",
        "float(out[0])",
        "print(out)",
        "torch.cuda.current_stream().synchronize()",
        "e = torch.cuda.Event(); e.record(); e.synchronize()",
        "torch.testing.assert_close(out, x.sum(1))",
        "torch.allclose(out, out)",
        "out[out > 0]",
        "triton.testing.do_bench(lambda: None)",
    ],
)
def test_whatever_waits_for_the_device_brings_the_fault_to_light(play, wait):
    seen = play(script(end=wait + "\n"))
    assert (seen.sticky, seen.error.partition("\n")[0]) == (
        716,
        "torch.AcceleratorError: CUDA error: misaligned address",
    )


def test_what_is_refused_before_it_waits_does_not_see_the_fault(play):
    seen = play(script(end="torch.cat((out.ravel(), out.ravel())).item()\n"))
    assert seen.error.startswith("RuntimeError: a Tensor with") and not seen.launches[0]["synced"]


def test_the_error_sticks_to_every_later_call(play):
    end = """
def fails(call):
    try:
        call()
    except RuntimeError as error:
        return "misaligned address" in str(error)

print([fails(f) for f in (
    torch.cuda.synchronize, torch.cuda.synchronize, lambda: out + 1, lambda: torch.ones(3, device="cuda"),
    lambda: jsd[(8,)](x, y, out, 8, 64, 1, 32, 1))])
"""
    seen = play(script(end=end))
    assert seen.printed.strip() == "[True, True, True, True, True]"
    assert (seen.exit, seen.sticky) == (0, 716)


@pytest.mark.parametrize("shape", [{"n": 4}, {"grid": 0}, {"m": 8, "n": 0}])
def test_a_copy_that_never_reaches_a_second_stage_does_not_fault(play, shape):
    seen = play(script(**shape))
    assert (seen.faults, seen.sticky) == ([], 0)


def test_two_trips_are_enough(play):
    assert play(script(n=8)).sticky == 716


def test_rows_that_are_no_multiple_of_16_bytes_are_another_fault(play):
    assert play(script(n=63)).faults == []


def test_without_an_allocator_the_launch_raises_as_in_triton(play):
    seen = play(script().replace("triton.set_allocator(allocate)", ""))
    assert "no allocator was set" in seen.error and seen.launches[0]["fault"] == "" and seen.sticky == 0


@pytest.mark.parametrize(
    "memory", ["None", "torch.empty(size, dtype=torch.int8)", "torch.empty(1, dtype=torch.int8, device='cuda')"]
)
def test_an_allocator_must_give_device_memory(play, memory):
    head, _, tail = script().partition("    return torch.empty")
    seen = play(head + "    return " + memory + "\n" + tail.partition("\n")[2])
    assert seen.exit == 1 and seen.sticky == 0 and not seen.faults


def test_a_good_configuration_is_checked_before_the_bad_one_runs(play):
    check = """
ref = (x * y).sum(1)
torch.testing.assert_close(out, ref)
if not torch.allclose(out, ref) or (out - ref).abs().max().item() > 1e-3 or not (out == ref).all():
    raise SystemExit("wrong")
jsd[(8,)](x, y, out, 8, 64, 1, 4, 4)
torch.cuda.synchronize()
"""
    seen = play(script(1, 32, 4, end=check))
    assert seen.sticky == 716
    assert [bool(launch["fault"]) for launch in seen.launches] == [False, True]
