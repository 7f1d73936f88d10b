"""What Python code finds in the package, and that it takes what a person has at hand."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import shrinkray_gpu
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.events import Event, Finished, Message, Started
from shrinkray_gpu.job.asked import options_of
from shrinkray_gpu.options import Options


def test_each_name_is_shown_before_it_is_imported_and_is_there() -> None:
    assert set(shrinkray_gpu.__all__) <= set(dir(shrinkray_gpu))
    assert all(getattr(shrinkray_gpu, name) is not None for name in shrinkray_gpu.__all__)


@pytest.mark.parametrize("name", ["explain", "reduce", "replay"])
def test_help_shows_no_function_at_an_address(name: str) -> None:
    assert " at 0x" not in str(inspect.signature(getattr(shrinkray_gpu, name)))


def test_options_by_name() -> None:
    made = options_of(Options(seed=3), {"oracle": "misaligned address", "arch": "sm_90", "output": "small.py"})
    assert made == Options(seed=3, oracle=("misaligned address",), arch=90, output=Path("small.py"))


def test_a_slip_is_answered() -> None:
    with pytest.raises(UsageError, match="orcale is no option: did you mean oracle"):
        shrinkray_gpu.reduce("failing.py", orcale="hang")
    with pytest.raises(UsageError, match="such as sm_80"):
        options_of(Options(), {"arch": "hopper"})


def test_a_program_is_reduced_by_one_call(tmp_path: Path) -> None:
    program = tmp_path / "failing.py"
    program.write_text("rows = [1, 2, 3]\nfor n in range(9):\n    print(n)\nraise KeyError('key', rows)\n")
    said: list[str] = []
    heard: list[Event] = []
    result = shrinkray_gpu.reduce(
        str(program), oracle="exception:KeyError", report=False, jobs=1, say=said.append, on_event=heard.append
    )
    assert result.text == "raise KeyError()\n"
    assert said == [event.text for event in heard if isinstance(event, Message)] and said
    assert isinstance(heard[0], Started) and isinstance(heard[-1], Finished)
    assert heard[-1].result == result.to_json()


def test_a_corpus_is_replayed_by_its_folder() -> None:
    with pytest.raises(UsageError, match="nowhere is not a folder"):
        shrinkray_gpu.replay("nowhere", arch="sm_90")
    with pytest.raises(UsageError, match="such as sm_80"):
        shrinkray_gpu.replay("nowhere", arch="sm_1")
