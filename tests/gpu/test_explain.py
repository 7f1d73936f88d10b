"""`shrink explain` on a GPU: core dump and sanitizer name what the static rule and the code say."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from shrinkray_gpu.device import coredump, sanitizer_records
from shrinkray_gpu.evidence.dump_runs import dumping
from shrinkray_gpu.oracle import parse
from shrinkray_gpu.questions.explanation import explain
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.same_fault.checkpoints import Checkpoints
from shrinkray_gpu.start.given import ALIKE
from tests.e2e.command import environment, shrink

pytestmark = [pytest.mark.gpu, pytest.mark.slow]

CASE = Path(__file__).parents[2] / "corpus" / "tma_misaligned" / "failing.py"
PYTHON = shutil.which("python") or "python"
OVERRUN = """\
import torch, triton, triton.language as tl

@triton.jit
def scale(x, y, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + o)
    tl.store(y + o * 100000, v * 2.0)

x = torch.ones(8192, device="cuda")
scale[(64,)](x, torch.empty_like(x), BLOCK=128)
torch.cuda.synchronize()
"""
UNINITIALISED = """\
import torch, triton, triton.language as tl

@triton.jit
def add(x, y, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    tl.store(y + o, tl.load(x + o) + 1.0)

torch.cuda.caching_allocator_enable(False)
x = torch.empty(1024, device="cuda")
add[(1,)](x, torch.zeros_like(x), BLOCK=1024)
torch.cuda.synchronize()
"""


def tools() -> None:
    for found in (coredump.find, sanitizer_records.find):
        if found(PYTHON, environment()) is None:
            pytest.skip("needs cuda-gdb and compute-sanitizer")


def test_the_flagship_is_named_by_every_instrument(tmp_path: Path) -> None:
    tools()
    said = shrink("explain", CASE, "--json", cwd=tmp_path)
    assert said.code == 0, said.err
    seen = json.loads(said.out)
    print(shrink("explain", CASE, cwd=tmp_path).out)
    fault = seen["fault"]
    assert (fault["code"], fault["kernel"]) == (716, "jsd_forward_kernel")
    assert (fault["instruction"], fault["space"], fault["construct"]) == ("UTMALDG", "shared", "descriptor load")
    assert seen["place"]["line"] in (87, 88) and ".load([row_start, col_start])" in seen["place"]["text"]
    memory = " ".join(seen["memory"])
    assert ".align 16 .b8 global_smem[]" in memory and "16 mod 128" in memory
    assert {one["instrument"]: one["state"] for one in seen["said"][:5]} == {
        "run": "present",
        "static rule": "present",
        "IR and SASS": "present",
        "core dump": "present",
        "memcheck": "present",
    }
    assert seen["findings"][0]["record"]["title"] == "Misaligned shared or local address"
    assert seen["sass"], "the instruction of the core dump stands in the code that we compiled"
    assert {"driver", "gpu", "torch", "triton"} <= set(seen["versions"])


def test_an_overrun(tmp_path: Path) -> None:
    tools()
    script = tmp_path / "oob.py"
    script.write_text(OVERRUN)
    fault = explain(script, python=PYTHON).evidence.fault
    assert fault is not None
    assert (fault.kernel, fault.instruction, fault.space) == ("scale", "STG", "global")
    assert (fault.access, fault.size, fault.construct) == ("write", 4, "tl.store")


def test_a_checkpoint_s_fingerprint(tmp_path: Path) -> None:
    tools()
    script = tmp_path / "oob.py"
    script.write_text("# the original, of another text\n")
    setup = Setup(PYTHON, environment(), imports=(), own=(), scratch=str(tmp_path))
    fault = Checkpoints(setup, 120.0).fault(OVERRUN, Script(script, cwd=tmp_path))
    assert fault is not None
    assert (fault.kernel, fault.instruction, fault.construct) == ("scale", "STG", "tl.store"), fault
    assert not list(tmp_path.glob("core*"))


@pytest.mark.parametrize(("name", "codes"), [("flagship", {716}), ("overrun", {700, 717})])
def test_a_run_that_writes_a_core_dump_shows_the_driver_s_error_as_one_without(
    name: str, codes: set[int], tmp_path: Path
) -> None:
    """Which is what lets one run of the program answer the oracle and name the instruction. Its words may be lost:
    while a dump is made of a short kernel, a wait for the GPU ends well."""
    tools()
    texts = {"flagship": CASE.read_text(), "overrun": OVERRUN}
    setup = Setup(PYTHON, environment(), (), (), str(tmp_path), confine=False)
    script = Script(tmp_path / "failing.py", cwd=tmp_path)
    make = dumping(setup)
    assert make is not None
    one = make(0)
    pool = Pool(script, setup, mode="cold", jobs=1, seconds=100.0)
    plain, dumped = pool.cold(texts[name]), pool.cold(texts[name], way=one.way, capture="launch")
    fault = one.fault(texts[name], script, dumped)
    print(name, f"{plain.seconds:.1f} s plain, {dumped.seconds:.1f} s with a dump:", fault)
    assert {plain.driver_error, dumped.driver_error} <= codes and dumped.driver_error in ALIKE
    assert plain.failure and (dumped.failure is None or plain.failure.type == dumped.failure.type)
    assert dumped.failure is not None or name == "overrun", "the flagship's kernel takes its time"
    assert [each.kernel for each in plain.launches] == [each.kernel for each in dumped.launches]
    alone = Checkpoints(setup, 100.0).fault(texts[name], script, plain)
    assert fault is not None and alone is not None
    assert (fault.kernel, fault.instruction, fault.space) == (alone.kernel, alone.instruction, alone.space)
    assert not one.folder.exists()


def test_a_program_that_ends_well_shows_its_record_to_the_oracle(tmp_path: Path) -> None:
    tools()
    oracle = parse("sanitizer:initcheck:Uninitialized __global__", folder=tmp_path)
    setup = Setup(PYTHON, environment(), imports=(), own=(), scratch=str(tmp_path))
    script = Script(tmp_path / "uninit.py", cwd=tmp_path, sanitizer=oracle.needs.sanitizer)
    pool = Pool(script, setup, mode="cold", jobs=1, seconds=120)
    try:
        run, clean = pool.run(UNINITIALISED), pool.run(UNINITIALISED.replace("torch.empty(", "torch.zeros("))
    finally:
        pool.close()
    assert oracle.judge(run).faults, run
    assert not oracle.judge(clean).faults
