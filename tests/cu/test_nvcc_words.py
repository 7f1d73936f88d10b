"""What nvcc's compilers print, as messages that can be compared."""

from __future__ import annotations

from shrinkray_gpu.cu.nvcc_words import NvccMessage, loose, messages

FRONT_END = """\
k.cu(91): error: class "gemm::Fragment<Output, Count> [with Output=half, Count=8]" has no member "low"
      for (int i = 0; i < Count; ++i) out[i] = clamp(this->params.low);
                                                                  ^
          detected during:
            instantiation of "void gemm::kernel(gemm::Arguments<P>) [with P=Clamped]" at line 158

k.cu(12): warning #549-D: variable "sum" is used before its value is set
    sum += 1;
    ^

1 error detected in the compilation of "k.cu".
"""
PTX = """\
.visible .entry _Z4copyPf(
\t.param .u64 _Z4copyPf_param_0
)
{
\tcp.async.cg.shared.global [%r1], [%rd1], 8;
"""


def test_an_error_of_the_front_end_points_at_the_word_above_the_caret() -> None:
    error, warning = messages(FRONT_END, "k.cu")
    assert error.message == NvccMessage(
        "front end", "error", 'class "Fragment" has no member "low"', construct="low", instance=True
    )
    assert "gemm::kernel" in error.raw
    assert warning.number == "549" and warning.message.construct == "sum" and not warning.message.instance


def test_an_error_in_a_header_that_stays_is_known_by_its_line() -> None:
    (found,) = messages("/opt/cuda/include/crt/mma.hpp(474): error: static assertion failed\n", "k.cu")
    assert found.message.construct == "mma.hpp:474"
    (warning,) = messages("warning: /opt/cuda/mma.hpp(474): Warning: cannot perform wmma load\n", "k.cu")
    assert warning.message == NvccMessage("cicc", "warning", "cannot perform wmma load", construct="mma.hpp:474")


def test_an_error_of_ptxas_is_known_by_the_opcode_and_the_kernel_that_it_is_in() -> None:
    said = "ptxas k.ptx, line 5; error   : Argument 2 of instruction 'cp.async': unexpected value '8'\n"
    (found,) = messages(said + "ptxas fatal   : Ptx assembly aborted due to errors\n", "k.cu", PTX)
    assert found.kernel == "copy" and found.message.construct == "cp.async.cg.shared.global"
    assert found.message.words == "Argument N of instruction 'cp.async': unexpected value '8'"


def test_the_kernel_is_that_of_the_words_where_they_name_one() -> None:
    said = "ptxas error   : Entry function '_Z4fillILi8EEvv' uses too much shared data (0xe440 bytes, 0xc000 max)\n"
    (found,) = messages(said, "k.cu")
    assert found.kernel == "fill"
    assert found.message.words == "Entry function 'fill' uses too much shared data (N bytes, N max)"


def test_crashes_and_the_linker_are_told_of() -> None:
    said = "nvcc error   : 'cicc' died due to signal 11 (Invalid memory reference)\nk.o: undefined reference to `run'\n"
    crash, linker = messages(said, "k.cu")
    assert crash.message.who == "nvcc" and linker.message.words == "undefined reference to `run'"


def test_words_lose_what_a_reduction_may_change() -> None:
    assert loose('"a::Tile<float, 8>::Params [with T=float]" at 0x1f') == '"Params" at N'


def test_a_value_that_a_message_quotes_is_the_point_and_its_place_is_not() -> None:
    words = "Argument 2 of instruction 'cp.async': unexpected value '8', expected to be 16"
    assert loose(words) == "Argument N of instruction 'cp.async': unexpected value '8', expected to be N"
