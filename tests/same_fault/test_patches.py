"""A user's change of the original is read strictly, and carried over to what the reduction left of it."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.passes import PASSES
from shrinkray_gpu.same_fault.patch.merge import words
from shrinkray_gpu.same_fault.patch.patches import Patch, read
from tests.reduction.course import Bench

CORPUS = Path(__file__).parents[2] / "corpus/tma_misaligned"
FAILING = (CORPUS / "failing.py").read_text()
REPRO = (CORPUS / "repro_tma_misaligned.py").read_text()

ORIGINAL = '''\
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, n, factor, BLOCK: tl.constexpr):
    """Multiply."""
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs)
    if factor > 1:
        x = x * factor
    for step in tl.range(0, 4, num_stages=3):
        x += tl.load(y_ptr + step)
    tl.store(y_ptr + offs, x)


def main():
    x = torch.randn(64, 64, device="cuda")
    y = torch.zeros(64, 64, device="cuda")
    scale[(4,)](x.t(), y, 100, 2, BLOCK=1024)
    torch.cuda.synchronize()


main()
'''


def carried(changes: dict[str, str], candidate: str, original: str = ORIGINAL) -> str | None:
    """The candidate with the change of the original that these replacements make."""
    patched = original
    for old, new in changes.items():
        assert patched.count(old) == 1, old
        patched = patched.replace(old, new)
    return Patch("fix.diff", original, patched).carry(candidate).text


# What is left of the program, with names of its own and no functions around the launch.
REDUCED = """\
import torch, triton
import triton.language as tl
@triton.jit
def kernel(a, y_ptr, n):
    o = tl.arange(0, 16)
    b = tl.load(a + o)
    for step in tl.range(4, num_stages=3):
        b += tl.load(y_ptr + step)
    tl.store(y_ptr + o, b)
kernel[(1,)](torch.randn(64).t(), 7)
"""

CARRIED = {
    "another number": (
        {"num_stages=3": "num_stages=1"},
        {"num_stages=3": "num_stages=1"},
    ),
    "a mask for the load, by the candidate's names": (
        {"x = tl.load(x_ptr + offs)": "x = tl.load(x_ptr + offs, mask=offs < n)"},
        {"b = tl.load(a + o)": "b = tl.load(a + o, mask=o < n)"},
    ),
    "a whole line, at the depth that its neighbours have there": (
        {"    tl.store(": "    tl.debug_barrier()\n    tl.store("},
        {"    tl.store(": "    tl.debug_barrier()\n    tl.store("},
    ),
    "a line at the start of a block": (
        {"        x += ": "        tl.debug_barrier()  # ordered\n        x += "},
        {"        b += ": "        tl.debug_barrier()  # ordered\n        b += "},
    ),
    "a line at the top": (
        {"import triton\n": "import triton\nimport os\n"},
        {"import triton.language": "import os\nimport triton.language"},
    ),
    "a line is taken out, and its block stays one": (
        {"        x += tl.load(y_ptr + step)\n": ""},
        {"        b += tl.load(y_ptr + step)\n": "        pass\n"},
    ),
    "lines go into a block": (
        {"    tl.store(y_ptr + offs, x)\n": "    if pid_known:\n        tl.store(y_ptr + offs, x)\n"},
        {"    tl.store(y_ptr + o, b)\n": "    if pid_known:\n        tl.store(y_ptr + o, b)\n"},
    ),
    "lines come out of a block": (
        {"    for step in tl.range(0, 4, num_stages=3):\n        x += tl": "    x += tl"},
        {"    for step in tl.range(4, num_stages=3):\n        b += tl": "    b += tl"},
    ),
    "a call around an argument": (
        {"tl.store(y_ptr + offs, x)": "tl.store(y_ptr + offs, tl.where(offs < n, x, 0.0))"},
        {"tl.store(y_ptr + o, b)": "tl.store(y_ptr + o, tl.where(o < n, b, 0.0))"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CARRIED)
def test_a_change_is_carried_over(case: str) -> None:
    change, expected = CARRIED[case]
    wanted = REDUCED
    for old, new in expected.items():
        assert wanted.count(old) == 1
        wanted = wanted.replace(old, new)
    text = carried(change, REDUCED)
    assert text is not None
    assert words(text) == words(wanted), text
    if "ordered" in wanted:
        assert "# ordered\n" in text


LOST = {
    "the line is gone": {"x = x * factor": "x = x * factor * 2"},
    "a name that it needs is gone": {"x = tl.load(x_ptr + offs)": "x = tl.load(x_ptr + offs, mask=mask)"},
    "the words are gone": {"BLOCK=1024": "BLOCK=512"},
    "the block is gone": {"        x = x * factor\n": "        x = x * factor\n        x = x + 1\n"},
}


@pytest.mark.parametrize("case", LOST)
def test_a_change_whose_place_is_gone_is_not_carried_over(case: str) -> None:
    patched = ORIGINAL
    for old, new in LOST[case].items():
        patched = patched.replace(old, new)
    found = Patch("fix.diff", ORIGINAL, patched).carry(REDUCED)
    assert found.text is None
    assert found.why.startswith("fix.diff does not fit any more: ") and "\n" not in found.why


def test_a_candidate_that_is_so_already_is_not_changed() -> None:
    patch = Patch("fix.diff", ORIGINAL, ORIGINAL.replace("num_stages=3", "num_stages=1"))
    found = patch.carry(REDUCED.replace("num_stages=3", "num_stages=1"))
    assert (found.text, found.why) == (None, "fix.diff changes nothing here: the program is so already")


def test_parts_that_do_not_fit_are_told() -> None:
    patched = ORIGINAL.replace("num_stages=3", "num_stages=1").replace("x * factor", "x * factor * 2")
    found = Patch("fix.diff", ORIGINAL, patched).carry(REDUCED)
    assert found.text == REDUCED.replace("num_stages=3", "num_stages=1")
    assert not found.whole
    assert found.why == "only 1 of 2 changes of fix.diff fit ('x = x * factor' is gone)"


def test_brackets_are_opened_and_closed_together() -> None:
    """The call is put around two lines' worth of words; where one end is gone the other must not go in alone."""
    original, fixed = "y = left + middle + right\nz = 1\n", "y = left + wrap(middle + right)\nz = 1\n"
    assert carried({original: fixed}, "y = left + middle + right\n", original) == fixed.replace("z = 1\n", "")
    text = carried({original: fixed}, "y = middle + right\nz = 1\n", original)
    assert text in (None, "y = wrap(middle + right)\nz = 1\n")


def test_of_two_lines_alike_neither_is_guessed() -> None:
    """Both loads became anonymous and one of them went: nobody can say which one is left."""
    original = "def k(p, q):\n    first = tl.load(p)\n    second = tl.load(q)\n"
    change = {"second = tl.load(q)": "second = tl.load(q, other=0)"}
    assert carried(change, "def k(x):\n    y = tl.load(x)\n", original) is None
    both = carried(change, "def k(x, z):\n    y = tl.load(x)\n    w = tl.load(z)\n", original)
    assert both == "def k(x, z):\n    y = tl.load(x)\n    w = tl.load(z, other=0)\n"


def test_an_added_call_goes_with_its_object() -> None:
    change = {"scale[(4,)](x.t(), y": "scale[(4,)](x.t().contiguous(), y"}
    host = 'x = torch.randn(4, device="cuda")\nscale[(1,)](x.t())\ntorch.cuda.synchronize()\n'
    assert carried(change, host) == host.replace("x.t()", "x.t().contiguous()")
    assert carried(change, host.replace("x.t()", "5")) is None


def test_comments_and_layout_of_the_candidate_stay() -> None:
    candidate = "# kept\n\n" + REDUCED.replace("    for", "\n    # why\n    for").replace(
        "\n        b", "\n          b"
    )
    text = carried({"num_stages=3": "num_stages=1"}, candidate)
    assert text is not None and "# kept\n\n" in text and "\n    # why\n" in text
    assert words(text) == words(candidate.replace("num_stages=3", "num_stages=1"))


# The corpus

MANY = {
    "the loop": ("num_stages=STAGES", "num_stages=1"),
    "the load": ("student.load([row_start, col_start])", "student.load([row_start, col_start]).to(tl.float32)"),
    "the tile": ("block_shape=[BLOCK_R, BLOCK_V])\n    teacher", "block_shape=[BLOCK_R, 32])\n    teacher"),
    "a barrier": ("        terms, grads = jsd_terms(", "        tl.debug_barrier()\n        terms, grads = jsd_terms("),
}
SHORT = {
    "the loop": ("num_stages=3", "num_stages=1"),
    "the load": ("student.load([0, 0])", "student.load([0, 0]).to(tl.float32)"),
    "the tile": ("block_shape=[1, 4]", "block_shape=[1, 32]"),
    "a barrier": ("student.load([0, 0]))\n", "student.load([0, 0]))\n        tl.debug_barrier()\n"),
}


@pytest.mark.parametrize("case", MANY)
def test_from_247_lines_to_the_17_of_the_repro(case: str) -> None:
    """Names are others there, constants took the place of parameters, and nine tenths of the lines are gone."""
    text = carried(dict([MANY[case]]), REPRO, FAILING)
    assert text == REPRO.replace(*SHORT[case])


def test_a_fix_in_the_table_of_configurations_is_lost_with_the_table() -> None:
    patch = Patch("fix.diff", FAILING, FAILING.replace("block_vocab=4, num_stages=4", "block_vocab=4, num_stages=1"))
    found = patch.carry(REPRO)
    assert found.text is None and "'CONFIGS = {" in found.why


def test_through_a_whole_reduction(tmp_path: Path) -> None:
    """All passes at work, with a predicate in the place of a GPU; each accepted program takes the change."""
    kept = re.compile(r"for \w+ in tl\.range\(0, \w+[^\n]*num_stages=")

    def holds(text: str) -> bool:
        return bool(kept.search(text)) and bool(re.search(r"student\w*\.load\(\[", text)) and "](" in text

    bench = Bench(holds)
    bench.reduce(FAILING, tmp_path, passes=tuple(one for one in PASSES if not one.needs_values))
    accepted = [event.program.text for event in bench.events if event.kind == "accepted"]
    assert len(accepted) > 20 and len(accepted[-1]) < len(FAILING) / 10
    patch = Patch("fix.diff", FAILING, FAILING.replace("num_stages=STAGES", "num_stages=1"))
    for text in accepted:
        wanted = re.sub(r"(for \w+ in tl\.range\([^\n]*num_stages=)\w+", r"\g<1>1", text)
        found = patch.carry(text)
        assert found.text is not None and words(found.text) == words(wanted), found.why


LINES = [line for line in FAILING.splitlines() if re.match(r" +\w+(, \w+)* [+*-]?= .*[\w)\]]$", line)]
NAMES = ["student_lp", "teacher_lp", "col_start", "row_start", "grad_sum", "inv_temperature", "vocab", "in_range"]


@settings(max_examples=40, deadline=None)
@given(
    case=st.sampled_from(sorted(MANY)),
    dropped=st.sets(st.sampled_from(LINES)),
    renamed=st.sets(st.sampled_from(NAMES)),
)
def test_to_reduce_and_change_is_to_change_and_reduce(case: str, dropped: set[str], renamed: set[str]) -> None:
    """Whatever assignments go and whatever names change, both orders end in the same program, or the change is off."""
    before, after = MANY[case]

    def reduced(text: str) -> str:
        kept = [re.sub(r"\S.*", "pass", line) if line in dropped and line not in before else line
                for line in text.splitlines()]  # fmt: skip
        text = "\n".join(kept) + "\n"
        for number, name in enumerate(sorted(renamed)):
            text = re.sub(rf"\b{name}\b", f"v{number}", text)
        return text

    def told(text: str) -> list[tuple[int, tuple[str, ...]]]:
        return [(depth, said) for depth, said in words(text) if said != ("pass",)]

    found = Patch("fix.diff", FAILING, FAILING.replace(before, after)).carry(reduced(FAILING))
    assert found.whole or dropped, found.why
    if found.text is not None and found.whole:
        assert told(found.text) == told(reduced(FAILING.replace(before, after)))


# Reading


def diff(old: str, new: str, context: int = 3) -> str:
    names = ("a/failing.py", "b/failing.py")
    return "".join(difflib.unified_diff(old.splitlines(True), new.splitlines(True), *names, n=context))


FIXED = ORIGINAL.replace("num_stages=3", "num_stages=1").replace("import torch\n", "import os\nimport torch\n")


@pytest.mark.parametrize("context", [0, 1, 3])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_diffs_are_read(tmp_path: Path, context: int, newline: str) -> None:
    head = "diff --git a/failing.py b/failing.py\nindex 1..2 100644\n"
    (tmp_path / "fix.diff").write_text((head + diff(ORIGINAL, FIXED, context)).replace("\n", newline), newline="")
    patch = read(tmp_path / "fix.diff", ORIGINAL, "failing.py")
    assert (patch.name, patch.patched, patch.carry(ORIGINAL).text) == ("fix.diff", FIXED, FIXED)


def test_a_whole_script_is_read_too(tmp_path: Path) -> None:
    (tmp_path / "fixed.py").write_text(FIXED)
    assert read(tmp_path / "fixed.py", ORIGINAL, "failing.py").patched == FIXED


def test_lines_may_have_shifted_since_if_the_place_is_clear(tmp_path: Path) -> None:
    (tmp_path / "fix.diff").write_text(diff(ORIGINAL, FIXED))
    assert read(tmp_path / "fix.diff", "# new\n\n" + ORIGINAL, "failing.py").patched == "# new\n\n" + FIXED


REFUSED = {
    "another script": (
        diff(ORIGINAL.replace("arange(0", "arange(1"), FIXED.replace("arange(0", "arange(1"), 6),
        r"hunk 2 of fix.diff \(@@ -9,.* @@\) does not apply to failing.py: line 10 is 'offs = .*it expects 'offs",
    ),
    "other spacing": (
        diff(ORIGINAL.replace("x += tl", "x  += tl"), FIXED.replace("x += tl", "x  += tl")),
        r"hunk 2 .* line 16 .*the spacing differs",
    ),
    "cut off": (diff(ORIGINAL, FIXED)[:-120], "announces 7 old and 7 new lines"),
    "a line short": (diff(ORIGINAL, FIXED).rpartition("\n ")[0] + "\n", "comes 'end of the file'"),
    "several files": (
        diff(ORIGINAL, FIXED) + diff("a\n", "b\n").replace("failing", "other"),
        "several files .*other.py",
    ),
    "no diff": ("num_stages=1\n", "neither a unified diff"),
    "comments only": (diff(ORIGINAL, ORIGINAL.replace("import torch\n", "import torch  # 2.11\n")), "only comments"),
    "no Python any more": (diff(ORIGINAL, ORIGINAL.replace("def main():", "def main(:")), "not Python any more"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_applied_is_refused_in_one_line(tmp_path: Path, case: str) -> None:
    text, said = REFUSED[case]
    (tmp_path / "fix.diff").write_text(text)
    with pytest.raises(UsageError, match=said) as raised:
        read(tmp_path / "fix.diff", ORIGINAL, "failing.py")
    assert "fix.diff" in str(raised.value) and "\n" not in str(raised.value)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read .No such file"):
        read(tmp_path / "fix.diff", ORIGINAL, "failing.py")
