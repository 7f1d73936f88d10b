"""What a fault hangs on that kernels compute: of that nothing goes."""

from __future__ import annotations

import re

from shrinkray_gpu.runner.run import Failure, Launch, Run
from shrinkray_gpu.start.results_slice import with_inputs_kept, with_results_kept

PROGRAM = """\
import torch
import triton
import triton.language as tl

WORDS = ["a", "b"]


@triton.jit
def pick(scores, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out, tl.argmax(tl.load(scores + at), axis=0))


@triton.jit
def gather(picked, words, out):
    tl.store(out, tl.load(words + tl.load(picked)))


@triton.jit
def unrelated(out):
    tl.store(out, 1)


def say(scores):
    other = torch.empty(1)
    unrelated[(1,)](other)
    picked = torch.empty(1)
    pick[(1,)](scores, picked, BLOCK=4)
    print("picked")
    word = WORDS[picked.item()]
    return word


def go(scores):
    picked = torch.empty(1)
    pick[(1,)](scores, picked, BLOCK=4)
    out = torch.empty(1)
    gather[(1,)](picked, torch.zeros(2), out)


SCORES = torch.rand(4)
"""
IN_SAY = PROGRAM + "say(SCORES)\n"
IN_GO = PROGRAM + "go(SCORES)\n"


def kept(marked: str) -> list[str]:
    """The first word or two of the lines that stay."""
    return [re.split(r"[ =(]+", line.strip())[0] for line in marked.splitlines() if "# shrink: keep" in line]


def failing_in(text: str, *lines: str) -> Run:
    numbers = [text.splitlines().index(line) + 1 for line in lines]
    frames = [f'  File "/p.py", line {n}, in {"f" if at else "<module>"}\n' for at, n in enumerate(numbers)]
    traceback = "Traceback (most recent call last):\n" + "".join(frames) + "IndexError: no\n"
    return Run("cold", 1, failure=Failure("IndexError", "no", traceback=traceback))


def test_the_statement_that_fails_its_launch_and_the_kernel_stay() -> None:
    run = failing_in(IN_SAY, "say(SCORES)", "    word = WORDS[picked.item()]")
    found = with_results_kept(IN_SAY, run)
    assert kept(found) == ["WORDS", "def", "at", "tl.store", "picked", "pick[", "word", "SCORES", "say"]
    assert "def pick(scores, out, BLOCK: tl.constexpr):  # shrink: keep-head" in found


def test_what_fails_within_an_argument_that_nobody_takes_stays_with_all_it_hangs_on() -> None:
    """A field that no one reads, of an object that is never made: its value was not looked at."""
    found_class = "class Found:\n    def __init__(self, word):\n        self.word = word\n\n\ndef say("
    text = IN_SAY.replace("def say(", found_class).replace(
        "    word = WORDS[picked.item()]\n    return word\n", "    return Found(WORDS[picked.item()])\n"
    )
    found = with_results_kept(text, failing_in(text, "say(SCORES)", "    return Found(WORDS[picked.item()])"))
    assert {"WORDS", "at", "tl.store", "pick[", "return", "SCORES"} <= set(kept(found))


def test_a_statement_that_no_kernel_has_a_part_in_is_left_to_the_search() -> None:
    text = PROGRAM + "WORDS[2]\n"
    assert with_results_kept(text, failing_in(text, "WORDS[2]")) == ""
    assert with_results_kept(text, Run("cold", 1)) == ""


def launched(kernel: str, *args: str) -> Launch:
    return Launch(kernel, "", (1,), args)


def test_what_another_kernel_writes_for_a_launch_stays_with_that_kernel() -> None:
    tensor = "i32[1] s(1,) +0 @0%128"
    run = Run("cold", 1, launches=(launched("pick", tensor, tensor), launched("gather", tensor, tensor, tensor)))
    found = with_inputs_kept(IN_GO, run, "gather")
    stays = kept(found)
    assert {"at", "pick[", "picked", "SCORES"} <= set(stays) and "unrelated[" not in stays
    assert with_inputs_kept(IN_GO, run, "") == with_inputs_kept(IN_GO, run, "nobody") == ""
