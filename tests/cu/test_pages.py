"""Whether a GPU ends a kernel for an access that memcheck reports: memory is mapped there by pages of 2 MiB."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from shrinkray_gpu.cu.access_survey import Survey, read_survey
from shrinkray_gpu.cu.cu_fault import CuFault, ending, first_look, run_fault
from shrinkray_gpu.cu.nvcc_test import NvccTest
from shrinkray_gpu.cu.nvcc_trial import CuOutcome
from shrinkray_gpu.cu.on_cpu.cpu_trial import CpuTrial

pytestmark = pytest.mark.skipif(not (shutil.which("nvcc") and shutil.which("g++")), reason="nvcc and g++ are needed")

HEAD = """
#include <cstdio>
void report() {
  if (cudaError_t error = cudaDeviceSynchronize()) {
    fprintf(stderr, "%s\\n", cudaGetErrorString(error));
    exit(1);
  }
}
__global__ void get(const char* in, char* out, long at) { *out = in[at]; }
"""
MAIN = "int main() {{ char *in, *out; {before} cudaMalloc(&in, {size}); cudaMalloc(&out, 1); {after} "
MAIN += "get<<<1, 1>>>(in, out, {at}); report(); }}"
NEAR = "global read of 1 bytes near"


def program(size: str, at: str, before: str = "", after: str = "") -> str:
    return HEAD + MAIN.format(size=size, at=at, before=before, after=after)


def run(cpu: CpuTrial, source: str) -> CuOutcome:
    return cpu.build(source, "program", 60.0, first_look)


def survey(cpu: CpuTrial, source: str) -> Survey:
    outcome = run(cpu, source)
    assert outcome.survey is not None, outcome
    assert outcome.sight is not None and outcome.sight.kernel == "get", "memcheck sees each of them"
    return outcome.survey


@pytest.mark.parametrize(
    ("size", "at", "before", "after", "reach"),
    [
        ("100", "100", "", "", 0),
        ("100", "(2 << 20) - 1", "", "", 0),
        ("100", "2 << 20", "", "", 1),
        ("100", "64 << 20", "", "", 2),
        ("3 << 20", "(4 << 20) - 1", "", "", 0),
        ("3 << 20", "4 << 20", "", "", 1),
        ("2 << 20", "2 << 20", "", "", 1),
        ("2 << 20", "90 << 20", "", "", 2),
        ("100", "-1", "", "", 1),
        ("100", "-512", "cudaMalloc(&out, 512);", "", 0),
        ("100", "-513", "cudaMalloc(&out, 512);", "", 1),
        ("100", "511", "cudaMalloc(&out, 512); cudaFree(out);", "", 0),
        ("100", "512", "cudaMalloc(&out, 512); cudaFree(out);", "", 1),
        ("100", "1", "", "cudaFree(in);", 0),
        ("2 << 20", "1", "", "cudaFree(in);", 1),
        ("100", "90 << 20", "cudaMalloc(&out, 100 << 20);", "", 1),
    ],
)
def test_where_a_gpu_has_memory(cpu: CpuTrial, size: str, at: str, before: str, after: str, reach: int) -> None:
    found = survey(cpu, program(size, at, before, after))
    assert (bool(found.perhaps), bool(found.ending)) == (reach == 1, reach == 2)


def test_a_kernel_goes_on_behind_an_access_that_finds_memory(cpu: CpuTrial) -> None:
    """To the launch that a GPU ends for: a survey sees that one too."""
    two = program("100", "100").replace("report(); }", "get<<<1, 1>>>(in, out, 64 << 20); report(); }")
    assert survey(cpu, two).ending == {NEAR} and not survey(cpu, program("100", "100")).ending


def test_shared_memory_is_given_out_by_128_bytes(cpu: CpuTrial) -> None:
    kernel = "#include <cstdlib>\n__global__ void f(int n) {{ {array} extern __shared__ char s[]; s[n] = 1; {use} }}\n"
    main = "int main() {{ f<<<1, 1, 100>>>({at}); return cudaDeviceSynchronize(); }}"
    for at, array, reach in ((127, "", 0), (128, "", 1), (1024, "", 2), (1024, "__shared__ int other[9];", 1)):
        text = kernel.format(array=array, use="other[0] = 1;" if array else "") + main.format(at=at)
        found = run(cpu, text).survey
        assert found is not None and (bool(found.perhaps), bool(found.ending)) == (reach == 1, reach == 2), (at, array)


def test_an_access_that_a_gpu_has_memory_for_is_not_taken_for_one_that_ends_a_kernel(cpu: CpuTrial) -> None:
    """Where nobody knows, the GPU is asked, in the last round. Of an original with memory there, all are as before."""
    far, near, between = (program("100", at) for at in ("64 << 20", "100", "2 << 20"))
    asked: list[str] = []

    class Gpu(NvccTest):
        def verdict(self, text: str):  # type: ignore[no-untyped-def]
            asked.append(text)
            return super().verdict(text)

    with ThreadPoolExecutor(1) as threads:
        for original, taken, doubtful in ((far, {far}, {between}), (near, {far, near, between}, set())):
            cpu.survey = None
            outcome = run(cpu, original)
            fault = run_fault(original, outcome, (), hosted=False)
            assert isinstance(fault, CuFault) and outcome.run is not None and ending(outcome.run) == "ends with 1"
            fault = replace(fault, room=None)  # another control, which tells how far it is
            gpu = Gpu(with_survey(cpu, None), fault, 60.0, threads)
            quick = NvccTest(with_survey(cpu, outcome.survey), fault, 60.0, threads)
            asked.clear()
            for each in (far, near, between):
                alone = quick.verdict(each)
                assert alone.faults == (each in taken) and alone.is_known == (each not in doubtful), alone
                both = replace(quick, beside=gpu)
                assert both.verdict(each).provisional == (each in doubtful) and not asked
                both.insist(True)
                assert not both.verdict(each).provisional
            assert set(asked) == doubtful


def with_survey(cpu: CpuTrial, found: Survey | None) -> CpuTrial:
    other = cpu.limited(60.0)
    other.survey = found
    return other


def test_what_a_program_writes_in_the_place_of_a_survey_is_none() -> None:
    assert read_survey(["0\ta", "2\ta", "1\tb"]) == Survey(frozenset("ab"), frozenset("b"), frozenset("a"))
    assert read_survey(["3\ta"]) is None and read_survey(["0\t"]) is None and read_survey(["a"]) is None
