"""The same text with one knob turned: the kernel is another one, the count tells whether there was anything to turn,
and nothing is left turned."""

from __future__ import annotations

import contextlib
import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy
import pytest

from shrinkray_gpu.runner.inside.knobs import passes
from shrinkray_gpu.runner.inside.launches import kernelkey
from shrinkray_gpu.runner.inside.launches.launch_log import INTERPRETED
from shrinkray_gpu.runner.knob_settings import KnobSetting, parse_setting
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.run import Run

CORPUS = Path(__file__).parents[3] / "corpus/tma_misaligned/repro_tma_misaligned.py"
HEAD = "import torch\nimport triton\nimport triton.language as tl\n"


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    made = make(tmp_path_factory.mktemp("knobs"))
    yield made
    made.close()


def make(folder: Path, *, arch: int | None = 90, mode: str = "virtual", **setup: object) -> Pool:
    environment = {**os.environ, "TRITON_CACHE_DIR": str(folder / "cache")}
    options: dict[str, object] = {"imports": ("torch", "triton"), "own": (), "scratch": str(folder), **setup}
    options = {"python": sys.executable, "environment": environment, "arch": arch, **options}
    script = Script(folder / "script.py", cwd=folder, wants=("ttgir",))
    return Pool(script, Setup(**options), mode=mode, jobs=1, seconds=120)  # type: ignore[arg-type]


def both(pool: Pool, source: str, way: str) -> tuple[Run, Run]:
    """The run as it is, and in the way."""
    runs = pool.run(source), pool.run(source, way=parse_setting(way))
    assert [run.trouble for run in runs] == ["", ""]
    return runs


def faults(run: Run) -> list[bool]:
    return [bool(launch.fault) for launch in run.launches]


def stages(run: Run) -> list[object]:
    return [compile.options["num_stages"] for compile in run.compiles]


# A pipelined loop over small tiles: the fault of Triton issue 10474, which one stage avoids.

FLAGSHIP = (
    HEAD
    + """
{before}
@triton.jit
def kernel(x, out, {parameter}):
    tile = tl.make_tensor_descriptor(x, shape=[1, 64], strides=[64, 1], block_shape=[1, 4])
    total = tl.zeros([1, 4], tl.float32)
    for start in tl.range(0, 64, 4, num_stages={value}):
        total += tile.load([0, start])
    tl.store(out, tl.sum(total))

triton.set_allocator(lambda size, align, stream: torch.empty(size, device="cuda"))
x, out = torch.zeros(64, device="cuda"), torch.zeros(1, device="cuda")
kernel[(1,)](x, out, {argument})
torch.cuda.synchronize()
"""
)


def flagship(before: str = "", parameter: str = "n", value: str = "4", argument: str = "64") -> str:
    return FLAGSHIP.format(before=before, parameter=parameter, value=value, argument=argument)


def test_the_corpus_case_passes_with_one_stage(pool):
    plain, turned = both(pool, CORPUS.read_text(), "num_stages=1")
    assert (faults(plain), plain.driver_error, plain.turned) == ([True], 716, {})
    assert (faults(turned), turned.driver_error, turned.exit, turned.turned) == ([False], 0, 0, {"num_stages": 1})
    assert plain.compiles[0].hash != turned.compiles[0].hash


PRODUCT = (
    HEAD
    + """
@triton.jit
def kernel(x, slots, width):
    at = tl.load(slots) * width
    tl.store(x + at + tl.arange(0, 4) * 3, {value})

kernel[(1,)](torch.zeros(64, device="cuda"), torch.zeros(1, dtype=torch.int32, device="cuda"), 7)
"""
)


@pytest.mark.parametrize(
    "value", ["0.0", "0.5 * tl.load(x)", "2 * tl.load(slots)", "(at * 2 < width * 3).to(tl.float32)"]
)
def test_products_of_integers_have_64_bits(pool, value):
    plain, turned = both(pool, PRODUCT.replace("{value}", value), "int64")
    widths = [
        set(re.findall(r"arith\.muli .*: (?:tensor<4x)?(i\d+)", run.compiles[0].ir["ttgir"])) for run in (plain, turned)
    ]
    assert widths == [{"i32"}, {"i64"}]
    assert (turned.exit, turned.failure, turned.turned, plain.turned) == (0, None, {"int64": 1}, {})
    assert pool.run(PRODUCT.replace("{value}", value)).compiles[0].hash == plain.compiles[0].hash


def test_a_kernel_without_products_is_what_it_is_with_64_bits(pool):
    source = HEAD + "@triton.jit\ndef kernel(x):\n    tl.store(x, 0)\nkernel[(1,)](torch.zeros(1, device='cuda'))\n"
    _, turned = both(pool, source, "int64")
    assert (turned.exit, turned.turned) == (0, {"int64": 1}), "in force: its fault would be no overflow"


def test_a_kernel_found_on_disk_is_counted_as_when_it_was_compiled(pool):
    first, second = (pool.run(CORPUS.read_text(), way=parse_setting("num_stages=1")) for _ in range(2))
    assert first.turned == second.turned == {"num_stages": 1}
    unchanged = [pool.run(flagship(value="3"), way=parse_setting("num_stages=3")).turned for _ in range(2)]
    assert unchanged == [{"num_stages": 0}] * 2


def test_the_plain_program_never_meets_the_turned_kernel(pool):
    source = flagship(value="5")  # a text that no other test compiles
    turned, plain = pool.run(source, way=parse_setting("num_stages=1")), pool.run(source)
    again = pool.run(source, way=parse_setting("num_stages=1"))
    assert [faults(run) for run in (turned, plain, again)] == [[False], [True], [False]]
    assert turned.compiles == again.compiles


NAMED = {
    "a constexpr parameter": flagship(parameter="STAGES: tl.constexpr", value="STAGES", argument="4"),
    "a constexpr by keyword": flagship(parameter="STAGES: tl.constexpr", value="STAGES", argument="STAGES=4"),
    "a default": flagship(parameter="n, STAGES: tl.constexpr = 4", value="STAGES"),
    "a global": flagship(before="STAGES = tl.constexpr(4)", value="STAGES"),
    "an expression": flagship(parameter="STAGES: tl.constexpr", value="STAGES + 1", argument="3"),
    "the launch's own name": flagship(
        parameter="num_stages: tl.constexpr", value="num_stages", argument="num_stages=4"
    ),
    "the launch's own name, by place": flagship(parameter="num_stages: tl.constexpr", value="num_stages", argument="4"),
    "a config's parameter": flagship(
        before="@triton.autotune([triton.Config({'STAGES': 4})], key=[])",
        parameter="STAGES: tl.constexpr",
        value="STAGES",
        argument="",
    ),
}


@pytest.mark.parametrize("name", NAMED)
def test_stages_are_turned_however_they_reach_the_loop(pool, name):
    run = pool.run(NAMED[name], way=parse_setting("num_stages=1"))
    assert (faults(run), run.turned) == ([False], {"num_stages": 1}), run.stderr


HELPER = flagship().replace(
    "@triton.jit\ndef kernel",
    "@triton.jit\ndef add_up(tile, S: tl.constexpr):\n    total = tl.zeros([1, 4], tl.float32)\n"
    "    for start in tl.range(0, 64, 4, num_stages=S):\n        total += tile.load([0, start])\n    return total\n\n"
    "@triton.jit\ndef kernel",
)
HELPER = HELPER.replace(
    "    for start in tl.range(0, 64, 4, num_stages=4):\n        total += tile.load([0, start])\n    tl.store",
    "    total += add_up(tile, 4)\n    tl.store",
)


def test_a_loop_in_a_helper_is_turned_with_its_caller(pool):
    plain, turned = both(pool, HELPER, "num_stages=1")
    assert (faults(plain), faults(turned), turned.turned) == ([True], [False], {"num_stages": 1})


# Options of the launch.

COPY = (
    HEAD
    + """
{before}
@triton.jit
def copy(x, out, n, B: tl.constexpr{parameters}):
    {loop}
        i = {index} + tl.arange(0, B)
        tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)

x, out = torch.zeros(256, device="cuda"), torch.zeros(256, device="cuda")
for _ in range({times}):
    copy[(1,)](x, out, 256, B=64{options})
"""
)


def copy(*, loop: bool = True, options: str = "", before: str = "", times: int = 1, parameters: str = "") -> str:
    head, index = ("for start in range(0, n, B):", "start") if loop else ("if True:", "0")
    return COPY.format(before=before, loop=head, index=index, options=options, times=times, parameters=parameters)


def test_a_kernel_without_a_loop_has_no_stages_to_turn(pool):
    plain, turned = both(pool, copy(loop=False, options=", num_stages=4"), "num_stages=1")
    assert (stages(plain), stages(turned)) == ([4], [1])
    assert turned.turned == {"num_stages": 0}
    assert plain.compiles[0].ir["ttgir"] == turned.compiles[0].ir["ttgir"]


COUNTS = [
    (copy(options=", num_stages=4"), "num_stages=1", 1),
    (copy(options=""), "num_stages=1", 1),  # Triton's default is 3
    (copy(options=", num_stages=1"), "num_stages=1", 0),
    (copy(options=", num_stages=4", times=3), "num_stages=1", 3),
    (copy(loop=False), "num_warps=8", 1),
    (copy(loop=False, options=", num_warps=8"), "num_warps=8", 0),
    (copy(loop=False), "maxnreg=32", 1),
    (copy(loop=False, options=", maxnreg=32"), "maxnreg=32", 0),
    (copy(loop=False), "ptxas=-O3", 0),
    (copy(loop=False, options=", ptx_options='-O1'"), "ptxas=-O3", 1),
    (copy(loop=False, options=", ptx_options='-O1'"), "ptxas=-O1", 0),
    (HEAD, "num_stages=1", 0),
]


@pytest.mark.parametrize("case", range(len(COUNTS)))
def test_launches_are_counted_that_came_out_otherwise(pool, case):
    source, way, count = COUNTS[case]
    run = pool.run(source, way=parse_setting(way))
    assert run.exit == 0, run.stderr
    assert list(run.turned.values()) == [count]


def test_an_autotuned_kernel_is_turned_in_every_configuration(pool):
    configs = "[triton.Config({}, num_warps=w, num_stages=s) for w, s in ((2, 3), (4, 4))]"
    plain, turned = both(pool, copy(before=f"@triton.autotune({configs}, key=['n'])"), "num_stages=1")
    assert (stages(plain), stages(turned)) == ([3, 4], [1, 1])
    assert [launch.kernel for launch in turned.launches] == ["copy"] * 3  # two tried, one chosen
    assert turned.turned == {"num_stages": 3}


def test_a_kernel_that_is_told_its_warps_is_told_the_turned_ones(pool):
    source = copy(loop=False, parameters=", num_warps: tl.constexpr", options=", num_warps=4").replace(
        "tl.store(out + i, ", "tl.static_assert(num_warps == 8)\n        tl.store(out + i, "
    )
    plain, turned = both(pool, source, "num_warps=8")
    assert plain.compiles[0].failure is not None
    assert (turned.exit, turned.compiles[0].options["num_warps"], turned.turned) == (0, 8, {"num_warps": 1})


@pytest.mark.parametrize("way", ["ptxas=-O0", "llvm=-O0"])
def test_another_optimisation_level_makes_other_machine_code_of_the_same_kernel(pool, way):
    pool = pool.serving(replace(pool.script, wants=("sass",)), seconds=pool.seconds)
    plain, turned = both(pool, copy(times=2), way)
    assert plain.compiles[0].ttir_key == turned.compiles[0].ttir_key
    assert turned.compiles[0].ir["sass"] and plain.compiles[0].ir["sass"] != turned.compiles[0].ir["sass"]
    assert list(turned.turned.values()) == [2]


def test_a_script_does_not_see_the_environment_that_a_knob_needed(pool):
    tell = "import os, atexit\natexit.register(lambda: print(sorted(k for k in os.environ if k.endswith('_OPT'))))\n"
    assert pool.run(tell + copy(), way=parse_setting("ptxas=-O0")).stdout == "[]\n"


def test_a_kernel_that_no_longer_compiles_was_turned_all_the_same(pool):
    source = copy(loop=False, parameters=", num_warps: tl.constexpr", options=", num_warps=4")
    source = source.replace("tl.store(out", "tl.static_assert(num_warps == 4)\n        tl.store(out")
    plain, turned = both(pool, source, "num_warps=8")
    assert plain.exit == 0
    assert turned.compiles[0].failure is not None and turned.turned == {"num_warps": 1}


COMPILES = (
    copy().partition("\nx, out")[0].replace("import torch\n", "")
    + """
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

given = ASTSource(copy, {"x": "*fp32", "out": "*fp32", "n": "i32", "B": "constexpr"}, {(3,): 64})
made = triton.compile(given, target=GPUTarget("cuda", 90, 32), options={"num_stages": 4})
print(made.metadata.num_stages)
"""
)


def test_a_kernel_that_is_only_compiled_is_turned_too(pool):
    plain, turned = both(pool, COMPILES, "num_stages=1")
    assert (plain.stdout, turned.stdout, turned.turned) == ("4\n", "1\n", {"num_stages": 1}), turned.stderr


def test_a_pass_is_left_out_and_the_kernel_compiled_anew_each_time(pool):
    for _ in range(2):
        run = pool.run(COMPILES, way=parse_setting("skip=add_coalesce"))
        assert (run.stdout, run.turned) == ("4\n", {"skip": 1}), run.stderr
    assert pool.run(COMPILES, way=parse_setting("skip=add_nothing")).turned == {"skip": 0}


def test_where_none_is_left_out_the_passes_are_told(pool):
    run = pool.run(COMPILES, way=KnobSetting("passes", knobs={"skip": ""}))
    begun = [line.rpartition(" ")[2] for line in run.stderr.splitlines() if line.startswith(passes.SAID)]
    assert begun.index("add_coalesce") < begun.index("add_pipeline") and run.turned == {}
    assert not any("convert" in name or "fence" in name for name in begun)


def test_an_option_that_the_device_does_not_have_is_not_turned(pool):
    run = pool.run(COMPILES.replace('"cuda", 90', '"cuda", 80'), way=parse_setting("num_ctas=2"))
    assert (run.stdout, run.turned) == ("4\n", {"num_ctas": 0}), run.stderr


# Zeros in the place of what a kernel writes.

CHAIN = (
    HEAD
    + """
@triton.jit
def first(out):
    tl.store(out, 7)


@triton.jit
def second(x, out):
    tl.store(out, tl.load(x) + 1)


a, b = (torch.full((1,), 5, dtype=torch.int32, device="cuda") for _ in range(2))
first[(1,)](a)
second[(1,)](a, b)
print(a.item(), b.item())
"""
)


@pytest.mark.parametrize(
    ("way", "printed", "turned"),
    [
        ("zeroed-outputs", "0 0\n", 2),
        ("zeroed-outputs-but=second", "0 1\n", 1),
        ("zeroed-outputs-but=first", "7 0\n", 1),
    ],
)
def test_what_kernels_would_write_holds_zeros(pool: Pool, way: str, printed: str, turned: int) -> None:
    plain = pool.run(CHAIN, wants=(INTERPRETED,))
    zeroed = pool.run(CHAIN, wants=(INTERPRETED,), way=parse_setting(way))
    assert (plain.stdout, zeroed.stdout) == ("7 8\n", printed), zeroed.stderr
    assert list(zeroed.turned.values()) == [turned]


def test_so_does_what_the_interpreter_would_store(tmp_path: Path) -> None:
    pool = make(tmp_path, arch=None, mode="cold")
    text = "import os\nos.environ['TRITON_INTERPRET'] = '1'\n" + CHAIN.replace(', device="cuda"', "")
    plain, zeroed = both(pool, text, "zeroed-outputs")
    pool.close()
    assert (plain.stdout, zeroed.stdout) == ("7 8\n", "0 0\n"), zeroed.stderr
    assert zeroed.turned == {"zeroed-outputs": 2}


# One argument of a launch.

TYPED = (
    HEAD
    + """

@triton.jit
def kernel(x, y, SAVE: tl.constexpr, BLOCK: tl.constexpr):
    if SAVE:
        tl.store(y + tl.arange(0, BLOCK), tl.load(x))


half = torch.zeros(8, dtype=torch.float16, device="cuda")
kernel[(1,)](half, torch.zeros(8, device="cuda"), SAVE=False, BLOCK=8)
"""
)


@pytest.mark.parametrize(
    ("way", "found", "counted"),
    [
        ("usual-type=x", "%x: !tt.ptr<f32>", 1),
        ("other-type=y", "%y: !tt.ptr<f16>", 1),
        ("other-type=x", "%x: !tt.ptr<f16>", 0),
        ("usual-type=gone", "%x: !tt.ptr<f16>", 0),
        ("other-constant=SAVE", "tt.make_range {end = 8", 1),
    ],
)
def test_one_argument_is_another(pool: Pool, way: str, found: str, counted: int) -> None:
    [knob] = parse_setting(way).knobs
    turned = pool.run(TYPED, wants=("ttir",), way=parse_setting(way))
    assert turned.turned == {knob: counted}, turned.stderr
    assert found in turned.compiles[-1].ir["ttir"]


def test_a_number_is_half_as_large(pool: Pool) -> None:
    turned = pool.run(TYPED.replace("=False", "=True"), wants=("ttir",), way=parse_setting("other-constant=BLOCK"))
    assert "tt.make_range {end = 4" in turned.compiles[-1].ir["ttir"] and turned.turned == {"other-constant": 1}


@pytest.mark.parametrize(
    ("constant", "launch", "found", "counted"),
    [
        ("tl.constexpr", "SAVE=True, BLOCK=250)", "tt.make_range {end = 128", 1),
        ("tl.constexpr", "True, 20)", "tt.make_range {end = 16", 1),
        ("tl.constexpr = 250", "SAVE=True)", "tt.make_range {end = 128", 1),
        ("tl.constexpr", "SAVE=True, BLOCK=8)", "tt.make_range {end = 8", 0),
    ],
)
def test_a_number_is_a_power_of_two(pool: Pool, constant: str, launch: str, found: str, counted: int) -> None:
    text = TYPED.replace("BLOCK: tl.constexpr", f"BLOCK: {constant}").replace("SAVE=False, BLOCK=8)", launch)
    turned = pool.run(text, wants=("ttir",), way=parse_setting("usual-constant=BLOCK"))
    assert turned.turned == {"usual-constant": counted}, turned.stderr
    assert found in turned.compiles[-1].ir["ttir"]


AGREEING = """\
import torch, triton, triton.language as tl

@triton.jit
def kernel(x, ROWS: tl.constexpr, COLUMNS: tl.constexpr, WIDTH: tl.constexpr, KIND: tl.constexpr):
    a = tl.zeros([16, ROWS], tl.float16)
    b = tl.zeros([COLUMNS, 16], tl.float16)
    tl.arange(0, WIDTH)
    tl.store(x + tl.arange(0, 16), tl.sum(tl.dot(a, b), 0))

x = torch.zeros(16, device="cuda")
kernel[(1,)](x, 32, 32, WIDTH=16, KIND="a")
kernel[(1,)](x, %s, KIND="a")
"""


@pytest.mark.parametrize(
    ("given", "asked", "otherwise"),
    [
        ("128, 32, WIDTH=16", "ROWS,COLUMNS", 1),  # neither half of one agrees with the other
        ("128, 32, WIDTH=16", "WIDTH", 0),
        ("64, 32, WIDTH=16", "ROWS", 1),  # though the launch before it is refused with half of its own
        ("32, 32, WIDTH=24", "WIDTH", 1),
        ("32, 32, WIDTH=24", "ROWS", 0),
        ("32, 32, WIDTH=24", "ROWS,KIND", 1),  # nobody knows what else a text may be
        ("32, 32, WIDTH=16", "WIDTH", 0),  # nothing is refused
    ],
)
def test_what_is_refused_is_asked_again_with_other_numbers(
    pool: Pool, given: str, asked: str, otherwise: int
) -> None:
    text = AGREEING % given
    plain, turned = pool.run(text), pool.run(text, way=KnobSetting("numbers", knobs={"other-numbers": asked}))
    assert turned.turned == {"other-numbers": otherwise}
    words = [run.failure.text if run.failure else "" for run in (plain, turned)]
    assert words[0] == words[1] and len(turned.compiles) == len(plain.compiles)


# Waiting for the device.


def test_serial_launches_are_waited_for(pool):
    plain, turned = both(pool, copy(times=3), "serial")
    assert [launch.synced for launch in plain.launches] == [False] * 3
    assert [launch.synced for launch in turned.launches] == [True] * 3
    assert turned.turned == {"serial": 2}  # the first has no other to wait for
    assert turned.compiles == plain.compiles


def test_one_launch_is_serial_as_it_is(pool):
    assert pool.run(copy(), way=parse_setting("serial")).turned == {"serial": 0}


def test_a_fault_shows_at_its_launch_when_launches_are_serial(pool):
    source = flagship().replace("torch.cuda.synchronize()", "print('on')\ntorch.cuda.synchronize()")
    plain, turned = both(pool, source, "serial")
    assert (plain.stdout, turned.stdout) == ("on\n", "")
    assert (plain.driver_error, turned.driver_error) == (716, 716)
    assert plain.failure is not None and turned.failure is not None
    assert plain.failure.text == turned.failure.text


# Triton's interpreter, in a worker of its own.


def test_the_interpreter_computes_on_the_virtual_gpu(pool):
    source = (
        flagship().replace("torch.zeros(64", "torch.ones(64").replace("torch.cuda.synchronize()", "print(out.item())")
    )
    plain, turned = both(pool, source, "interpreter")
    assert plain.driver_error == 716
    assert (turned.exit, turned.stdout, turned.turned) == (0, "64.0\n", {"interpreter": 1}), turned.stderr
    assert not turned.compiles and not turned.launches


def test_a_script_without_kernels_has_nothing_to_interpret(pool):
    assert pool.run(HEAD, way=parse_setting("interpreter")).turned == {"interpreter": 0}


def test_only_where_we_ask_for_the_interpreter_it_gets_the_bounds_that_this_numpy_refuses(pool):
    """A program that asks for it has what its user has, or the final check would see another fault."""
    source = (
        "import os\nos.environ['TRITON_INTERPRET'] = '1'\nimport triton.runtime.interpreter as interpreter\n"
        "print(hasattr(interpreter._patch_lang_tensor, '__wrapped__'))\n"
    )
    with contextlib.suppress(TypeError):
        int(numpy.zeros(1))
        pytest.skip("this NumPy takes an array of one element for a number")
    assert [run.stdout for run in both(pool, source, "interpreter")] == ["False\n", "True\n"]
    assert pool.cold(source).stdout == "False\n"


# Lanes that are used again, and processes that import nothing ahead.

LIBRARY = "import triton, triton.language as tl\n" + copy().partition("tl\n")[2].partition("\nx, out")[0]
CALLS = "import torch, library\nx, y = torch.ones(2, 256, device='cuda')\nlibrary.copy[(1,)](x, y, 256, 64)\n"
PLAYED = """
import json, os, sys
from pathlib import Path
from shrinkray_gpu.runner.inside import vgpu
from shrinkray_gpu.runner.inside.knobs import knobs
from shrinkray_gpu.runner.inside.launches import launch_log
from shrinkray_gpu.runner.inside.process import restore, script

log, seen = launch_log.LaunchLog(frozenset()), []
log.install()
with vgpu.virtual(90, log):
    import library  # stays imported, with the kernels that it holds in memory
    before = dict(vars(library.copy))
    for turned in ({{}}, {{"num_stages": "1"}}, {{"ptxas": "0", "llvm": "0"}}, {{"serial": "1"}}, {{}}):
        patched, environment = restore._callables(), dict(os.environ)
        now = knobs.TurnedKnobs(turned, log) if turned else None
        status, failure, _ = script.perform({calls!r}, "script.py", [])
        assert status == 0, failure
        counts = now.end() if now else {{}}
        seen.append([log.launches[-1]["hash"], len(log.compiles), counts])
        kept = {{name: value is vars(library.copy)[name] for name, value in before.items() if "cache" in name}}
        assert all(kept.values()), kept
        if turned:  # the first run has torch import what it puts off
            assert restore._changed(patched) == "" and not log.listeners
            assert dict(os.environ) == environment
print(json.dumps(seen))
"""


def test_a_process_that_goes_on_is_as_it_was_before(tmp_path):
    (tmp_path / "library.py").write_text(LIBRARY)
    paths = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[3])])
    environment = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": paths}
    command = [sys.executable, "-c", PLAYED.format(calls=CALLS)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    hashes, compiles, counts = zip(*json.loads(done.stdout))
    assert len(set(hashes)) == 3 and hashes[0] == hashes[3] == hashes[4]
    assert compiles == (1, 2, 3, 3, 3)  # what is in memory serves plain runs, and no turned one
    assert counts == ({}, {"num_stages": 1}, {"ptxas": 1, "llvm": 1}, {"serial": 0}, {})


def test_triton_that_is_imported_by_the_script_itself_is_turned(tmp_path):
    pool = make(tmp_path, mode="cold", arch=None)
    run = pool.run("import sys\nassert 'triton' not in sys.modules\n" + COMPILES, way=parse_setting("num_stages=1"))
    assert (run.stdout, run.turned) == ("1\n", {"num_stages": 1}), run.stderr


HELPED = """
import triton
import triton.language as tl

@triton.jit
def half(v):
    return v / 2

@triton.jit
def kernel(x):
    tl.store(x, half(tl.load(x)))
"""


def test_a_caller_does_not_keep_the_turned_keys_of_its_helpers(tmp_path):
    kernelkey.complete()
    (tmp_path / "helped.py").write_text(HELPED)

    def fresh():
        return runpy.run_path(str(tmp_path / "helped.py"))["kernel"]

    kernel = fresh()
    kernelkey.turn("num_stages=1")
    turned = kernel.cache_key
    kernelkey.turn("")
    assert turned != kernel.cache_key == fresh().cache_key
