"""What must persist of a fault: the message and its construct, no new error, the launch; and the first candidates."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shrinkray_gpu.cu.cu_fault import CuFault, build_fault, launched_by_main, run_fault
from shrinkray_gpu.cu.cu_program import program_of, text_of
from shrinkray_gpu.cu.launch_alone import kernels_alone, launches_alone
from shrinkray_gpu.cu.nvcc_trial import CuOutcome, HostedLaunch
from shrinkray_gpu.cu.nvcc_words import messages
from shrinkray_gpu.reduction.native.native_tree import parse
from shrinkray_gpu.runner.run import Run

TEXT = """\
#include <cstdio>
namespace ns {
template <int N> struct Policy { static constexpr int kSize = N; };
template <typename P> __global__ void fill(float* x) { x[P::kSize] = 1; }
}
__global__ void idle() {}
__global__ void other(int n) { printf("%d", n); }
using Small = ns::Policy<4>;
template <typename P> void run(float* x) { ns::fill<P><<<1, 64>>>(x); other<<<1, 1>>>(3); }
int main() { float* x = nullptr; run<Small>(x); }
"""
REFUSED = "ptxas error   : Entry function '_Z4fillv' uses too much shared data (0xe440 bytes, 0xc000 max)\n"


def outcome(said: str, *, failed: bool = True) -> CuOutcome:
    return CuOutcome(said, failed, tuple(messages(said, "k.cu")))


def fault() -> CuFault:
    found = build_fault(TEXT, outcome(REFUSED), "cubin", ())
    assert found is not None
    return found


def test_main_leads_to_launches_by_its_calls() -> None:
    assert launched_by_main(parse(TEXT)) == {"fill", "other"}
    assert launched_by_main(parse(TEXT.replace("run<Small>(x);", ""))) == frozenset()


@pytest.mark.parametrize("instead", ['puts("run");', "/* run */", "// run\n"])
def test_who_only_speaks_of_a_function_calls_it_not(instead: str) -> None:
    assert launched_by_main(parse(TEXT.replace("run<Small>(x);", instead))) == frozenset()


@pytest.mark.parametrize(
    ("launch", "nothing"),
    [
        ("<<<0, 64>>>", True),
        ("<<<1, 0>>>", True),
        ("<<<1, 0u, 4>>>", True),
        ("<<<dim3(1, 0), 64>>>", True),
        ("<<<dim3(1, 0, 1), 64>>>", True),
        ("<<<1, dim3{0, 4}>>>", True),
        ("<<<blocks(2, 0, 1), 64>>>", False),
        ("<<<dim3(n, 10), 64, 0>>>", False),
        ("<<<10, 100>>>", False),
        ("/* not <<<0, 64>>> */ <<<1, 64>>>", False),
    ],
)
def test_a_launch_of_nothing_is_none(launch: str, nothing: bool) -> None:
    text = TEXT.replace("<<<1, 64>>>", launch)
    assert fault().verdict(text, outcome(REFUSED)).faults != nothing


def test_the_same_message_is_the_same_fault_and_numbers_may_change() -> None:
    assert fault().kernels == {"fill"}
    assert fault().verdict(TEXT, outcome(REFUSED.replace("0xe440", "0xc004"))).faults


@pytest.mark.parametrize(
    ("text", "said", "failed"),
    [
        (TEXT, "", False),
        (TEXT, REFUSED.replace("_Z4fillv", "_Z5otheri"), True),
        (TEXT, REFUSED + 'k.cu(1): error: identifier "x" is undefined\n', True),
        (TEXT.replace("ns::fill<P><<<1, 64>>>(x);", ""), REFUSED, True),
    ],
    ids=["it compiles", "another kernel", "a new error", "no launch of it"],
)  # fmt: skip
def test_what_is_another_fault(text: str, said: str, failed: bool) -> None:
    verdict = fault().verdict(text, outcome(said, failed=failed))
    assert verdict.is_known and not verdict.faults


def test_of_a_message_that_names_no_kernel_every_kernel_that_is_left_stays_launched() -> None:
    said = "warning: mma.hpp(474): Warning: cannot perform wmma load\n"
    warned = outcome(said, failed=False)
    (message,) = warned.messages
    found = CuFault("ptx", False, frozenset([message.message]), idle=frozenset({"idle"}), launches=True)
    assert found.verdict(TEXT, warned).faults
    assert not found.verdict(TEXT.replace("other<<<1, 1>>>(3);", ""), warned).faults


def test_a_candidate_brings_no_second_defect() -> None:
    """An array that its own loop leaves; one that the original has may stay."""
    text = TEXT.replace("int main() {", "int main() { int a[9]; for (int i = 0; i < 9; ++i) a[i] = 0;")
    found = build_fault(text, outcome(REFUSED), "cubin", ())
    assert found is not None and not found.objection(text)
    worse = text.replace("a[9]", "a[1]")
    assert found.objection(worse) == "a loop leaves a"
    wrong = build_fault(worse, outcome(REFUSED), "cubin", ())
    assert wrong is not None and not wrong.objection(worse)


def test_without_a_gpu_a_run_shows_only_what_the_runtime_refuses() -> None:
    run = Run("plain", 1, stderr="fill: invalid argument\n")
    made, refused = HostedLaunch("fill", 0), HostedLaunch("fill", 1)
    ended = CuOutcome("", False, (), run, (made, refused))
    found = run_fault(TEXT, ended, (), hosted=True)
    assert found is not None and found.verdict(TEXT, ended).faults
    assert run_fault(TEXT, replace(ended, launches=(made,)), (), hosted=True) is None
    assert run_fault(TEXT, replace(ended, launches=()), (), hosted=False) is not None
    assert not found.verdict(TEXT, replace(ended, launches=(HostedLaunch("other", 1),))).faults
    assert not found.verdict(TEXT.replace("run<Small>(x);", ""), ended).faults
    assert not found.verdict(TEXT, replace(ended, run=Run("plain", 1, stderr="not found\n"))).faults
    assert not found.verdict(TEXT, replace(ended, run=Run("plain", 0, stderr="fill: invalid argument\n"))).faults


def test_a_launch_alone_has_what_the_templates_around_it_are_given_and_no_more_than_it_leads_to() -> None:
    program = program_of(TEXT, "k.cu")
    first, second = (text_of(program.with_text(text)) for text in launches_alone(program))
    assert first.endswith("int main() { ns::fill<Small><<<1, 32>>>({}); }\n")
    assert "struct Policy" in first and "void run" not in first and "other" not in first
    assert second.endswith("int main() { other<<<1, 32>>>({}); }\n") and "Policy" not in second


def test_a_kernel_alone_keeps_the_host_code() -> None:
    program = program_of(TEXT, "k.cu")
    texts = [text_of(program.with_text(text)) for text in kernels_alone(program)]
    assert len(texts) == 2 and all("void run" in text and "idle" not in text for text in texts)
    assert ["fill<P><<<" in text for text in texts] == [True, False]


@pytest.mark.parametrize(
    "text", ['const char* a = "x"""\n"y";\nint main() {}\n', "#define A '\\''\n// '''\n// \"\"\"\nint f();\n"]
)
def test_any_text_goes_in_and_comes_out_as_it_is(text: str) -> None:
    assert text_of(program_of(text, "k.cu")) == text
