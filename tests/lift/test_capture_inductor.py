"""Launches of torch.compile's generated code: Inductor's own autotuner compiles and launches, capture writes down.

The scripts here have the shape of what Inductor generates (TORCH_COMPILE_DEBUG keeps it): real CachingAutotuner
objects, which run on the virtual GPU. `torch.compile` itself: tests/e2e/test_compiled.py.
"""

from __future__ import annotations

import importlib.util
import re

import pytest

from shrinkray_gpu import lift
from shrinkray_gpu.runner.pool import Pool
from shrinkray_gpu.runner.run import Launch, Run
from tests.lift.conftest import Lift

if importlib.util.find_spec("torch") is None:  # the tool's own tests run without it, too
    pytest.skip("needs torch", allow_module_level=True)

HEAD = """
import torch, triton
import triton.language as tl
from torch._inductor.async_compile import AsyncCompile
from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math
from torch._inductor.runtime.hints import DeviceProperties
CARD = DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536,
                        max_threads_per_multi_processor=2048, max_threads_per_block=1024, warp_size=32)
"""


def pointwise(signature: str, divisible: str, body: str, parameters: str, *, constants: str = "{}") -> str:
    """An element-wise kernel of Inductor's, with the specialisation that it was given."""
    return f"""
@triton_heuristics.pointwise(
    size_hints={{'x': 8192}}, filename=__file__, min_elem_per_thread=0,
    triton_meta={{'signature': {signature}, 'device': CARD, 'constants': {constants},
                  'configs': [{{{divisible}}}]}},
    inductor_meta={{'grid_type': 'Grid1D', 'kernel_name': 'triton_poi_fused_add_0', 'mutated_arg_names': [],
                   'autotune_hints': set(), 'force_disable_caches': True, 'assert_indirect_indexing': True}},
)
@triton.jit
def triton_poi_fused_add_0({parameters}, XBLOCK : tl.constexpr):
    xindex = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    x0 = xindex
{body}
"""


PLAIN = pointwise(
    "{'in_ptr0': '*fp32', 'out_ptr0': '*fp32', 'xnumel': 'i32', 'XBLOCK': 'constexpr'}",
    "(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]]",
    """
    tmp0 = tl.load(in_ptr0 + (x0), xmask)
    tmp1 = libdevice.exp(tmp0) + tl_math.abs(tmp0)
    tmp2 = triton_helpers.maximum(tl.full([1], 0, tl.int32), tmp1)
    tl.store(out_ptr0 + (x0), tmp2, xmask)
""",
    "in_ptr0, out_ptr0, xnumel",
)
RUN = """
x = torch.ones(3200, device="cuda")
triton_poi_fused_add_0.run(x, torch.empty_like(x), 3200, stream=0)
torch.cuda.synchronize()
"""


def same_kernel(found: Run, again: Run) -> None:
    """The last launch of the original is the only one of what was lifted; equal down to the TTIR."""
    assert found.failure is None, found.stderr
    assert again.failure is None, again.stderr
    [launch] = again.launches
    assert launch.grid + (1,) * (3 - len(launch.grid)) == found.launches[-1].grid
    assert compiled(again, launch) == compiled(found, found.launches[-1])


def compiled(run: Run, launch: Launch) -> tuple[object, ...]:
    made = next(c for c in run.compiles if c.hash == launch.hash)
    return made.ttir_key, made.options["num_warps"], made.options["num_stages"]


def test_the_generated_code_stands_alone(lifted: Lift) -> None:
    found = lifted(HEAD + PLAIN + RUN)
    same_kernel(found.original, found.again)
    assert "inductor" not in found.text and "heuristics" not in found.text
    assert "from triton.language.extra import libdevice" in found.text and "def maximum(a, b):" in found.text
    assert re.search(
        r"triton_poi_fused_add_0\[\(\d+,\)\]\(in_ptr0, out_ptr0, 3200, XBLOCK=\d+, num_stages=1\)", found.text
    )
    # Inductor compiles everything with `debug`, for checks that this kernel does not have.
    assert "debug" not in found.text


def test_the_text_in_a_string_is_captured_alike(lifted: Lift) -> None:
    body = PLAIN.replace("CARD", HEAD.partition("CARD = ")[2].strip())
    imports = HEAD.partition("CARD =")[0]
    script = (
        f"{HEAD}triton_poi_fused_add_0 = AsyncCompile().triton('triton_poi_fused_add_0', {imports + body!r})\n{RUN}"
    )
    found = lifted(script)
    same_kernel(found.original, found.again)
    assert "AsyncCompile" not in found.text and "@triton.jit\ndef triton_poi_fused_add_0" in found.text


def test_trials_of_its_autotuner_are_marked(pool: Pool) -> None:
    run = pool.run(HEAD + PLAIN + RUN, capture="launch")
    assert run.captured is not None
    assert [launch["how"] for launch in run.captured["launches"]] == ["inductor"] * len(run.captured["launches"])
    assert [launch["tuning"] for launch in run.captured["launches"]] == [False, True]


def test_checks_of_indices_stay_on(lifted: Lift) -> None:
    checked = PLAIN.replace("    tl.store", '    tl.device_assert(tmp0 < 9, "index out of bounds")\n    tl.store')
    found = lifted(HEAD + checked + RUN)
    same_kernel(found.original, found.again)
    assert "debug=True" in found.text and "sanitize_overflow=False" in found.text
    asserts = [c.ttir_key for c in found.again.compiles]
    assert asserts and asserts[-1] in {c.ttir_key for c in found.original.compiles}


def test_another_specialisation_than_tritons_own_is_kept(lifted: Lift) -> None:
    """A 64-bit integer, a 1 that is no constant, a pointer and a number not known to be divisible by 16, a double."""
    kernel = pointwise(
        "{'in_ptr0': '*fp32', 'out_ptr0': '*fp32', 'ks0': 'i64', 'ks1': 'i32', 'ks2': 'fp64', 'xnumel': 'i32',"
        " 'XBLOCK': 'constexpr'}",
        "(1,): [['tt.divisibility', 16]]",
        """
    tmp0 = tl.load(in_ptr0 + (x0*ks0*ks1), xmask)
    tl.store(out_ptr0 + (x0), tmp0 * ks2, xmask)
""",
        "in_ptr0, out_ptr0, ks0, ks1, ks2, xnumel",
    )
    found = lifted(
        HEAD
        + kernel
        + """
x = torch.ones(3200, device="cuda")
triton_poi_fused_add_0.run(x, torch.empty_like(x), 48, 1, 0.5, 3200, stream=0)
torch.cuda.synchronize()
"""
    )
    same_kernel(found.original, found.again)
    assert "ks0: tl.int64, ks1, ks2: tl.float64" in found.text
    assert "do_not_specialize=['ks1'], do_not_specialize_on_alignment=['in_ptr0', 'ks0', 'xnumel']" in found.text


def test_a_lost_alignment_is_said(pool: Pool) -> None:
    """Inductor compiled for an address divisible by 16 and got another: a plain launch would be compiled for that."""
    shifted = RUN.replace(".run(x,", ".run(torch.ones(3201, device='cuda')[1:],")
    run = pool.run(HEAD + PLAIN + shifted, capture="launch")
    assert run.captured is not None
    [note] = run.captured["launches"][0]["notes"]
    assert "in_ptr0 was compiled as divisible by 16" in note


USER = """
@triton_heuristics.user_autotune(
    configs=[{'BLOCK': 64, 'num_warps': 2, 'num_stages': 5}],
    inductor_meta={'grid_type': 'FixedGrid', 'fixed_grid': ['_grid_0', '_grid_1', '_grid_2'],
                   'extra_launcher_args': ['_grid_0', '_grid_1', '_grid_2'], 'kernel_name': 'mine_0'},
    triton_meta={'signature': {'x_ptr': '*fp32', 'n': 'i32', 'bias': 'constexpr', 'BLOCK': 'constexpr',
                               'mode': 'constexpr'},
                 'device': CARD, 'constants': {'bias': None, 'mode': 'add'},
                 'configs': [{(0,): [['tt.divisibility', 16]]}]},
    filename=__file__, custom_kernel=True,
)
@triton.jit
def mine(x_ptr, n, bias, BLOCK: tl.constexpr, mode: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if bias is None and mode == "add":
        tl.store(x_ptr + i, tl.load(x_ptr + i) + 1, mask=i < n)

mine.run(torch.ones(300, device="cuda"), 300, None, 5, 1, 1, stream=0)
torch.cuda.synchronize()
"""


def test_a_users_own_kernel_keeps_its_name(lifted: Lift) -> None:
    found = lifted(HEAD + USER)
    same_kernel(found.original, found.again)
    assert "mine[(5,)](x, 300, None, BLOCK=64, mode='add', num_stages=5, num_warps=2)" in found.text or (
        "mine[(5,)](x, 300, None, BLOCK=64, mode='add', num_warps=2, num_stages=5)" in found.text
    )


def test_a_kernel_that_does_not_compile_is_lifted_with_made_up_arguments(lifted: Lift) -> None:
    """Inductor compiles before it has any arguments."""
    broken = PLAIN.replace("tl.full([1], 0, tl.int32)", 'tl.static_assert(XBLOCK < 2, "too wide")')
    found = lifted(HEAD + broken + RUN)
    assert found.original.failure is not None and found.again.failure is not None
    assert "too wide" in found.original.failure.text and "too wide" in found.again.failure.text
    assert found.again.failure.type == "triton.compiler.errors.CompileTimeAssertionFailure"


def test_the_settings_for_capture_are_gone_afterwards(pool: Pool) -> None:
    names = ("TORCHINDUCTOR_COMPILE_THREADS", "TORCHINDUCTOR_FORCE_DISABLE_CACHES", "SHRINKRAY_CAPTURE", "PYTHONPATH")
    show = f"import os\nprint(*[name for name in {names!r} if name in os.environ])\n"
    captured, plain = pool.run(show, capture="launch"), pool.run(show)
    assert set(captured.stdout.split()) == set(names)
    # The virtual GPU is for child processes in any run.
    assert set(plain.stdout.split()) <= {"SHRINKRAY_CAPTURE", "PYTHONPATH"} and lift.candidates(plain) == ()
