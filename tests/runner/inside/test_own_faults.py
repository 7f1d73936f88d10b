"""A launch that is undefined behaviour of its own shows no static fault: a device would see another one, or none."""

from __future__ import annotations

import pytest

from shrinkray_gpu.runner.inside.evaluator.causes import evaluate
from shrinkray_gpu.runner.inside.evaluator.launch import LaunchedKernel
from shrinkray_gpu.runner.inside.evaluator.memory import Buffer, Described
from shrinkray_gpu.runner.inside.evaluator.numbers import Unfollowed
from shrinkray_gpu.runner.inside.static.cause import DESCRIPTOR, Evaluation
from tests.runner.inside.test_flagship import script

SMALL = """
import torch, triton, triton.language as tl
@triton.jit
def tiny(x, out{more}):
    d = tl.make_tensor_descriptor({base}, [{shape}], [{strides}], [1, 4])
    for i in {loop}:
        {body}
    {end}
triton.set_allocator(lambda size, align, stream: {scratch})
x, out = {x}, {out}
tiny[({grid},)](x, out{values})
torch.cuda.synchronize()
"""
PLAIN = {
    "base": "x",
    "shape": "1, 8",
    "strides": "8, 1",
    "loop": "tl.range(0, 2, num_stages=4)",
    "body": "tl.store(out, d.load([0, i * 4]).sum())",
    "end": "pass",
    "scratch": "torch.empty(size, dtype=torch.int8, device='cuda')",
    "x": "torch.ones(8, device='cuda')",
    "out": "torch.ones(1, device='cuda')",
    "grid": 1,
    "more": "",
    "values": "",
}


def small(**changes):
    return SMALL.format(**{**PLAIN, **changes})


FAULTY = {
    "as it is": {},
    "one element in the tensor, the rest clamped": {"shape": "1, 1", "x": "torch.ones(1, device='cuda')"},
    "a masked store to a tensor that is smaller than the block": {
        "end": "tl.store(out + tl.arange(0, 8), 1.0, mask=tl.arange(0, 8) < 1)"
    },
    "a mask of two dimensions": {
        "end": "i = tl.arange(0, 4)[:, None]; j = tl.arange(0, 8)[None, :]\n"
        "    tl.store(out + i * 3 + j, 1.0, mask=(i < 2) & (3 > j))",
        "out": "torch.ones(6, device='cuda')",
    },
    "an empty tensor that is not used": {
        "more": ", unused",
        "values": ", torch.ones(0, device='cuda')",
        "end": "tl.store(unused, 1.0, mask=tl.program_id(0) > 0)",
    },
    "a larger grid, with room": {
        "grid": 3,
        "end": "tl.store(out + tl.program_id(0), 1.0)",
        "out": "torch.ones(3).cuda()",
    },
    "a view that ends with its storage": {"x": "torch.ones(12, device='cuda')[4:]"},
    "a base moved by 16 bytes": {"base": "x + 4", "x": "torch.ones(12, device='cuda')"},
    "a base off 16 bytes": {"x": "torch.ones(16, device='cuda')[1:]"},
    "a base moved off 16 bytes": {"base": "x + 1", "x": "torch.ones(16, device='cuda')"},
    "scratch memory in a larger storage": {"scratch": "torch.empty(4096, dtype=torch.int8, device='cuda')[128:]"},
    "a store whose place depends on data": {"end": "tl.store(out + tl.load(out).to(tl.int32), 1.0)"},
}


@pytest.mark.parametrize("name", FAULTY)
def test_a_launch_that_stays_in_its_memory_faults(play, name):
    seen = play(small(**FAULTY[name]))
    assert (seen.sticky, len(seen.faults)) == (716, 1), seen.error or seen.printed


OWN = {
    "an empty input": {"x": "torch.randn(0, device='cuda')"},
    "an empty input that is not on the GPU": {"x": "torch.randn(0)"},
    "an empty output": {"out": "torch.randn(0, device='cuda')"},
    "extents larger than the storage": {"shape": "2, 8"},
    "a stride larger than the storage": {"shape": "2, 4", "strides": "8, 1", "x": "torch.ones(8, device='cuda')"},
    "a view whose storage ends before": {"x": "torch.ones(12, device='cuda')[8:]"},
    "a base that is moved too far": {"base": "x + 4"},
    "rows off 16 bytes": {"shape": "2, 4", "strides": "6, 1", "x": "torch.ones(16, device='cuda')"},
    "a store past the end": {"end": "tl.store(out + 1, 1.0)"},
    "a store before the start": {"end": "tl.store(out - 1, 1.0)"},
    "a block past the end": {"end": "tl.store(out + tl.arange(0, 2), 1.0)"},
    "a block whose mask lets too much through": {
        "end": "tl.store(out + tl.arange(0, 8), 1.0, mask=tl.arange(0, 8) < 2)"
    },
    "the last program, past the end": {"grid": 3, "end": "tl.store(out + tl.program_id(0), 1.0)"},
    "the last trip of many, past the end": {
        "loop": "tl.range(0, 200, num_stages=4)",
        "body": "tl.store(out + i, d.load([0, 0]).sum())",
        "out": "torch.ones(199, device='cuda')",
    },
    "a block of two dimensions": {
        "end": "tl.store(out + tl.arange(0, 2)[:, None] * 4 + tl.arange(0, 4)[None, :], 1.0)",
        "out": "torch.ones(7, device='cuda')",
    },
    "an atomic past the end": {"end": "tl.atomic_add(out + 1, 1.0)"},
    "an empty tensor under a mask that nobody knows": {
        "more": ", e",
        "values": ", torch.ones(0, device='cuda')",
        "end": "tl.store(e, 1.0, mask=tl.load(out) > 0)",
    },
}


@pytest.mark.parametrize("name", OWN)
def test_a_launch_that_leaves_its_memory_shows_no_fault(play, name):
    seen = play(small(**OWN[name]))
    assert (seen.exit, seen.sticky, seen.faults) == (0, 0, []), seen.error
    assert len(seen.launches) == 1 and seen.undecided, seen.undecided


def test_a_null_pointer_in_an_earlier_launch_is_the_fault_that_a_device_sees(play):
    before = "jsd[(1,)](x, y, torch.empty(0, device='cuda'), 8, 64, 1, 32, 1)\nout = torch.empty(8, device='cuda')\n"
    head, at, tail = script().rpartition("jsd[")
    assert play(head + at + tail).sticky == 716
    seen = play(head + before + at + tail)
    assert (seen.sticky, seen.faults, len(seen.launches)) == (0, [], 2)
    assert "holds no element" in seen.undecided[-1]


def test_a_descriptor_of_the_host_must_lie_in_its_storage(play):
    source = """
import torch, triton, triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor
@triton.jit
def tiny(d, out):
    for i in tl.range(0, 4, num_stages=4):
        tl.store(out, d.load([0, i * 4]).sum())
x, out = torch.ones(%d, device="cuda"), torch.ones(1, device="cuda")
tiny[(1,)](TensorDescriptor(x, [1, 16], [16, 1], [1, 4]), out)
torch.cuda.synchronize()
"""
    assert play(source % 16).sticky == 716
    seen = play(source % 8)
    assert seen.sticky == 0 and "reaches byte 60 of a tensor of 32" in seen.undecided[0]


NO_MEMORY = {
    "zero": "0",
    "an address": "torch.empty(size, dtype=torch.int8, device='cuda').data_ptr()",
    "True": "True",
    "memory of the host": "torch.empty(size, dtype=torch.int8)",
    "an empty tensor": "torch.empty(0, dtype=torch.int8, device='cuda')",
    "the end of a tensor": "torch.empty(size, dtype=torch.int8, device='cuda')[1:]",
    "a view off its alignment": "torch.empty(size + 64, dtype=torch.int8, device='cuda')[64:]",
    "words": "'memory'",
    "a function": "torch.empty",
}


@pytest.mark.parametrize("name", NO_MEMORY)
def test_an_allocator_that_gives_no_device_memory_ends_the_launch(play, name):
    seen = play(small(scratch=NO_MEMORY[name]))
    assert (seen.exit, seen.sticky, seen.faults) == (1, 0, []), seen.printed
    assert "misaligned address" not in seen.error


NEVER = {
    "a loop without trips": {"loop": "tl.range(0, 0, num_stages=4)"},
    "a loop without trips, of one bound": {"loop": "tl.range(0)"},
    "one trip, of stage 0": {"loop": "tl.range(0, 1, num_stages=4)"},
    "an argument of one trip": {
        "loop": "tl.range(0, n, num_stages=4)",
        "more": ", n",
        "values": ", 1",
    },
    "a negative bound": {"loop": "tl.range(0, n, num_stages=4)", "more": ", n", "values": ", -7"},
    "no programs": {"grid": 0},
    "a step of 0, but no way to go": {"loop": "tl.range(n, 0, n, num_stages=4)", "more": ", n", "values": ", 0"},
}


@pytest.mark.parametrize("name", NEVER)
def test_a_copy_that_is_never_made_is_no_fault(play, name):
    seen = play(small(**NEVER[name]))
    assert (seen.exit, seen.sticky, seen.faults) == (0, 0, []), seen.error


ENDLESS = {
    "a constant step of 0": {"loop": "tl.range(0, 1, 0, num_stages=4)"},
    "an argument of 0": {"loop": "tl.range(0, 1, n, num_stages=4)", "more": ", n", "values": ", 0"},
    "an argument below 0": {"loop": "tl.range(0, 2, n, num_stages=4)", "more": ", n", "values": ", -1"},
}


@pytest.mark.parametrize("name", ENDLESS)
def test_a_loop_that_never_ends_is_no_fault(play, name):
    """The pipeliner puts copies to all stages before the loop, as if it had that many trips."""
    seen = play(small(**ENDLESS[name]))
    assert (seen.exit, seen.sticky, seen.faults) == (0, 0, []), seen.error
    assert len(seen.undecided) == 1 and "never ends" in seen.undecided[0]


@pytest.mark.parametrize(
    "loop", ["tl.range(2, 0, -1, num_stages=4)", "tl.range(0, 2, n, num_stages=4)", "tl.range(1, 7, n, num_stages=4)"]
)
def test_a_step_that_gets_on_is_one_like_any_other(play, loop):
    assert play(small(loop=loop, more=", n", values=", 1")).sticky == 716


@pytest.mark.parametrize("loop", ["for _ in range(0):\n    ", "if not x.is_cuda:\n    ", "while False:\n    "])
def test_a_launch_that_the_host_never_makes_is_no_fault(play, loop):
    seen = play(small().replace("tiny[", loop + "tiny["))
    assert (seen.exit, seen.sticky, seen.launches) == (0, 0, [])


TTIR = """
module {
  tt.func public @k(%p: !tt.ptr<f32>, %n: i32) attributes {noinline = false} {
    %i = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %s = tt.splat %n : i32 -> tensor<64xi32>
    %m = arith.cmpi PREDICATE : tensor<64xi32>
    %b = tt.splat %p : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %q = tt.addptr %b, %i : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    %x = tt.load %q, %m : tensor<64x!tt.ptr<f32>>
    tt.return
  }
}
"""


@pytest.mark.parametrize(
    ("predicate", "n", "count"),
    [
        ("slt, %i, %s", 10, 10),
        ("sle, %i, %s", 10, 11),
        ("sgt, %s, %i", 10, 10),
        ("sge, %s, %i", 10, 11),
        ("ult, %i, %s", 10, 10),
        ("eq, %i, %s", 10, 11),
        ("sge, %i, %s", 60, 64),
        ("slt, %s, %i", 63, 0),
        ("slt, %i, %s", 1000, 64),
        ("slt, %i, %s", -1, 0),
    ],
)
def test_a_mask_lets_through_what_it_compares(predicate, n, count):
    text = TTIR.replace("PREDICATE", predicate)
    sizes = [size for size in (max(count, 1), count - 1) if size > 0]
    seen = [evaluated(text, Buffer(0, 0, 4 * size), n) for size in sizes]
    assert not any(each.unknown for each in seen)
    assert [bool(each.own_fault) for each in seen] == ([False, True][: len(sizes)] if count else [False])


def evaluated(text, *arguments):
    return evaluate(LaunchedKernel(text, text, (1, 1, 1), arguments))


def test_what_is_not_known_is_not_held_against_a_launch():
    text = TTIR.replace("PREDICATE", "slt, %i, %s")
    for arguments in ((Buffer(0, 0, 4), None), (None, 10)):
        seen = evaluated(text, *arguments)
        assert seen.unknown and not seen.own_fault
    seen = evaluated(text, Buffer(0, 0, 0), None)
    assert not seen.causes and seen.own_fault.startswith("tt.load of a null pointer: ")


DESCRIBED = """
module {
  tt.func public @k(%d: !tt.tensordesc<tensor<1x4xf32>>) attributes {noinline = false} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %x = tt.descriptor_load %d[%c0, %c0] : !tt.tensordesc<tensor<1x4xf32>> -> tensor<1x4xf32>
    tt.return
  }
}
"""


def test_a_descriptor_of_unknown_extents_is_let_be():
    base = Buffer(0, 0, 16)
    seen = evaluated(DESCRIBED, Described(base, (Unfollowed("nobody knows"), 4), (4, 1), 4))
    assert seen.unknown and not seen.own_fault
    assert evaluated(DESCRIBED, Described(base, (1, 4), (4, 1), 4)) == Evaluation()
    beyond = Described(base, (2, 4), (4, 1), 4)
    seen = evaluated(DESCRIBED, beyond)  # of which the copy stays inside
    assert not seen.causes and not seen.unknown and "more than its tensor holds" in seen.own_fault
    [found] = evaluated(DESCRIBED.replace("[%c0,", "[%c1,"), beyond).causes
    assert found.kind == DESCRIPTOR and found.access == "load"


LOOP = """
module {
  tt.func public @k(%n: i32, %low: i32) attributes {noinline = false} {
    %c0 = arith.constant 0 : i32
    %c9 = arith.constant 9 : i32
    scf.if %go {
    scf.for %i = %low to %c9 step %n : i32 {
      scf.yield
    }
    }
    tt.return
  }
}
"""


def test_a_loop_that_never_ends_is_told_from_one_that_may_not():
    inner = LOOP.replace("    scf.if %go {\n", "").replace("    }\n    }\n", "    }\n")
    assert evaluated(inner, 1, 0) == Evaluation()
    for step in (0, -2):
        seen = evaluated(inner, step, 0)
        assert seen.own_fault == seen.unknown == f"a loop of step {step} never ends"
        assert evaluated(inner, step, 9) == Evaluation()
        assert evaluated(inner.replace("scf.for", "scf.for unsigned"), -2, 0).own_fault == ""
        for perhaps in (evaluated(inner, step, None), evaluated(LOOP, step, 0)):
            assert not perhaps.own_fault and not perhaps.causes
