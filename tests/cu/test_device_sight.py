"""What compute-sanitizer saw of a run, compared; and what a reduction may not make up."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from shrinkray_gpu.cu.cu_fault import CuFault, run_fault
from shrinkray_gpu.cu.device_sight import DeviceSight, first_sight, is_settled
from shrinkray_gpu.cu.made_up import numbers_of
from shrinkray_gpu.cu.nvcc_test import NvccTest
from shrinkray_gpu.cu.nvcc_trial import CuOutcome, NvccTrial
from shrinkray_gpu.device import sanitizer_records
from shrinkray_gpu.reduction.native.native_tree import parse
from shrinkray_gpu.runner.launch_recorder import Room
from shrinkray_gpu.runner.run import Run

RECORD = """\
========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at void ns::scale<float>(T1 *, unsigned long)+0x150 in k.cu:4
=========     by thread (0,0,0) in block (8,0,0)
=========     Access to 0x7f2e56b54000 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f2e52c00000 of size 4,096 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
=========
"""
TEXT = """\
__global__ void scale(float* x, size_t n) { for (size_t i = threadIdx.x; i < n; i += 32) x[i] = 1; }
int main() {
  size_t bytes = 4096;
  float* x;
  cudaMalloc(&x, bytes);
  scale<<<1, 32, bytes>>>(x, bytes);
  return cudaDeviceSynchronize() != cudaSuccess;
}
"""
LEADING = ", by a block's first thread too"
RUN = Run("plain", 1, stderr="failed: scale: an illegal memory access was encountered\n")


def sight(text: str = RECORD) -> DeviceSight:
    found = first_sight(sanitizer_records.records(text, "memcheck"))
    assert found is not None
    return found


def fault() -> CuFault:
    found = run_fault(TEXT, CuOutcome("", False, (), RUN, sight=sight()), (), hosted=False)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("normalise_rows", "Invalid __global__ read of 4 bytes in shift_and_scale, near an allocation"),
        ("gather_packed", f"Invalid __global__ read of 16 bytes in gather_rows, misaligned{LEADING}"),
        ("transpose_tiles", "Invalid __shared__ write of 8 bytes in transpose"),
    ],
)
def test_what_memcheck_said_on_an_h200_of_the_programs_in_cu_files(name: str, seen: str) -> None:
    assert str(sight((Path(__file__).parent / "samples" / f"{name}.txt").read_text())) == seen


def test_a_record_tells_kernel_kind_size_and_side() -> None:
    assert sight() == DeviceSight("scale", "Invalid __global__ write", 4, False, "near")
    assert str(sight()) == "Invalid __global__ write of 4 bytes in scale, near an allocation"
    sample = Path(__file__).parents[1] / "evidence" / "samples" / "memcheck_oob.txt"
    assert sight(sample.read_text()).place == "near"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ns::scale", "ns::other"),
        ("write of size 4", "write of size 16"),
        ("write of", "read of"),
        ("1 bytes after", "139,000,000,000,000 bytes before"),
        ("is out of bounds", "is misaligned"),
    ],
)
def test_the_same_words_with_another_record_are_another_fault(old: str, new: str) -> None:
    assert old in RECORD
    same = CuOutcome("", False, (), RUN, sight=sight())
    assert fault().look(same) is not None and fault().verdict(TEXT, same).faults
    verdict = fault().verdict(TEXT, replace(same, sight=sight(RECORD.replace(old, new))))
    assert verdict.is_known and not verdict.faults
    assert not fault().verdict(TEXT, replace(same, sight=None)).faults
    assert not fault().verdict(TEXT, replace(same, sight=None, blind="it did not run")).is_known


def test_the_control_that_mends_the_original_mends_a_candidate() -> None:
    """An allocation that is made smaller alone would fault for another reason: four times of it is too little still."""
    assert [each.factor for each in sight().rooms()] == [1, 2, 4, 8] and str(sight().rooms()[2]) == "4 times the memory"
    shared = sight(RECORD.replace("global", "shared").replace("and is 1 bytes after", "in the window of"))
    assert shared.rooms()[1] == Room("shared", 2)
    far = RECORD.replace("1 bytes after", "139,000,000,000,000 bytes before")
    assert not sight(far).rooms() and not sight(RECORD.replace("out of bounds", "misaligned")).rooms()
    room = Room("memory", 4)
    seen = CuOutcome("", False, (), RUN, sight=sight(), room=room)
    found = run_fault(TEXT, seen, (), hosted=False)
    assert found is not None and found.room == room and found.verdict(TEXT, seen).faults
    look = found.look(seen)
    assert look is not None and look(sight()) == (room,)
    assert look(sight(RECORD.replace("write", "read"))) == ()
    verdict = found.verdict(TEXT, replace(seen, room=None))
    assert verdict.is_known and not verdict.faults


def test_of_a_misaligned_access_it_counts_whether_the_first_thread_makes_it() -> None:
    """A row at an odd offset is misaligned for all threads; an index that lost its factor only for some."""
    all_threads = RECORD.replace("is out of bounds", "is misaligned")
    others = all_threads.replace("thread (0,0,0)", "thread (1,0,0)")
    assert sight(all_threads).leading and str(sight(all_threads)).endswith("misaligned, by a block's first thread too")
    assert not sight(others).leading and sight(others).drift(sight(all_threads))
    assert sight(others + all_threads) == sight(all_threads) and not sight().leading
    assert sight(others + all_threads.replace("ns::scale", "ns::later")) == sight(others)


def test_where_a_record_tells_the_fault_only_the_driver_s_words_stay() -> None:
    shorter = CuOutcome("", False, (), replace(RUN, stderr="an illegal memory access was encountered\n"))
    assert fault().verdict(TEXT, replace(shorter, sight=sight())).faults
    unseen = replace(fault(), sight=None, last_words="failed: scale: an illegal memory access was encountered")
    assert not unseen.verdict(TEXT, shorter).faults
    assert run_fault(TEXT, shorter, (), hosted=False).unseen  # type: ignore[union-attr]


def test_one_access_outside_is_either_of_two_errors_of_the_driver() -> None:
    """A `.cu` that ends in 717 on an H200 ends in 700 on the CPU, and so may what is left of it."""
    other = replace(RUN, stderr="failed: scale: operation not supported on global/shared address space\n")
    outcome = CuOutcome("", False, (), other, sight=sight())
    assert fault().verdict(TEXT, outcome).faults
    assert fault().told_by(outcome).last_words == "operation not supported on global/shared address space"
    assert not replace(fault(), sight=None).verdict(TEXT, replace(outcome, sight=None)).faults
    misaligned = replace(fault(), last_words="misaligned address")
    assert not misaligned.verdict(TEXT, outcome).faults


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(x, bytes)", "(x, 9999)"),
        ("(x, bytes)", "(nullptr, bytes)"),
        ("(x, bytes)", "((float*)16, bytes)"),
        ("cudaMalloc(&x, bytes)", "cudaMalloc(&x, 4 * sizeof(float))"),
        (", bytes>>>", ", 64>>>"),
        (", bytes>>>", ">>>"),
    ],
)
def test_what_was_computed_may_not_become_a_number(old: str, new: str) -> None:
    assert old in TEXT and not fault().objection(TEXT)
    assert fault().objection(TEXT.replace(old, new))


def test_numbers_that_the_program_had_may_stay_or_go() -> None:
    text = TEXT.replace("cudaMalloc(&x, bytes)", "cudaMalloc(&x, 512); cudaMalloc(&y, 64)")
    before = numbers_of(parse(text))
    assert not numbers_of(parse(text.replace("cudaMalloc(&y, 64)", ""))).added(before)
    assert numbers_of(parse(text.replace("512", "4"))).added(before)


@pytest.mark.parametrize(
    ("launch", "allowed"),
    [
        ("scale<<<1, 32, bytes>>>(x, 8);", True),
        ("scale<<<1, 32>>>(x, n);", True),
        ("scale<<<1, 32, n>>>(4);", True),
        ("scale<<<1, 32, bytes>>>(0, 4);", False),
        ("scale<<<1, 32, bytes>>>(0, bytes);", False),
        ("scale<<<1, 32, bytes>>>(9, 9, 9);", False),
        ("fill<<<1, 32>>>(x, n);", False),
    ],
)
def test_a_launch_that_went_lends_no_number_to_another(launch: str, allowed: bool) -> None:
    """A null for the pointer, where both launches together have two numbers."""
    launched = "scale<<<1, 32, bytes>>>(x, bytes);"
    text = TEXT.replace(launched, "scale<<<1, 32, bytes>>>(x, 4); scale<<<1, 32>>>(y, 8); fill<<<1, 32, n>>>(x, n);")
    before = numbers_of(parse(text))
    assert (not numbers_of(parse(TEXT.replace(launched, launch))).added(before)) == allowed


def test_a_candidate_that_makes_something_up_is_not_even_built(tmp_path: Path) -> None:
    trial = NvccTrial(tmp_path / "no_nvcc", (), "k.cu", tmp_path, environment={}, hosted=False)
    with ThreadPoolExecutor(1) as threads:
        test = NvccTest(trial, fault(), 1.0, threads, frozenset({"scale"}))
        verdict = test.verdict(TEXT.replace("(x, bytes)", "(nullptr, bytes)"))
        assert verdict.is_known and not verdict.faults and "that the program computed" in verdict.why
        other = TEXT.replace("main() {", "main() { scale<<<1, 1>>>(x, bytes);", 1)
        assert "scale" in test.verdict(other.replace("__global__ void scale", "extern void scale")).why
        with pytest.raises(OSError):
            test.verdict(TEXT)


NVCC = """\
#!/bin/sh
while [ $# -gt 0 ]; do [ "$1" = -o ] && out=$2; shift; done
printf '#!/bin/sh\\nexit 1\\n' > $out
chmod +x $out
"""
SANITIZER = """\
#!/bin/sh
if [ "${{SHRINK_ROOM_MEMORY:-1}}" = 1 ]; then cat {record}; else cat {roomy}; fi
echo "========= ERROR SUMMARY: 1 error"
"""
NO_MEMORY = """\
========= Program hit cudaErrorMemoryAllocation (error 2) due to "out of memory" on CUDA API call to cudaMalloc.
=========     Saved host backtrace up to driver entry point at error
=========
"""


@pytest.mark.parametrize(
    ("plain", "roomy", "room"),
    [(RECORD, "", Room("memory", 2)), (RECORD, NO_MEMORY, None), (NO_MEMORY + RECORD, NO_MEMORY, Room("memory", 2))],
    ids=["mended", "nothing was launched", "as it was"],
)
def test_a_control_in_which_a_call_fails_tells_nothing(
    tmp_path: Path, plain: str, roomy: str, room: Room | None
) -> None:
    found = examined(tmp_path, plain, roomy)
    assert found.sight == sight() and found.room == room


def examined(folder: Path, plain: str, roomy: str, end: str = "") -> CuOutcome:
    """What comes of a run under a sanitizer that prints the first of these; with more memory it prints the other. Then
    it runs the command `end`."""
    trial = NvccTrial(folder / "nvcc", (), "k.cu", folder, environment=dict(os.environ), hosted=False)
    trial.sanitizer, trial.recorder = folder / "sanitizer", folder / "recorder.so"
    texts = {"record": plain, "roomy": roomy, "nvcc": NVCC}
    texts["sanitizer"] = SANITIZER.format(record=folder / "record", roomy=folder / "roomy") + end
    for name, text in texts.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return trial.build(TEXT, "program", 60.0, lambda outcome: DeviceSight.rooms)


def test_no_run_goes_on_behind_the_record_that_tells_all(tmp_path: Path) -> None:
    """On an H200 the first of 21,520 records came after 0.4 s, and the last after 5."""
    begun = time.monotonic()
    found = examined(tmp_path, RECORD, RECORD, end="sleep 300\n")
    assert found.sight == sight() and not found.blind and time.monotonic() - begun < 25


def test_of_a_misaligned_access_more_records_tell_more() -> None:
    others = RECORD.replace("is out of bounds", "is misaligned").replace("thread (0,0,0)", "thread (1,0,0)")
    read = partial(sanitizer_records.records, tool="memcheck")
    assert is_settled(read(RECORD)) and not is_settled(read(NO_MEMORY))
    assert not is_settled(read(others)) and is_settled(read(others * 100))
    assert is_settled(read(others + others.replace("thread (1,0,0)", "thread (0,0,0)")))


def test_a_record_that_is_not_whole_waits_for_the_rest() -> None:
    so_far = partial(sanitizer_records.whole_records, tool="memcheck")
    at = RECORD.rindex("=========")
    for cut in range(at + len("=========")):
        assert not so_far(RECORD[:cut])
    assert so_far(RECORD) == sanitizer_records.records(RECORD, "memcheck")


@pytest.mark.parametrize("room", [None, Room("memory", 2)])
@pytest.mark.parametrize("size", ["bytes * sizeof(float)", "count()", "whole"])
def test_allocations_stay_of_so_many_elements(size: str, room: Room | None) -> None:
    """A sparse product lost `sizeof(float)` of its vector, and left it with the fix of its stride too. A gather lost it
    of its result, which nothing left any more."""
    text = TEXT.replace("cudaMalloc(&x, bytes)", f"size_t whole = bytes * sizeof(float); cudaMalloc(&x, {size})")
    text = "size_t count() { return 4 * sizeof(float); }\n" + text
    assert size in text
    found = run_fault(text, CuOutcome("", False, (), RUN, sight=sight(), room=room), (), hosted=False)
    assert found is not None and not found.objection(text)
    assert "elements" in found.objection(text.replace(f"&x, {size}", "&x, bytes"))


def test_copies_stay_of_so_many_elements() -> None:
    """A copy without `sizeof(float)` fills a quarter of its table: with the fix the rest may be read."""
    copied = "cudaMemcpy(x, y, bytes * sizeof(float), cudaMemcpyHostToDevice);"
    text = TEXT.replace("cudaMalloc(&x, bytes);", f"cudaMalloc(&x, bytes); {copied}")
    found = run_fault(text, CuOutcome("", False, (), RUN, sight=sight()), (), hosted=False)
    assert copied in text and found is not None and not found.objection(text)
    assert "a copy" in found.objection(text.replace("bytes * sizeof(float)", "bytes"))
