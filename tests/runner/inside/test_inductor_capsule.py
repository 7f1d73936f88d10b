"""A launch of torch.compile in a capsule: read from the autotuner that made it, whatever it is launched by."""

from __future__ import annotations

import json

HEAD = """
import copy, json, torch, triton
import triton.language as tl
from torch._inductor.runtime import triton_heuristics
from torch._inductor.runtime.hints import DeviceProperties
from shrinkray_gpu.runner.inside.capsule import inductor, ring, writing
CARD = DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536,
                        max_threads_per_multi_processor=2048, max_threads_per_block=1024, warp_size=32)

@triton_heuristics.pointwise(
    size_hints={'x': 8192}, filename=__file__, min_elem_per_thread=0,
    triton_meta={'signature': {'x': '*fp32', 'out': '*fp32', 'xnumel': 'i32', 'XBLOCK': 'constexpr'}, 'device': CARD,
                 'constants': {}, 'configs': [{(0,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]]}]},
    inductor_meta={'grid_type': 'Grid1D', 'kernel_name': 'one', 'mutated_arg_names': [], 'autotune_hints': set(),
                   'force_disable_caches': True, 'assert_indirect_indexing': True},
)
@triton.jit
def one(x, out, xnumel, XBLOCK : tl.constexpr):
    at = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)
    tl.store(out + at, tl.load(x + at, at < xnumel), at < xnumel)

made = ring.LaunchRing()
run = made.watch_inductor(type(one).run, lambda entry, error: None)
x, out = torch.ones(3200, device="cuda"), torch.empty(3200, device="cuda")

def told(tuner):
    [entry] = [each for each in made.entries() if each[ring.KERNEL] is tuner][:1]
    kinds = writing.by_kind([(1, writing.of_entry(entry))])
    error = {"type": "", "text": "", "where": "exit"}
    return writing.capsule(kinds, error, mode="capture", exact=False, seen=1)["launches"][0]["record"]
"""
AS_USUAL = """
run(one, x, out, 3200, stream=0)
print(json.dumps(told(one)))
"""
FROM_A_WORKER = """
source = copy.copy(one.fn)
run(one, x, out, 3200, stream=0)
launchers = one.launchers
one.prepare_for_pickle()
one.launchers = launchers
class Loaded: fn = source
one._reload_kernel = lambda: Loaded
print(json.dumps(told(one)))
"""
STATIC = """
one.precompile()
result = one.compile_results[0]
result.kernel._cubin_path = "none"
static = triton_heuristics.StaticallyLaunchedCudaKernel(result.kernel)
static.load_kernel = lambda device: vars(static).update(n_regs=1, n_spills=0)  # the device's part
static.run = lambda *args: print("launched on", args[:3])
about = (result.config, result.compile_meta, result.inductor_meta)
one.launchers = [triton_heuristics.StaticTritonCompileResult(static, *about).make_launcher()]
run(one, x, out, 3200, stream=0)
print(json.dumps(told(one)))
"""


def expected(printed: str) -> None:
    record = json.loads(printed.splitlines()[-1])
    assert (record["trouble"], record["kernel"], record["how"]) == ("", "one", "inductor"), record
    assert record["grid"] in ([4, 1, 1], [7, 1, 1], [13, 1, 1], [25, 1, 1]), record["grid"]
    arguments = {argument["name"]: argument for argument in record["arguments"]}
    assert arguments["x"]["shape"] == [3200] and arguments["xnumel"]["text"] == "3200"
    assert int(arguments["XBLOCK"]["text"]) * record["grid"][0] >= 3200
    text = record["definitions"][-1]["text"]
    assert "tl.store(out + at" in text and "do_not_specialize_on_alignment" in text  # `out` was not said to be aligned


def test_a_launch_by_triton_s_launcher(play) -> None:
    seen = play(HEAD + AS_USUAL)
    assert seen.error == "", seen.error
    expected(seen.printed)


def test_a_kernel_that_a_worker_compiled_is_read_again(play) -> None:
    seen = play(HEAD + FROM_A_WORKER)
    assert seen.error == "", seen.error
    expected(seen.printed)


def test_a_launch_by_the_static_launcher(play) -> None:
    """It takes the machine code alone: no kernel is behind it."""
    seen = play(HEAD + STATIC)
    assert seen.error == "", seen.error
    assert "launched on (" in seen.printed
    expected(seen.printed)
