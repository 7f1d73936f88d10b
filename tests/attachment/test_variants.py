"""Variants of a repro: which knobs its text has, and that the command shown makes the very text that was tried."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from shrinkray_gpu.attachment.text_edits import TextEdit, command
from shrinkray_gpu.attachment.variants import Knob, knobs

CORPUS = Path(__file__).parents[2] / "corpus"
REPROS = sorted(CORPUS.glob("*/repro_*.py"))
HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n"
LOOP = """\
@triton.jit
def kernel(x, BLOCK: tl.constexpr, STAGES: tl.constexpr = 2):
    for i in tl.range(2, num_stages=3, flatten=True):
        tl.store(x + tl.arange(0, BLOCK), tl.zeros([BLOCK], tl.float32))


x = torch.empty(64, device="cuda")
kernel[(1,)](x, 64)
"""


def found(text: str) -> dict[str, Knob]:
    return {knob.name: knob for knob in knobs(text)}


def test_a_loop_has_its_stages_its_flags_and_the_launch_its_warps() -> None:
    knob = found(HEAD + LOOP)
    stages = knob["num_stages of tl.range (line 7)"]
    assert (stages.kind, stages.current, stages.values) == ("stages", "3", ("1", "2", "3", "4", "5", "6"))
    assert "tl.range(2, num_stages=2, flatten=True)" in stages.variants[0].text
    assert "num_stages=3, flatten=False)" in knob["flatten of tl.range (line 7)"].variants[0].text
    assert "kernel[(1,)](x, 64, num_warps=2)" in knob["num_warps of the launch (line 12)"].variants[0].text
    assert "kernel[(1,)](x, 64, num_stages=2)" in knob["num_stages of the launch (line 12)"].variants[0].text


def test_a_tile_is_found_through_the_name_that_a_launch_gives_it() -> None:
    tile = found(HEAD + LOOP)["tile extent 64 (line 12)"]
    assert {one.value: one.text.splitlines()[-1] for one in tile.variants}["128"] == "kernel[(1,)](x, 128)"


def test_equal_extents_are_changed_together_and_strides_stay() -> None:
    text = (CORPUS / "tma_misaligned" / "repro_tma_misaligned.py").read_text()
    tile = found(text)["tile extent 4 (lines 8, 9)"]
    wide = next(one for one in tile.variants if one.value == "32")
    assert "shape=[1, 1], strides=[4, 1], block_shape=[1, 32])" in wide.text
    assert "tl.zeros([1, 32], tl.float32)" in wide.text
    assert tile.innermost and not found(text)["tile extent 1 (lines 8, 9)"].innermost


def test_below_many_stages_each_number_is_tried() -> None:
    text = (CORPUS / "shared_memory_exceeded" / "repro_shared_memory_exceeded.py").read_text()
    stages = found(text)["num_stages of the launch (line 35)"]
    assert stages.current == "9" and stages.values == tuple(map(str, range(1, 11)))
    assert stages.variants[0].value in ("8", "10")


def test_dtypes_of_tensors_named_or_not() -> None:
    text = "import torch\na = torch.zeros(4, dtype=torch.int8)\nb = torch.ones(4)\nf = lambda n: torch.empty(n)\n"
    knob = found(text)
    assert "dtype=torch.int16" in knob["dtype of tensors (line 2)"].variants[0].text
    inserted = {one.value: one.text for one in knob["dtype of tensors (line 3)"].variants}["float16"]
    assert "torch.ones(4, dtype=torch.float16)" in inserted and "torch.empty(n)\n" in inserted


def test_both_operands_of_a_product_get_one_dtype() -> None:
    text = "@triton.jit\ndef k(x, w):\n    tl.store(x, tl.dot(tl.load(x) * 2, w, out_dtype=tl.float32))\n"
    knob = found(text)["dtype of both operands of tl.dot (line 3)"]
    assert knob.current == "each its own"
    assert {one.value: one.text.splitlines()[2].strip() for one in knob.variants} == {
        "the first one's": "tl.store(x, tl.dot(tl.load(x) * 2, w.to((tl.load(x) * 2).dtype), out_dtype=tl.float32))",
        "the second one's": "tl.store(x, tl.dot((tl.load(x) * 2).to(w.dtype), w, out_dtype=tl.float32))",
    }
    assert "dtype of both operands of tl.dot (line 3)" not in found(text.replace("tl.dot", "tl.sum"))
    assert "dtype of both operands of tl.dot (line 3)" not in found(text.replace(", w,", ", tl.load(\n        w),"))


def test_what_is_no_program_has_no_knobs() -> None:
    assert knobs("def (:\n") == () and knobs("print('fine')\n") == ()


@pytest.mark.parametrize("repro", REPROS, ids=lambda path: path.parent.name)
def test_each_variant_parses_and_the_command_makes_it(repro: Path, tmp_path: Path) -> None:
    text = repro.read_text()
    (tmp_path / "repro.py").write_text(text)
    made = [one for knob in knobs(text) for one in knob.variants]
    assert made or "import triton" not in text, "of CUDA C++ only the flags are turned"
    lines = []
    for number, one in enumerate(made):
        compile(one.text, "variant.py", "exec")
        lines.append(command(text, one.edits, "repro.py").partition(" && ")[0].replace("variant.py", f"{number}.py"))
    subprocess.run(["sh", "-e", "-c", "\n".join(lines)], cwd=tmp_path, check=True)
    for number, one in enumerate(made):
        assert (tmp_path / f"{number}.py").read_text() == one.text, lines[number]


@pytest.mark.parametrize(
    ("line", "old", "new"),
    [
        ("x = a[0] * b.c / d  # $HOME && 'quoted' \\n", "d", "e/f & g\\h"),
        ("f(4, 4, 4)", "4)", "8)"),
        ("ü = 'ä' + f(1)", "1", "2"),
    ],
)
def test_sed_takes_the_words_as_they_are(line: str, old: str, new: str, tmp_path: Path) -> None:
    text = f"first\n{line}\nlast\n"
    at = text.rindex(old)
    (tmp_path / "repro.py").write_text(text)
    edit = TextEdit(at, at + len(old), new)
    subprocess.run(["sh", "-c", command(text, [edit], "repro.py").partition(" && ")[0]], cwd=tmp_path, check=True)
    assert (tmp_path / "variant.py").read_text() == text[:at] + new + text[at + len(old) :]


def test_a_form_feed_ends_no_line() -> None:
    text = "import torch\n\f\nx = torch.zeros(4, dtype=torch.int8)\n"
    assert knobs(text)[0].variants[0].text == text.replace("int8", "int16")
