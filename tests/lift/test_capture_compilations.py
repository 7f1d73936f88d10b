"""Kernels that a script compiles and does not launch: what the compiler was given is in the lifted script, exactly."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from shrinkray_gpu import lift
from shrinkray_gpu.lift.data_files import copy_files, files, final_files
from shrinkray_gpu.lift.other_sizes import with_other_sizes
from shrinkray_gpu.runner.inside.capture import capture
from shrinkray_gpu.runner.inside.capture.blackbox import BlackBox
from shrinkray_gpu.runner.pool import Pool
from shrinkray_gpu.start.description import lifted_description
from tests.lift.conftest import Lift

HEAD = """
import torch, triton, triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

@triton.jit
def other(x):
    tl.store(x, 0.0)

@triton.jit
def rows(out, src, stride, N: tl.constexpr, WIDE: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(src + stride + i))
"""
TYPES = '{"out": "*fp32", "src": "*fp32", "stride": "i32", "N": "constexpr", "WIDE": "constexpr"}'
REFUSED = HEAD.replace("tl.arange(0, N)", "tl.arange(0, N + 1)")
ALIGNED = '{(0,): [["tt.divisibility", 16]], (1,): [], (2,): [["tt.divisibility", 16]]}'
DRIVER = """
class OfTheBuild:
    def get_current_target(self):
        return GPUTarget("cuda", 80, 32)
    def get_current_device(self):
        return 0
    get_current_stream = lambda self, device: 0
    get_device_interface = get_active_torch_device = get_benchmarker = lambda self: None
    map_python_to_cpp_type = None
triton.runtime.driver.set_active(OfTheBuild())
"""


def compiled(options: str = "num_warps=8, num_stages=3", head: str = HEAD) -> str:
    return f"""{head}
def build(fn, types, constants, attrs=None, **options):
    return triton.compile(ASTSource(fn, types, constants, attrs), target=GPUTarget("cuda", 80, 32), options=options)

build(other, {{"x": "*fp32"}}, {{}})
build(rows, {TYPES}, {{"N": 64, "WIDE": True}}, {ALIGNED}, {options})
"""


def test_what_the_compiler_is_given_stays_and_the_target_with_it(lifted: Lift) -> None:
    found = lifted(compiled(head=REFUSED))
    assert found.original.failure is not None and found.again.failure is not None
    assert found.again.failure.type == found.original.failure.type == "triton.compiler.errors.CompilationError"
    for kept in (
        '"stride": "i32", "N": "constexpr"',
        '{"N": 64, "WIDE": True}',
        "{(0,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]]}",
        'target=GPUTarget("cuda", 80, 32), options={"num_warps": 8})',  # three stages are as by default
    ):
        assert kept in "".join(found.text.replace("\n    ", " ")), kept
    assert "other" not in found.text and "import torch" not in found.text


def test_it_is_compiled_to_the_same(pool: Pool) -> None:
    original = pool.run(compiled(), capture="launch", wants=("ptx",))
    again = pool.run(lift.candidates(original)[0], wants=("ptx",))
    [one] = [each for each in original.compiles if each.kernel == "rows"]
    [other] = again.compiles
    assert (one.ttir_key, one.options["num_warps"]) == (other.ttir_key, other.options["num_warps"])
    assert ".target sm_80" in one.ir["ptx"] and ".target sm_80" in other.ir["ptx"]


def test_a_compiler_that_ends_the_process_leaves_it_behind(pool: Pool) -> None:
    abort = 'tl.inline_asm_elementwise("mov $0, $1;", "=r,r,r,r", [x], tl.float32, True, 1)'
    head = HEAD.replace("tl.load(src + stride + i)", abort.replace("[x]", "[tl.load(src + i)]"))
    original = pool.run(compiled(head=head), capture="launch")
    assert original.signal
    again = pool.run(lift.candidates(original)[0])
    assert again.signal == original.signal


def test_a_warmup_stays_one_and_needs_no_tensor(lifted: Lift) -> None:
    source = REFUSED + "rows.warmup(torch.float16, torch.float32, 64, N=64, WIDE=False, num_warps=8, grid=(7, 1))\n"
    found = lifted(source)
    assert found.again.failure is not None and found.again.failure.type == "triton.compiler.errors.CompilationError"
    assert "rows.warmup(torch.float16, torch.float32, 64, N=64, WIDE=False, num_warps=8, grid=(7,))" in found.text
    assert "rows[(7,)](" in found.texts[1]


def test_of_a_tensor_that_is_not_aligned_a_type_says_too_little(lifted: Lift) -> None:
    found = lifted(REFUSED + 'rows.warmup(torch.zeros(9, device="cuda")[1:], torch.float32, 64, 64, True, grid=(1,))\n')
    assert "[1:]\n" in found.text and "rows.warmup(out, torch.float32, 64, N=64" in found.text


def test_a_driver_of_the_scripts_own_names_the_target(lifted: Lift) -> None:
    warmup = "rows.warmup(torch.float16, torch.float32, 64, N=64, WIDE=False, grid=(1,))\n"
    found = lifted(REFUSED + DRIVER + warmup)
    assert found.again.failure is not None and found.again.failure.type == "triton.compiler.errors.CompilationError"
    assert 'target=GPUTarget("cuda", 80, 32)' in found.text and "warmup" not in found.text


def test_a_launch_comes_before_what_is_only_compiled(lifted: Lift) -> None:
    launch = 'x = torch.zeros(64, device="cuda")\nother[(1,)](x)\n'
    found = lifted(compiled().replace("build(other", launch + "build(other"))
    assert "other[(1,)](x)" not in found.text  # the last thing that happened was a compilation
    found = lifted(compiled() + launch)
    assert "other[(1,)](x)" in found.text and any("triton.compile(" in text for text in found.texts)


def test_what_a_launch_has_compiled_is_no_compilation(pool: Pool) -> None:
    run = pool.run(HEAD + 'other[(1,)](torch.zeros(64, device="cuda"))\n', capture="launch")
    assert run.captured is not None and [each.get("how") for each in run.captured["launches"]] == ["jit"]


IR_FILE = """
import os, tempfile, triton
from triton.backends.compiler import GPUTarget
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "copy.ttir")
    with open(path, "w") as f:
        f.write("module { tt.func public @copy(%x: !tt.ptr<f32>) { %v = tt.load %x : !tt.ptr<i32> tt.return } }")
    triton.compile(path, target=GPUTarget("cuda", 80, 32), options={"num_warps": 2})
"""


def test_of_a_file_with_ir_there_is_a_copy(lifted: Lift, tmp_path: Path) -> None:
    found = lifted(IR_FILE)
    assert found.original.failure is not None and found.again.failure is not None
    assert found.again.failure.text == found.original.failure.text == "Parse MLIR file failed."
    assert found.original.compiles[-1].kernel == "copy.ttir"
    assert 'target=GPUTarget("cuda", 80, 32), options={"num_warps": 2})' in found.text and "ASTSource" not in found.text
    [copy] = files(found.text)
    assert copy.suffix == ".ttir" and "@copy" in copy.read_text()
    final, [beside] = final_files(copy_files(found.text, tmp_path / "values"), tmp_path / "repro.py")
    assert beside.name == "repro.ttir" and beside.read_text() == copy.read_text()
    assert final.startswith(
        "# Needs repro.ttir beside it: 94 bytes of IR that the failing program compiled, as it was."
    )
    assert 'triton.compile(str(Path(__file__).with_name("repro.ttir")), target=' in final
    [offer] = lift.offers(found.original)
    assert "what is in copy.ttir is not reduced" in lifted_description(found.original, [offer], offer.text)


@pytest.mark.parametrize(
    ("constants", "others"),
    [
        ('{"N": 768, "WIDE": True}', '{"N": 512, "WIDE": True}'),
        ('{"N": 8, "WIDE": None}', '{"N": 32, "WIDE": None}'),
        ('{"N": 16, "WIDE": False}', '{"N": 32, "WIDE": False}'),
        ('{"N": 64, "WIDE": tl.float32}', ""),
    ],
)
def test_the_same_with_other_sizes(pool: Pool, constants: str, others: str) -> None:
    head = HEAD.replace("tl.arange(0, N)", "tl.arange(0, 3)")
    run = pool.run(compiled(head=head).replace('{"N": 64, "WIDE": True}', constants), capture="launch")
    text = with_other_sizes(run)
    assert others.replace('"', "'") in (text or "").replace('"', "'")
    assert (text is None) == (not others)


def test_a_launch_has_no_other_sizes(pool: Pool) -> None:
    launch = 'x = torch.zeros(64, device="cuda")\nrows[(1,)](x, x, 64, N=64, WIDE=True)\n'
    assert with_other_sizes(pool.run(REFUSED + launch, capture="launch")) is None


def test_many_compilations_push_out_no_launch(tmp_path: Path) -> None:
    log = SimpleNamespace(launches=[], listeners=[])
    kept = capture.Capture(log, "launch", BlackBox(str(tmp_path)))
    for number in range(capture.REMEMBERED * 2):
        record = kept.record(None, "jit" if number < 3 else "compile")
        record.update(kind=number)
        kept._keep(record, 0)
    kept.box.close()
    how = [record["how"] for record in kept.records.values()]
    assert len(how) == capture.REMEMBERED and how.count("jit") == 3
