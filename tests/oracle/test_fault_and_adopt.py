"""The Fault that a run shows, the SPEC adopted for it, and what is said when the original shows something else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu.device import gpus
from shrinkray_gpu.oracle import Fault, adopt, describe, nearest, obstacle, parse, swallowed
from shrinkray_gpu.runner.run import Compilation, Failure, Run
from tests.oracle.runs import (
    BROKEN,
    CAUSE,
    CRASH,
    JSD,
    MISALIGNED,
    OUT_OF_MEMORY,
    PTXAS,
    RUNTIME,
    SWALLOWED,
    TORCH_716,
    failing,
    passing,
    plain,
    traceback,
)

COMPILE_ERROR = Failure(
    "triton.compiler.errors.CompilationError",
    "at 2:8:\ndef k3(p):\n    d = tl.make_tensor_descriptor(p, [64, 64])\n        ^\n"
    "Descriptor block shape must have at least 16 bytes in the last dimension, but got 4 * 2 = 8 bytes",
    RUNTIME,
)
PTX_ERROR = Failure(
    "triton.runtime.errors.PTXASError",
    "PTXAS error: Internal Triton PTX codegen error\n`ptxas` stderr:\n"
    "ptxas /tmp/a.ptx, line 40; error   : Unknown modifier '.instr'",
    RUNTIME,
)
RUNS = {
    "sticky": MISALIGNED,
    "swallowed": SWALLOWED,
    "plain": plain(traceback("torch.AcceleratorError: " + TORCH_716)),
    "static": passing(virtual=True, launches=(replace(JSD, fault="tma-alignment: 16 of 128"),)),
    "timeout": Run("fork", None, timed_out=True, seconds=9, launches=(JSD,)),
    "compile error": Run("fork", 1, failure=COMPILE_ERROR, compiles=(Compilation("k3", "", failure=COMPILE_ERROR),)),
    "compiler pass": Run("fork", 1, failure=CRASH, compiles=(BROKEN,)),
    "ptxas": Run("fork", 1, failure=PTX_ERROR, compiles=(Compilation("k", "", failure=PTX_ERROR, printed=PTXAS),)),
    "compiler abort": Run("fork", None, 6, compiles=(Compilation("k", ""),),
                          stderr="python: /src/SmallVector.h:295: Assertion `idx < size()' failed.\n"),
    "abort": Run("fork", None, 6, stderr="python3: /src/SmallVector.h:295: T &llvm::SmallVectorImpl<(anonymous "
                 "namespace)::Op>::operator[](size_type) [T = Op]: Assertion `idx < size()' failed.\n"),
    "segfault": Run("fork", None, 11),
    "shared memory": failing("triton.runtime.errors.OutOfResources",
                             "out of resource: shared memory, Required: 294912, Hardware limit: 232448."),
    "invalid argument": failing("RuntimeError", "Triton Error [CUDA]: invalid argument", launches=(JSD,)),
    "exception": failing("IndexError", "index 37 is out of bounds for dimension 0 with size 12"),
    "shapes": failing("ValueError", "bad shape [8, 64] of the tensor at 0x7f00a in /tmp/x/y.bin (got 1x4xf32)"),
    "bare": failing("AssertionError", ""),
    "status": Run("fork", 3),
    "memory": replace(OUT_OF_MEMORY, mode="cold"),
}  # fmt: skip

SPECS = {
    "sticky": "misaligned address",
    "swallowed": "misaligned address",
    "plain": "misaligned address",
    "static": "misaligned address",
    "timeout": "timeout",
    "compile error": "compile:Descriptor block shape must have at least -?[0-9]+ bytes in the last dimension, "
    "but got -?[0-9]+ . -?[0-9]+ = -?[0-9]+ bytes",
    "compiler pass": "tt.dot op expected matching shapes",
    "ptxas": "Unknown modifier .instr",
    "compiler abort": "Assertion idx < size() failed.",
    "abort": "Assertion idx < size() failed.",
    "segfault": "signal:SIGSEGV",
    "shared memory": "out of resource",
    "invalid argument": "invalid argument",
    "exception": "exception:IndexError:index -?[0-9]+ is out of bounds for dimension -?[0-9]+ with size -?[0-9]+",
    "shapes": "exception:ValueError:bad shape .[^]]*. of the tensor at 0x[0-9a-fA-F]+ in [^ ]+ .got [0-9x]+xf32.",
    "bare": "exception:AssertionError",
    "status": "exit:3",
    "memory": "exception:OutOfMemoryError:CUDA out of memory. Tried to allocate [0-9.e+-]+ GiB. "
    "GPU -?[0-9]+ has -?[0-9]+ GiB free.",
}
CARDS = {
    "sticky": "device fault: misaligned address (CUDA error 716) in kernel jsd",
    "static": "device fault: misaligned address (CUDA error 716) in kernel jsd; predicted by a static rule, not run",
    "timeout": "timeout fault: no end within the time limit in kernel jsd",
    "compile error": "compile fault: CompilationError in kernel k3: Descriptor block shape must have at least 16 bytes "
    "in the last dimension, but got 4 * 2 = 8 bytes",
    "compiler pass": "compile fault: TritonGPUPipeline in kernel k: 'tt.dot' op expected matching shapes",
    "ptxas": "compile fault: PTXASError in kernel k: Unknown modifier '.instr'",
    "compiler abort": "compile fault: SIGABRT in kernel k: Assertion `idx < size()' failed.",
    "abort": "exit fault: SIGABRT: Assertion `idx < size()' failed.",
    "shared memory": "launch fault: out of resource: out of resource: shared memory, "
    "Required: 294912, Hardware limit: 232448.",
    "invalid argument": "launch fault: invalid argument in kernel jsd",
    "exception": "python fault: IndexError: index 37 is out of bounds for dimension 0 with size 12",
    "shapes": "python fault: ValueError: bad shape [8, 64] of the tensor at 0x7f00a in y.bin (got 1x4xf32)",
    "status": "exit fault: exit status 3",
}


@pytest.mark.parametrize("name", SPECS)
def test_the_adopted_spec_matches_the_run_it_was_made_from(name: str) -> None:
    spec = adopt(RUNS[name])
    assert spec == SPECS[name]
    assert parse(spec, folder=Path()).judge(RUNS[name]).faults
    assert parse(spec, folder=Path()).calibrate(RUNS[name]).judge(RUNS[name]).faults


@pytest.mark.parametrize("name", SPECS)
def test_the_adopted_spec_survives_what_eats_backslashes_and_quotation_marks(name: str) -> None:
    """Chat, Markdown and the repr of a string; another program of the same fault has other numbers all the same."""
    spec = adopt(RUNS[name])
    assert spec is not None and not set("\\'`\"") & set(spec)


@pytest.mark.parametrize("name", CARDS)
def test_faults_in_one_line(name: str) -> None:
    assert str(Fault.of(RUNS[name])) == CARDS[name]


def test_a_run_that_ends_well_or_tells_nothing_has_no_fault() -> None:
    for run in (passing(), passing(stdout="CUDA error: misaligned address"), Run("fork", None, trouble="lane died")):
        assert Fault.of(run) is None
        assert adopt(run) is None
        assert nearest(run) == []


def test_a_failure_that_the_program_caught_is_adopted() -> None:
    """A benchmark harness prints it, and exits with 0."""
    caught = passing(compiles=(BROKEN,), stdout="skipped\n")
    assert Fault.of(caught) is None
    assert adopt(caught) == "tt.dot op expected matching shapes"
    refused = passing(launches=(replace(JSD, failure="RuntimeError: Triton Error [CUDA]: invalid argument"),))
    assert adopt(refused) == "Triton Error [CUDA]: invalid argument"


def test_what_an_autotuner_lives_with_is_offered_and_not_adopted() -> None:
    tuned = passing(compiles=(Compilation("k", "", failure=PTX_ERROR, printed=PTXAS),), launches=(JSD,))
    assert adopt(tuned) is None
    assert swallowed(tuned) == ["Unknown modifier .instr"]
    assert swallowed(passing(launches=(JSD,))) == []


def test_numbers_and_kernel_names_do_not_make_another_class() -> None:
    one, other = Fault.of(MISALIGNED), Fault.of(replace(MISALIGNED, launches=(replace(JSD, kernel="k"),)))
    assert one is not None and other is not None
    assert not one.difference(other)
    here, there = Fault.of(failing("IndexError", "index 3 of 7")), Fault.of(failing("IndexError", "index 1 of 2"))
    assert here is not None and there is not None
    assert not here.difference(there)


def test_other_complaints_and_codes_do() -> None:
    faults = [Fault.of(run) for run in RUNS.values()]
    kinds = {(f.phase, f.klass, f.code, f.text) for f in faults if f is not None}
    assert len(kinds) == len(faults) - 3  # the sticky error in four guises is one
    one, other = Fault.of(MISALIGNED), Fault.of(replace(MISALIGNED, driver_error=700))
    assert one is not None and other is not None
    assert "an illegal memory access was encountered" in one.difference(other)


def test_the_adopted_spec_survives_smaller_numbers() -> None:
    spec = adopt(failing("IndexError", "index 37 is out of bounds for dimension 0 with size 12"))
    assert spec is not None
    smaller = failing("IndexError", "index 1 is out of bounds for dimension 0 with size 1")
    assert parse(spec, folder=Path()).judge(smaller).faults


OBSTACLES = {
    "needs the module foo": failing("ModuleNotFoundError", "No module named 'foo'", ("ImportError", *RUNTIME)),
    "needs the module foo.bar": plain(traceback("ModuleNotFoundError: No module named 'foo.bar'")),
    "--arch sm_90": failing("AssertionError", "Torch not compiled with CUDA enabled"),
    "no GPU": failing("RuntimeError", "Found no NVIDIA driver on your system. Please check"),
    "finds no GPU": failing("RuntimeError", "0 active drivers ([]). There should only be one."),
}


@pytest.mark.parametrize("said", OBSTACLES)
def test_a_bad_set_up_is_not_adopted_as_a_fault(said: str) -> None:
    assert said in obstacle(OBSTACLES[said])
    assert adopt(OBSTACLES[said]) is None


def test_a_gpu_that_no_program_can_use_is_the_machines_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on an H200 that asked for a reset: the device is there, and CUDA finds none."""
    monkeypatch.setattr(gpus, "present", lambda: True)
    assert "may need a reset" in obstacle(failing("RuntimeError", "No CUDA GPUs are available"))
    without = failing("AssertionError", "Torch not compiled with CUDA enabled")
    assert "run shrink where there is one" in obstacle(without)


def test_a_program_that_needs_more_gpus_is_told_how_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpus, "visible", lambda environment: [("a", ""), ("b", "")])
    for text in ("CUDA error: invalid device ordinal", "ncclInvalidUsage: Duplicate GPU detected : rank 1 and rank 0"):
        run = failing("RuntimeError", text)
        assert adopt(run) is None
        assert "asks for more GPUs than it sees (2 in sight): run shrink where there are more" in obstacle(run)


def test_real_faults_are_no_obstacles() -> None:
    assert [name for name, run in RUNS.items() if obstacle(run)] == []


def test_nearest_specs_all_match_and_the_likest_comes_first() -> None:
    run = failing("ValueError", "shape mismatch")
    assert nearest(run) == ["exception:ValueError:shape mismatch", "exception:ValueError", "exit:1"]
    assert nearest(run, "exit:3")[0] == "exit:1"


def test_what_happened_instead_of_the_fault() -> None:
    well = describe(passing(stdout="a\n\nb\nno misaligned address\n", seconds=2.04), "misaligned address")
    assert well == (
        "The program ended well (exit 0) after 2.0 s. It did print these words (stdout), but what a successful program "
        "prints is no fault.\nIts last lines:\n    a\n    b\n    no misaligned address"
    )
    other = describe(
        failing("ValueError", "shape 3", seconds=1.0, stderr="ValueError: shape 3\n"), "misaligned address"
    )
    assert other.startswith("The program showed another fault after 1.0 s: python fault: ValueError: shape 3.\n")
    assert "tells nothing: the lane died" in describe(Run("fork", None, trouble="the lane died"))
    assert "printed nothing" in describe(passing())


def test_of_a_function_that_a_kernel_calls_the_innermost_exception_says_why() -> None:
    inner, outer = "triton.compiler.errors.CompilationError: at 3:4:\ny = f(x)\n    ^\n", "at 7:0:\nfirst(x)\n^"
    told = {}
    for why in ("index must be an integer tensor", "gather() missing 1 required positional argument: 'axis'"):
        text = traceback(inner + why) + CAUSE + traceback(f"triton.compiler.errors.CompilationError: {outer}")
        failure = Failure("triton.compiler.errors.CompilationError", outer, RUNTIME, traceback=text)
        run = Run("fork", 1, failure=failure, compiles=(Compilation("k", "", failure=failure),), stderr=text)
        fault = Fault.of(run)
        assert fault is not None
        assert fault.text == why.replace("1", "N")
        assert (adopt(run) or "").startswith("compile:")
        told[why] = fault
    one, other = told.values()
    assert "the message is" in one.difference(other)


def test_a_line_that_nearly_says_what_was_asked_for_is_shown() -> None:
    run = failing("OutOfResources", "out of resource: shared memory, Required: 524288, Hardware limit: 232448.")
    near = describe(run, "out of resource: shared memory, Required: 114112, Hardware limit: 232448.")
    assert "It nearly says these words (with 524288 for 114112): 'OutOfResources: out of resource: shared m" in near
    assert "nearly" not in describe(run, "misaligned address")


def test_words_that_stand_only_in_quoted_source_are_told_apart() -> None:
    run = failing("ValueError", "shape 3", stderr=traceback("ValueError: shape 3", source="acc = tl.dot(x, w)"))
    assert "These words are only in source code that the message quotes" in describe(run, "acc = tl.dot(x, w)")


def test_what_is_unlike_every_spec_is_answered_by_the_sharpest() -> None:
    run = failing("ValueError", "shape mismatch")
    assert nearest(run, "foobar")[0] == "exception:ValueError:shape mismatch"
    assert nearest(run, "exception:ValeError")[0] == "exception:ValueError"
