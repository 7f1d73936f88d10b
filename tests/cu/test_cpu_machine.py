"""Programs that try to make the machine of one core say a wrong "yes": it tells them apart, or that it cannot tell."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu.cu.cu_fault import CuFault, ending, first_look
from shrinkray_gpu.cu.cu_program import program_of, text_of
from shrinkray_gpu.cu.device_sight import DeviceSight
from shrinkray_gpu.cu.nvcc_trial import CuOutcome
from shrinkray_gpu.cu.on_cpu.cpu_trial import UNSET, CpuTrial
from shrinkray_gpu.passes.cuda import cuda_objects
from shrinkray_gpu.reduction.rendering.render import render
from shrinkray_gpu.runner.run import Run

pytestmark = pytest.mark.skipif(not (shutil.which("nvcc") and shutil.which("g++")), reason="nvcc and g++ are needed")

HEAD = """
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <vector>
void report() {
  if (cudaError_t error = cudaDeviceSynchronize()) {
    fprintf(stderr, "%s\\n", cudaGetErrorString(error));
    exit(1);
  }
}
"""


def run(cpu: CpuTrial, source: str) -> CuOutcome:
    return cpu.build(HEAD + source, "program", 60.0, first_look)


def place_of(outcome: CuOutcome) -> str:
    assert outcome.sight is not None, outcome
    return outcome.sight.place


def sorts_of(outcome: CuOutcome) -> frozenset[str]:
    assert outcome.survey is not None, outcome
    return outcome.survey.sorts


READ = "__global__ void get(const int* in, int* out, int at) { *out = in[at]; }\n"


def test_memory_that_a_destructor_frees_is_no_memory_beside_an_allocation(cpu: CpuTrial) -> None:
    owner = "struct Owner { int* p; Owner() { cudaMalloc(&p, 400); } ~Owner() { cudaFree(p); } };\n"
    body = "int main() { int *out, *in; cudaMalloc(&out, 4); { Owner o; in = o.p; %s } get<<<1, 1>>>(in, out, %d);"
    body += "report(); }"
    freed = run(cpu, READ + owner + body % ("", 3))
    assert place_of(freed) == "freed" and freed.room is None
    assert place_of(run(cpu, READ + owner + body % ("get<<<1, 1>>>(in, out, 100); report();", 3))) == "near"
    alive = run(cpu, READ + owner + body.replace("{ Owner o;", "Owner o; {") % ("", 3))
    assert alive.run is not None and ending(alive.run) == "ends well"


def test_a_class_whose_destructor_is_the_cause_stays(cpu: CpuTrial) -> None:
    owner = "struct Owner { int* p; Owner() { cudaMalloc(&p, 400); } ~Owner() { cudaFree(p); } };\n"
    body = "int main() { int *out, *in; cudaMalloc(&out, 4); { Owner o; in = o.p; }"
    body += "get<<<1, 1>>>(in, out, 3); report(); }"
    program = program_of(HEAD + READ + owner + body, "x.cu")
    (opened,) = cuda_objects.find(program)
    text = text_of(render(program, [opened]))
    assert "Owner" not in text
    outcome = cpu.build(text, "program", 60.0, first_look)
    assert outcome.run is not None and ending(outcome.run) == "ends well"


def test_a_second_access_that_is_wrong_is_seen_behind_the_first(cpu: CpuTrial) -> None:
    source = READ + "int main() { int *in, *out; cudaMalloc(&in, 4); cudaMalloc(&out, OUT); %s report(); }"
    source = source % "get<<<1, 1>>>(in, out, 1);"
    first = run(cpu, source.replace("OUT", "4"))
    assert first.survey is not None and first.survey.sorts == {"global read of 4 bytes near"}
    second = source.replace("OUT", "2")
    cpu.survey = first.survey
    try:
        assert "write of 4 bytes" in run(cpu, second).lacking and not run(cpu, source.replace("OUT", "4")).lacking
    finally:
        cpu.survey = None


def test_to_free_nothing_waits_for_nothing(cpu: CpuTrial) -> None:
    """By it an error was told that a program with no wait of its own hears of by chance."""
    source = READ + "int main() { int *in, *out; cudaMalloc(&in, 4); cudaMalloc(&out, 4); get<<<1, 1>>>(in, out, 1);"
    asked = run(cpu, source + "cudaFree(nullptr); return cudaPeekAtLastError() != cudaSuccess; }")
    assert asked.run is not None and ending(asked.run) == "ends well"
    asked = run(cpu, source + "cudaFree(out); return cudaPeekAtLastError() != cudaSuccess; }")
    assert asked.run is not None and ending(asked.run) == "ends with 1"


@pytest.mark.parametrize(
    "call",
    ["cudaMemset(in, 0, 4)", "cudaMalloc(&in, 4)", "cudaMemcpy(in, out, 4, cudaMemcpyDeviceToDevice)", "cudaFree(0)"],
)
def test_what_waits_for_nothing_on_an_h200_tells_no_error(cpu: CpuTrial, call: str) -> None:
    source = READ + "int main() { int *in, *out; cudaMalloc(&in, 4); cudaMalloc(&out, 4);"
    asked = run(cpu, source + f"get<<<1, 1>>>(in, out, 1); return {call} != cudaSuccess; }}")
    assert asked.run is not None and ending(asked.run) == "ends well"


@pytest.mark.parametrize(
    "call", ["cudaMemcpy(&n, in, BYTES, cudaMemcpyDeviceToHost)", "cudaMemcpy(in, &n, BYTES, cudaMemcpyHostToDevice)"]
)
def test_a_copy_of_nothing_waits_for_nothing(cpu: CpuTrial, call: str) -> None:
    """A reduction left one of 0 bytes to tell the error, which an H200 does not wait for."""
    source = READ + "int main(int n, char**) { int *in, *out; cudaMalloc(&in, 4); cudaMalloc(&out, 4);"
    source += f"get<<<1, 1>>>(in, out, 1); return {call} != cudaSuccess; }}"
    for size, told in (("4", "ends with 1"), ("0", "ends well")):
        asked = run(cpu, source.replace("BYTES", size))
        assert asked.run is not None and ending(asked.run) == told


def test_an_index_that_nobody_wrote_is_another_access(cpu: CpuTrial) -> None:
    table = TABLE.replace("&at, 4)", "&at, 8)").replace("out, at", "out, at + 1")
    assert sorts_of(run(cpu, TABLE)) == {"global read of 4 bytes near"}
    assert "global read of 4 bytes far" in sorts_of(run(cpu, table.replace("in[*at]", "in[*at - 1]")))


def test_the_host_reads_no_memory_of_the_device(cpu: CpuTrial) -> None:
    source = (
        READ + "int main() { int *in, *out; cudaMalloc(&in, 4); cudaMalloc(&out, 4); get<<<1, 1>>>(in, out, 0); %s }"
    )
    assert ending(run(cpu, source % "return *out;").run) == "ends by signal 11"  # type: ignore[arg-type]
    copied = "int got = 0; cudaMemcpy(&got, out, 4, cudaMemcpyDeviceToHost); return got;"
    assert ending(run(cpu, source % copied).run) == "ends well"  # type: ignore[arg-type]


@pytest.mark.parametrize("index", ["host[n]", "host.at(n)", "host.front()"])
def test_an_index_that_leaves_the_host_s_vector_is_another_end(cpu: CpuTrial, index: str) -> None:
    size = "0" if "front" in index else "n"
    source = f"int main(int n, char**) {{ std::vector<int> host({size}); std::cout << {index}; report(); }}"
    assert ending(run(cpu, source).run) == "ends by signal 6"  # type: ignore[arg-type]


EVENTS = """
__global__ void endless(int* p, int n) { p[n] = 1; }
int main() {
  int* p; cudaEvent_t a, b; float time;
  cudaMalloc(&p, 4); cudaEventCreate(&a); cudaEventCreate(&b);
  cudaEventRecord(a); ONE cudaEventRecord(b); TWO
  if (cudaEventSynchronize(b)) return 1;
  return cudaEventElapsedTime(&time, a, b) != cudaSuccess || cudaDeviceSynchronize() ? 2 : 0;
}
"""


@pytest.mark.parametrize(("one", "two", "end"), [(0, 0, "ends well"), (1, 0, "ends with 1"), (0, 1, "ends with 2")])
def test_to_wait_for_an_event_is_to_wait_for_what_was_launched_before(
    cpu: CpuTrial, one: int, two: int, end: str
) -> None:
    launches = {"ONE": f"endless<<<1, 1>>>(p, {one});", "TWO": f"endless<<<1, 1>>>(p, {two});"}
    source = EVENTS.replace("ONE", launches["ONE"]).replace("TWO", launches["TWO"])
    done = run(cpu, source).run
    assert done is not None and ending(done) == end


def test_the_time_between_events_that_nobody_waited_for_tells_nothing(cpu: CpuTrial) -> None:
    source = EVENTS.replace("ONE", "endless<<<1, 1>>>(p, 0);").replace("TWO", "").replace("Synchronize(b)", "Record(b)")
    assert "cannot" in run(cpu, source).trouble


STREAMS = (
    "__global__ void fill(int* p) { *p = 5; }\n"
    + READ
    + """
int main() {
  cudaStream_t a, b; cudaStreamCreate(&a); cudaStreamCreate(&b);
  int *at, *in, *out, got = 0; cudaMalloc(&at, 4); cudaMalloc(&in, 4); cudaMalloc(&out, 4);
  fill<<<1, 1, 0, a>>>(at);
  SYNC
  cudaMemcpyAsync(&got, at, 4, cudaMemcpyDeviceToHost, b);
  cudaStreamSynchronize(b);
  get<<<1, 1, 0, b>>>(in, out, got);
  report();
}
"""
)


@pytest.mark.parametrize("sync", ["cudaStreamSynchronize(a);", "cudaDeviceSynchronize();", "cudaMemset(in, 0, 4);"])
def test_streams_that_wait_for_each_other_are_followed(cpu: CpuTrial, sync: str) -> None:
    outcome = run(cpu, STREAMS.replace("SYNC", sync))
    assert place_of(outcome) == "near" and outcome.sight is not None and outcome.sight.kernel == "get"


def test_work_on_two_streams_at_a_time_tells_nothing(cpu: CpuTrial) -> None:
    assert "cannot" in run(cpu, STREAMS.replace("SYNC", "")).trouble


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("atomicAdd(p + n, 1);", "Invalid __global__ atomic"),
        ("atomicCAS(p + n, 0, 1);", "Invalid __global__ atomic"),
        ("p[0] = __ldg(p + n);", "Invalid __global__ read"),
        ("extern __shared__ int s[]; atomicMax(s + n, 1);", "Invalid __shared__ atomic"),
        ("extern __shared__ int s[]; s[n] = 1; p[0] = s[n];", "Invalid __shared__ write"),
    ],
)
def test_the_kind_of_an_access(cpu: CpuTrial, body: str, kind: str) -> None:
    kernel = f"__global__ void f(int* p, int n) {{ {body} }}\n"
    outcome = run(cpu, kernel + "int main() { int* p; cudaMalloc(&p, 16); f<<<1, 1, 16>>>(p, 4); report(); }")
    assert outcome.sight is not None and outcome.sight.kind == kind
    assert outcome.room is not None and outcome.room.kind == ("shared" if "shared" in kind else "memory")


def test_threads_that_left_neither_vote_nor_count_as_active(cpu: CpuTrial) -> None:
    source = """
    __global__ void f(unsigned* out) {
      if (threadIdx.x >= 20) return;
      __syncwarp();
      const unsigned active = __activemask();
      const int all = __all_sync(active, 1), last = __shfl_sync(active, threadIdx.x, 19);
      const int back = __shfl_sync(active, 7, -13);
      if (threadIdx.x == 3) out[0] = active, out[1] = all, out[2] = last, out[3] = back;
    }
    int main() {
      unsigned *out, got[4]; cudaMalloc(&out, 16); f<<<1, 40>>>(out);
      cudaMemcpy(got, out, 16, cudaMemcpyDeviceToHost); printf("%x %u %u %u", got[0], got[1], got[2], got[3]);
    }
    """
    outcome = run(cpu, source)
    assert outcome.run is not None and outcome.run.stdout == "fffff 1 19 7", outcome


TABLE = (
    READ.replace("int at", "const int* at").replace("in[at]", "in[*at]")
    + """
int main() {
  int *in, *out, *at, host = -1; cudaMalloc(&in, 4); cudaMalloc(&out, 4); cudaMalloc(&at, 4);
  cudaMemcpy(at, &host, 4, cudaMemcpyHostToDevice);
  get<<<1, 1>>>(in, out, at); report();
}
"""
)


def test_an_address_that_hangs_on_what_is_copied_must_go_on_so(cpu: CpuTrial) -> None:
    original = run(cpu, TABLE)
    assert original.copied and place_of(original) == "near"
    other = TABLE.replace("in[*at]", "in[*at - 1]")
    assert not run(cpu, other).copied and not run(cpu, other).lacking
    cpu.copied = True
    try:
        assert run(cpu, other).lacking and not run(cpu, TABLE).lacking
    finally:
        cpu.copied = None


def test_memory_that_is_made_smaller_is_not_what_a_far_access_lacks(cpu: CpuTrial) -> None:
    """A sparse product lost the size of its vector so, and left memory with the fix of its stride too."""
    source = READ + "int main() { int *in, *out; cudaMalloc(&in, BYTES); cudaMalloc(&out, 4);"
    source += "get<<<1, 1>>>(in, out, 1 << 22); report(); }"
    original = run(cpu, source.replace("BYTES", "40000"))
    assert original.room is None and original.wider == 1024
    other = cpu.of_original(original)
    assert not run(other, source.replace("BYTES", "80000")).lacking
    assert "1024 times" in run(other, source.replace("BYTES", "10000")).lacking


def test_what_a_run_without_the_fault_would_do_behind_it_is_not_waited_for(cpu: CpuTrial) -> None:
    endless = "__global__ void endless(int* p) { for (;;) ++*p; }\n"
    source = TABLE.replace("\nint main", f"{endless}int main").replace(
        "at); report", "at); endless<<<1, 1>>>(out); report"
    )
    outcome = run(cpu.limited(5.0), source)
    assert outcome.copied and place_of(outcome) == "near"


def test_an_access_behind_a_vector_that_is_misaligned_is_seen(cpu: CpuTrial) -> None:
    source = """__global__ void f(float* p, float* q) { float4 x = *(float4*)(p + 1); x.x = 2; *(float4*)q = x; }
    int main() { float *p, *q; cudaMalloc(&p, 64); cudaMalloc(&q, 64); f<<<1, 1>>>(p, GIVEN); report(); }"""
    assert sorts_of(run(cpu, source.replace("GIVEN", "q"))) == {"global read of 16 bytes "}
    behind = sorts_of(run(cpu, source.replace("GIVEN", "nullptr")))
    assert behind >= {"global read of 16 bytes ", "global write of 16 bytes far"}


def test_a_misaligned_access_to_a_buffer_that_is_too_small_is_of_another_sort(cpu: CpuTrial) -> None:
    source = """__global__ void f(float* p) { float4 x = *(float4*)(p + 1); p[0] = x.x; }
    int main() { float* p; cudaMalloc(&p, BYTES); f<<<1, 1>>>(p); report(); }"""
    assert sorts_of(run(cpu, source.replace("BYTES", "20"))) == {"global read of 16 bytes "}
    assert sorts_of(run(cpu, source.replace("BYTES", "19"))) == {"global read of 16 bytes beyond"}


def test_a_pointer_to_nothing_is_not_an_index_that_leads_far(cpu: CpuTrial) -> None:
    """Both are far from all memory. A search for the best k lost its payload so, and faulted with its fix."""
    source = READ.replace("int at", "unsigned at") + "int* none() { return 0; }\n"
    source += "int main() { int *in, *out; cudaMalloc(&in, 4); cudaMalloc(&out, 4);"
    source += "get<<<1, 1>>>(GIVEN, out, -1); report(); }"
    assert sorts_of(run(cpu, source.replace("GIVEN", "in"))) == {"global read of 4 bytes far"}
    made_up = sorts_of(run(cpu, source.replace("GIVEN", "none()")))
    assert made_up == {"global read of 4 bytes far", "argument get of 0 bytes in no memory"}


def test_a_read_of_what_nobody_wrote_is_a_second_defect(cpu: CpuTrial) -> None:
    """A reduction kept a kernel and dropped the copy that filled what it reads."""
    source = """__global__ void sum(int* in, int* out, int n) { for (int i = 0; i <= n; ++i) *out += in[i]; }
    int main() { int *in, *out; cudaMalloc(&in, 8); cudaMalloc(&out, 4); FILL; sum<<<1, 1>>>(in, out, 2); report(); }"""
    fills = "cudaMemset(in, 0, 8); cudaMemset(out, 0, 4)"
    original = run(cpu, source.replace("FILL", fills))
    assert sorts_of(original) == {"global read of 4 bytes near"}
    other = cpu.of_original(original)
    assert "that nobody wrote" in run(other, source.replace("FILL", "cudaMemset(out, 0, 4)")).lacking
    assert not run(other, source.replace("FILL", fills)).lacking
    stored = source.replace("*out += in[i]", "{ in[i % 2] = 0; *out = in[i]; }")
    assert sorts_of(run(cpu, stored.replace("FILL", ""))) == {"global read of 4 bytes near"}


SHARED = """template <class T> __global__ void turn(const T* in, T* out, int n) {
  __shared__ T tile[32]; T* kept = tile; FILL __syncthreads(); out[threadIdx.x + n] = kept[31 - threadIdx.x]; }
inline __device__ void count(int* to) {
  __shared__ int bins[4]; BINS __syncthreads(); atomicAdd(bins + threadIdx.x % 4, 1); __syncthreads();
  to[threadIdx.x] = bins[threadIdx.x % 4]; }
__global__ void counted(int* to) { extern __shared__ int more[]; MORE; __syncthreads();
  count(to); to[threadIdx.x] += more[31 - threadIdx.x]; }
int main() { int *in, *out; cudaMalloc(&in, 128); cudaMalloc(&out, 128); cudaMemset(in, 0, 128);
  counted<<<2, 32, 128>>>(out); turn<int><<<2, 32>>>(in, out, 1); report(); }"""
FILLED = {
    "FILL": "kept[threadIdx.x] = in[threadIdx.x];",
    "BINS": "if (threadIdx.x < 4) bins[threadIdx.x] = 0;",
    "MORE": "more[threadIdx.x] = 1",
}


@pytest.mark.parametrize("missing", FILLED)
def test_a_read_of_shared_memory_that_nobody_wrote_is_a_second_defect(cpu: CpuTrial, missing: str) -> None:
    """A reduction may drop what fills a tile: the block before, or zeros that the CPU begins with, stand there then."""
    whole = SHARED
    for name, text in FILLED.items():
        whole = whole.replace(name, text)
    original = run(cpu, whole)
    assert sorts_of(original) == {"global write of 4 bytes near"}
    other = cpu.of_original(original)
    assert "shared" in run(other, whole.replace(FILLED[missing], "")).lacking
    half = whole.replace("kept[threadIdx.x] =", "if (threadIdx.x) kept[threadIdx.x] =")
    assert "shared read of 4 bytes that nobody wrote" in run(other, half).lacking
    assert not run(other, whole).lacking


def test_a_copy_past_the_end_of_the_host_s_block_is_a_second_defect(cpu: CpuTrial) -> None:
    """A reduction made the vector smaller that is copied: its number of rows became that of the blocks."""
    source = """int main() { int *in, *out; cudaMalloc(&in, 400); cudaMalloc(&out, 4); std::vector<int> host(SIZE);
    cudaMemcpy(in, host.data() + 4, 384, cudaMemcpyHostToDevice); get<<<1, 1>>>(in, out, 100); report(); }"""
    source = READ + source
    original = run(cpu, source.replace("SIZE", "100"))
    assert not [each for each in sorts_of(original) if "block" in each]
    other = cpu.of_original(original)
    assert "host read" in run(other, source.replace("SIZE", "99")).lacking
    assert not run(other, source.replace("SIZE", "200")).lacking


def test_a_field_for_alignment_is_read_with_the_others(cpu: CpuTrial) -> None:
    source = """struct Pair { long sum; int head; };
    __global__ void f(Pair* p, Pair* q, int n) { p[0].sum = 1; p[0].head = 2; q[0] = p[0]; q[n] = p[n]; }
    int main() { Pair *p, *q; cudaMalloc(&p, 16); cudaMalloc(&q, 16); f<<<1, 1>>>(p, q, 1); report(); }"""
    assert not [each for each in sorts_of(run(cpu, source)) if "nobody" in each]


def test_a_second_place_with_the_same_sort_of_access_is_a_second_defect(cpu: CpuTrial) -> None:
    source = """__global__ void f(int* in, int* out, int n, int m) { *out = in[n]; *out += in[m]; }
    int main() { int *in, *out; cudaMalloc(&in, 8); cudaMalloc(&out, 4); cudaMemset(in, 0, 8);
    f<<<1, 1>>>(in, out, 2, %d); report(); }"""
    original = run(cpu, source % 1)
    assert sorts_of(original) == {"global read of 4 bytes near"}
    assert "at 2 places" in run(cpu.of_original(original), source % 3).lacking
    loop = "for (int i = 0; in[i] == 0; ++i) *out = i;"
    looped = run(cpu, (source % 1).replace("*out = in[n]; *out += in[m];", loop))
    assert sorts_of(looped) == {"global read of 4 bytes near"}


def test_a_variable_that_was_never_set_is_no_number(cpu: CpuTrial) -> None:
    """An offset lost its `= 0` in a reduction. g++ warns of no variable that something takes the address of."""
    source = READ + "int main() { std::vector<int> lengths, all; for (int i = 0; i < 4; ++i) lengths.push_back(8);"
    source += "int at%s; for (int each : lengths) { all.push_back(at); at += each; } int *in, *out; cudaMalloc(&in, 4);"
    source += "cudaMalloc(&out, 4); get<<<1, 1>>>(in, out, all[0] + 1); report(); }"
    original = run(cpu, source % " = 0")
    assert sorts_of(original) == {"global read of 4 bytes near"}
    unset = run(cpu.of_original(original), source % "")
    assert not unset.failed and original.room is not None and unset.room is None


def test_a_compiler_that_knows_no_pattern_for_variables_does_without(cpu: CpuTrial, tmp_path: Path) -> None:
    """g++ 11 is the one of Ubuntu 22.04."""
    older = tmp_path / "g++"
    older.write_text(f"""#!/bin/sh
case "$*" in *{UNSET}*) echo "g++: error: unrecognized command-line option '{UNSET}'" >&2; exit 1;; esac
exec g++ "$@"
""")
    older.chmod(0o755)
    made = CpuTrial(cpu.trial, str(older), tmp_path)
    assert made.prepare() == "" and UNSET not in made.checks
    outcome = run(made, "int main() { return 3; }")
    assert outcome.run is not None and ending(outcome.run) == "ends with 3"


def test_more_memory_than_any_gpu_has_is_refused(cpu: CpuTrial) -> None:
    outcome = run(cpu, "int main() { int* p; return cudaMalloc(&p, size_t(1) << 39); }")
    assert outcome.run is not None and ending(outcome.run) == "ends with 2"


def test_a_launch_ends_with_its_first_wrong_access_but_a_first_thread_is_waited_for(cpu: CpuTrial) -> None:
    endless = """__global__ void f(int* p, int n) {
      if (threadIdx.x == 1) p[n] = 1;
      if (threadIdx.x == 2) for (;;) p[0]++;
    }
    int main() { int* p; cudaMalloc(&p, 16); f<<<1, 3>>>(p, 4); report(); }"""
    assert place_of(run(cpu.limited(5.0), endless)) == "near"
    odd = """__global__ void f(char* p) { *(int*)(p + (threadIdx.x || blockIdx.x)) = 1; }
    int main() { char* p; cudaMalloc(&p, 16); f<<<BLOCKS, 2>>>(p); report(); }"""
    for blocks, leading in ((1, False), (2, True)):
        sight = run(cpu, odd.replace("BLOCKS", str(blocks))).sight
        assert sight is not None and sight.misaligned and sight.leading is leading


def test_a_verdict_of_another_fault_is_a_no() -> None:
    sight = DeviceSight("get", "Invalid __global__ read", 4, False, "near")
    fault = CuFault("program", False, ending="ends with 1", sight=sight)
    outcome = CuOutcome("", False, (), Run("plain", 1), sight=sight)
    assert fault.verdict("int main() {}", outcome).faults
    assert fault.verdict("int main() {}", replace(outcome, lacking="it hangs on nothing")).why == "it hangs on nothing"


@pytest.mark.parametrize(
    ("header", "use"),
    [
        ("cstring", 'std::strcmp("a", "b")'),
        ("algorithm", "*std::max_element(std::begin({1, 2}), std::end({1, 2}))"),
        ("tuple", "std::get<0>(std::make_tuple(1))"),
    ],
)
def test_a_header_that_the_program_needs_is_not_the_machines_to_give(cpu: CpuTrial, header: str, use: str) -> None:
    """nvcc does not find its names without it."""
    text = f"int main() {{ return {use}; }}\n"
    assert cpu.build(text, "program", 60.0, first_look).failed
    assert not cpu.build(f"#include <{header}>\n{text}", "program", 60.0, first_look).failed


SYMBOL = """
__constant__ int table[4];
__device__ unsigned largest;
__global__ void get(int* in, int at) { in[table[at]] = __float_as_int(1.0f), atomicMax(&largest, (unsigned)table[at]); }
int main() {
  int host[4] = {0, 0, 0, %d}, *in;
  unsigned told = 0;
  cudaMalloc(&in, 400);
  if (cudaMemcpyToSymbol(table, host, sizeof host %s)) return 3;
  get<<<1, 1>>>(in, 3);
  report();
  cudaMemcpyFromSymbol(&told, largest, sizeof told);
  return told == 7 ? 0 : 4;
}
"""


def test_variables_of_the_device_and_a_table_in_constant_memory(cpu: CpuTrial) -> None:
    """The table is cleared with the copies, so that an index from there is seen to be one."""
    well = run(cpu, SYMBOL % (7, ""))
    assert well.run is not None and ending(well.run) == "ends well"
    beyond = run(cpu, SYMBOL % (7, ", 4"))
    assert beyond.run is not None and ending(beyond.run) == "ends with 3"
    outside = run(cpu, SYMBOL % (100, ""))
    assert place_of(outside) == "near" and outside.copied
