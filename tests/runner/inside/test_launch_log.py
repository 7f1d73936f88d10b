"""What is on record of compilations and launches."""

from __future__ import annotations

import json
import os

from shrinkray_gpu.runner.inside.launches import compilation
from shrinkray_gpu.runner.inside.process import compiler_output
from shrinkray_gpu.runner.run import Run

HEAD = """
import torch, triton, triton.language as tl

@triton.jit
def scale(x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)
"""


def test_a_launch_and_its_compilation(play):
    seen = play(
        HEAD + "scale[(2,)](torch.ones(100, device='cuda')[4:], 96, B=64, num_warps=2)",
        wants=frozenset({"ttir", "sass"}),
    )
    [compiled], [launch] = seen.compiles, seen.launches
    assert compiled["kernel"] == launch["kernel"] == "scale"
    assert compiled["hash"] == launch["hash"] != ""
    assert launch["grid"] == [2]
    assert launch["args"][0].startswith("f32[96] s(1,) +4 @16%128 #") and launch["args"][1:] == ["i32 96", "i32 64"]
    assert compiled["options"]["num_warps"] == 2
    assert sorted(compiled["ir"]) == ["sass", "ttir"]
    assert "@scale" in compiled["ir"]["ttir"] and "EXIT" in compiled["ir"]["sass"]


def test_casts_between_pointers_and_numbers_are_on_record(play):
    numbered = HEAD.replace("tl.load(x + i, mask=i < n)", "x.to(tl.int64)")
    made = HEAD.replace("x + i, tl", "i.to(tl.int64).to(tl.pointer_type(tl.float32)), tl")
    launch = "scale[(2,)](torch.ones(100, device='cuda'), 96, B=64)"
    found = [play(text + launch).compiles[0]["casts"] for text in (HEAD, numbered, made)]
    assert found == [[], ["ptr_to_int"], ["int_to_ptr"]]


def test_records_are_those_of_a_run(play):
    seen = play(HEAD + "scale[(2,)](torch.ones(100, device='cuda'), 96, B=64)\nscale[(1,)](torch.ones(1), 1, B=48)")
    run = Run.from_json(
        json.loads(json.dumps({"mode": "virtual", "exit": 1, "compiles": seen.compiles, "launches": seen.launches}))
    )
    assert run.launches[0].grid == (2,)
    assert [c.failure is None for c in run.compiles] == [True, False]


def test_a_failed_compilation_tells_kernel_error_and_what_was_printed(play):
    seen = play(
        HEAD
        + """
import os
@triton.jit
def odd(x):
    tl.store(x + tl.arange(0, 3), 1)
    tl.static_print("unseen")
@triton.jit
def bad_asm(x):
    y = tl.inline_asm_elementwise("no.such.instruction $0, $1;", "=r,r", [tl.load(x)], tl.int32, True, 1)
    tl.store(x, y)
for kernel in (odd, bad_asm):
    try:
        kernel[(1,)](torch.zeros(4, dtype=torch.int32, device="cuda"))
    except Exception:
        pass
"""
    )
    first, second = seen.compiles
    assert first["kernel"] == "odd" and "power of 2" in first["failure"]["text"]
    assert first["failure"]["type"] == "triton.compiler.errors.CompilationError"
    assert "at 2:" in first["failure"]["text"]  # lines count from the kernel's first
    assert second["kernel"] == "bad_asm" and "no.such.instruction" in second["failure"]["text"] + second["printed"]
    assert not seen.launches


def test_a_warmup_is_no_launch(play):
    seen = play(HEAD + "scale.warmup(torch.float32, 96, B=64, grid=(1,))")
    assert [c["kernel"] for c in seen.compiles] == ["scale"] and not seen.launches


def test_host_lines_above_a_kernel_change_neither_its_hash_nor_its_ttir_key(play):
    launch = "scale[(2,)](torch.ones(100, device='cuda'), 96, B=64)"
    first = play(HEAD + launch)
    second = play("import math\n\n" + HEAD + "pass\n" + launch)
    assert first.compiles == second.compiles and first.launches == second.launches


def test_another_kernel_text_has_another_key(play):
    launch = "scale[(2,)](torch.ones(100, device='cuda'), 96, B=64)"
    assert (
        play(HEAD + launch).compiles[0]["ttir_key"] != play(HEAD.replace("* 2", "* 3") + launch).compiles[0]["ttir_key"]
    )


def test_content_tells_launches_apart(play):
    seen = play(
        HEAD
        + """
for value in (1.0, 2.0, 1.0):
    scale[(2,)](torch.full((100,), value, device="cuda"), 96, B=64)
scale[(2,)](torch.zeros(1 << 20, device="cuda"), 96, B=64)
"""
    )
    one, two, again, large = (launch["args"][0] for launch in seen.launches)
    assert one == again != two and large.startswith("f32[1048576]")


def test_a_device_printing_kernel_launched_from_a_compiled_handle_is_seen(play):
    seen = play(
        HEAD
        + """
x = torch.ones(100, device="cuda")
kernel = scale[(1,)](x, 96, B=64)
kernel[(3, 1, 1)](x, 96, 64)
"""
    )
    assert [launch["grid"] for launch in seen.launches] == [[1], [3, 1, 1]]


def test_gluon_kernels_are_seen(play):
    seen = play("""
import torch, triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
@gluon.jit
def one(x):
    gl.store(x, 1.0)
one[(1,)](torch.zeros(4, device="cuda"))
""")
    assert (seen.error, [launch["kernel"] for launch in seen.launches]) == ("", ["one"])


def test_locations_are_stripped_at_any_depth():
    text = (
        '#loc = loc("a.py":1:0)\n'
        'tt.func @k(%x: i32 loc("x"(#loc))) {\n'
        "  %0 = arith.addi %x, %x : i32 loc(callsite(#loc1 at #loc2))\n"
        '  tt.return loc("f"(callsite("b (c).py":2:3 at #loc)))\n'
        "} loc(#loc)\n#loc1 = loc(unknown)\n"
    )
    assert (
        compilation.without_locations(text) == "tt.func @k(%x: i32) {\n  %0 = arith.addi %x, %x : i32\n  tt.return\n}\n"
    )


def test_what_is_printed_meanwhile_is_heard_and_still_arrives(capfd):
    os.write(2, b"before ")
    said, inner = compiler_output.CapturedOutput(), compiler_output.CapturedOutput()
    with said:
        os.write(2, b"early ")
        compiler_output.begin()
        compiler_output.begin()
        os.write(2, b"meanwhile ")
        with inner:
            compiler_output.begin()
            os.write(1, b"inside ")
        os.write(1, b"last ")
    os.write(2, b"after")
    assert (said.text, inner.text) == ("inside last meanwhile ", "inside ")
    assert capfd.readouterr() == ("inside last ", "before early meanwhile after")


def test_nothing_is_turned_aside_where_nothing_is_compiled():
    before = os.readlink("/proc/self/fd/2")
    with compiler_output.CapturedOutput() as said:
        assert os.readlink("/proc/self/fd/2") == before
    compiler_output.begin()
    assert os.readlink("/proc/self/fd/2") == before and said.text == ""


def test_renaming_a_variable_keeps_the_ttir_key(play):
    launch = "scale[(2,)](torch.ones(100, device='cuda'), 96, B=64)"
    renamed = HEAD.replace("(x, n,", "(values, count,").replace("x + i", "values + i").replace("< n", "< count")
    first, second = play(HEAD + launch), play(renamed + launch)
    assert first.compiles[0]["ttir_key"] == second.compiles[0]["ttir_key"]
    assert first.compiles[0]["hash"] != second.compiles[0]["hash"]


def test_a_launch_that_is_refused_says_why_whoever_catches_that(play):
    seen = play(
        "import torch, triton, triton.language as tl\n"
        "@triton.jit\ndef k(x):\n    tl.store(x, 1.0)\n"
        "for device in ('cpu', 'cuda'):\n"
        "    try:\n        k[(1,)](torch.zeros(1, device=device))\n"
        "    except ValueError:\n        print('skipped')\n"
    )
    assert seen.printed == "skipped\n"
    assert [launch["failure"] for launch in seen.launches] == [
        "ValueError: Pointer argument cannot be accessed from Triton (cpu tensor?)",
        "",
    ]
