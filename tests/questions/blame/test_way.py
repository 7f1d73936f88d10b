"""How a program came to its fault, and whether an installed package raised it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from shrinkray_gpu.questions.blame.way import installed_in, raised_at, way
from shrinkray_gpu.runner.pool import Script
from shrinkray_gpu.runner.run import Failure, Launch, Run
from tests.oracle.test_cause_check import PRODUCT

FRAME = '  File "{}", line {}, in f\n    f()\n'
HEAD = "Traceback (most recent call last):\n"
TORCH = "/venv/lib/python3.11/site-packages/torch/_inductor/graph.py"


def run(*places: tuple[str, int], before: str = "") -> Run:
    text = before + HEAD + "".join(FRAME.format(*place) for place in places) + "KeyError: 7\n"
    return Run(mode="cold", exit=1, failure=Failure("KeyError", "7", (), 1, text))


def test_the_program_s_own_lines_lead_to_it() -> None:
    seen = run(
        ("/work/train.py", 9), (TORCH, 3), ("<string>", 1), ("/work/model.py", 4), ("/usr/lib/python3.11/x.py", 2)
    )
    assert way(seen) == "train.py:9, model.py:4" and raised_at(seen) == "model.py:4"


def test_files_are_named_as_the_user_finds_them_and_the_driver_of_a_command_is_none_of_his() -> None:
    """Two may have one name: `rope.py` calls the kernel in `kernels/rope.py`."""
    script = Script(Path("/work/pytest_test_rope.py"), cwd=Path("/work"), name="-m pytest test_rope.py")
    seen = run((str(script.path), 46), ("/work/rope.py", 7), ("/work/kernels/rope.py", 9), ("/lib/far/away.py", 1))
    assert way(seen, script) == "rope.py:7, kernels/rope.py:9, away.py:1" and raised_at(seen, script) == "away.py:1"


def test_of_an_exception_that_follows_another_the_last_traceback_has_the_whole_way() -> None:
    first = HEAD + FRAME.format("/work/inner.py", 2) + "ValueError\n\nDuring handling of the above exception:\n\n"
    assert way(run(("/work/train.py", 9), before=first)) == "train.py:9"


def test_a_long_way_is_cut_in_its_middle() -> None:
    seen = run(*((f"/work/a{number}.py", number) for number in range(1, 11)))
    assert way(seen) == "a1.py:1, a2.py:2, 4 lines more, a7.py:7, a8.py:8, a9.py:9, a10.py:10"


def test_a_fault_in_a_kernel_is_reached_by_the_launch_and_not_by_where_it_comes_up() -> None:
    broken = Launch("copy", "h", (1,), fault="CUDA error 700", causes=(PRODUCT,))
    seen = replace(run(("/work/train.py", 99)), launches=(replace(broken, host="train.py:7"),))
    assert way(seen) == "train.py:7 launches copy"
    assert way(replace(seen, launches=(broken,))) == ""
    assert way(replace(seen, launches=(replace(broken, causes=()),))) == ""


def test_who_raised_it() -> None:
    assert installed_in(run(("/work/train.py", 9), (TORCH, 3))) == "torch/_inductor/graph.py:3"
    deep = (TORCH, 3), ("/usr/lib/python3.11/json.py", 2)
    assert installed_in(run(("/work/train.py", 9), *deep)) == "torch/_inductor/graph.py:3"
    assert installed_in(run((TORCH, 3), ("/work/train.py", 9), deep[1])) == ""
