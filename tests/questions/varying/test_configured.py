"""A setting arrives at every place that gives the name a value, or where else the program takes it from."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.questions.varying import UserScript, configure
from shrinkray_gpu.questions.varying.configured import ConfiguredProgram
from shrinkray_gpu.questions.varying.settings import Setting


def made(text: str, *settings: str, argv: tuple[str, ...] = ()) -> ConfiguredProgram:
    parts = [one.rpartition("=") if one.startswith("--") else one.partition("=") for one in settings]
    return configure(UserScript(Path("/x/script.py"), text, argv), [Setting(part[0], part[2]) for part in parts])


@pytest.mark.parametrize(
    ("before", "setting", "after"),
    [
        ("BLOCK_M = 64\n", "BLOCK_M=128", "BLOCK_M = 128\n"),
        ("BLOCK_M: int = 64\n", "BLOCK_M=128", "BLOCK_M: int = 128\n"),
        ("A, BLOCK_M = 1, 64\n", "BLOCK_M=128", "A, BLOCK_M = 1, 128\n"),
        ("WIDTH = tl.constexpr(64)\n", "WIDTH=32", "WIDTH = tl.constexpr(32)\n"),
        ("class Cfg:\n    block = 64\n", "block=8", "class Cfg:\n    block = 8\n"),
        ("def main(n=512):\n    pass\n", "n=8", "def main(n=8):\n    pass\n"),
        ("kernel[(1,)](x, BLOCK=64, num_warps=4)\n", "num_warps=8", "kernel[(1,)](x, BLOCK=64, num_warps=8)\n"),
        (
            "def kernel(x, BLOCK: tl.constexpr): pass\nkernel[(1,)](x, 64)\n",
            "BLOCK=32",
            "def kernel(x, BLOCK: tl.constexpr): pass\nkernel[(1,)](x, 32)\n",
        ),
        (
            "c = [triton.Config({'B': 64}, num_warps=2), triton.Config({'B': 32})]\n",
            "B=16",
            "c = [triton.Config({'B': 16}, num_warps=2), triton.Config({'B': 16})]\n",
        ),
        ("DTYPE = torch.float16\n", "DTYPE=torch.float32", "DTYPE = torch.float32\n"),
        ("MODE = 'fast'\n", "MODE=slow", "MODE = 'slow'\n"),
        ("MODE = 'fast'\n", "MODE=16", "MODE = '16'\n"),
        ("ORDER = (1, 0)\n", "ORDER=(0,1)", "ORDER = (0,1)\n"),
        ("SHIFT = -1\nprint(3 - SHIFT)\n", "SHIFT=-2", "SHIFT = -2\nprint(3 - SHIFT)\n"),
    ],
)
def test_in_the_text(before: str, setting: str, after: str) -> None:
    assert made(before, setting).text == after


def test_what_hands_the_value_on_is_left_alone() -> None:
    text = "BLOCK = 64\nkernel[(n // BLOCK,)](x, BLOCK=BLOCK)\n"
    found = made(text, "BLOCK=32")
    assert found.text == "BLOCK = 32\nkernel[(n // BLOCK,)](x, BLOCK=BLOCK)\n"
    assert found.where == ("BLOCK: line 1",)


def test_an_expression_gives_way_where_nothing_else_has_the_name() -> None:
    assert made("kernel[(1,)](x, BLOCK=config.block)\n", "BLOCK=32").text == "kernel[(1,)](x, BLOCK=32)\n"


def test_arguments_of_other_libraries_are_others() -> None:
    text = "dtype = torch.float16\nx = torch.empty(8, dtype=torch.int8)\n"
    assert made(text, "dtype=torch.float32").text == "dtype = torch.float32\nx = torch.empty(8, dtype=torch.int8)\n"


def test_in_the_environment_of_a_program_that_asks_for_it() -> None:
    text = "import os\nBLOCK = int(os.environ.get('BLOCK', '64'))\n"
    found = made(text, "BLOCK=32")
    assert (found.text, found.environment) == (text, {"BLOCK": "32"})
    assert made(text, "env:OTHER=1").environment == {"OTHER": "1"}


def test_on_the_command_line_of_a_program_that_takes_it() -> None:
    text = "parser.add_argument('--block-m', type=int)\n"
    assert made(text, "block_m=32", argv=("--block-m", "64", "--fast")).argv == ("--fast", "--block-m=32")
    assert made(text, "--block-m=32", argv=("--block-m=64",)).argv == ("--block-m=32",)


def test_at_launch_where_the_program_says_nothing() -> None:
    assert made("kernel[(1,)](x)\n", "num_stages=1").knobs == {"num_stages": "1"}
    with pytest.raises(UsageError, match="power of two"):
        made("kernel[(1,)](x)\n", "num_warps=3")


def test_a_name_that_is_nowhere_is_told_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"script\.py has no BLOCKM; did you mean BLOCK_M\?"):
        made("BLOCK_M = 64\n", "BLOCKM=32")
    with pytest.raises(UsageError, match="it gives values to BLOCK_M"):
        made("BLOCK_M = 64\n", "quite_other=32")


def test_names_inside_text_are_no_places() -> None:
    with pytest.raises(UsageError, match="has no BLOCK"):
        made("print(f'{dict(BLOCK=64)}', 'BLOCK = 64')  # BLOCK = 64\n", "BLOCK=32")


def test_several_settings_one_after_the_other() -> None:
    found = made("A = 1\nB = 2\n", "A=30", "B=40")
    assert (found.text, found.where) == ("A = 30\nB = 40\n", ("A: line 1", "B: line 2"))
