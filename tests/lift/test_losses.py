"""What a program's fault is believed to hang on where no script made of it shows it: told by real captures."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.lift import losses
from shrinkray_gpu.lift.inputs import Inputs
from shrinkray_gpu.lift.values import ZEROS
from shrinkray_gpu.runner.inside.capture import contents, description, overlaps
from shrinkray_gpu.runner.inside.capture.contents import SAVED
from shrinkray_gpu.runner.inside.capture.history import EVENTS
from shrinkray_gpu.runner.pool import Pool
from shrinkray_gpu.runner.run import Run
from tests.lift.test_history import HEAD

Y = "y = torch.zeros(32, device='cuda')\n"
VALUES = """
x, y = torch.zeros(32, device="cuda"), torch.zeros(32, device="cuda")
add[(1,)](x, y, 30, C=32)
add[(1,)](y, x, 30, C=32)
"""
HISTORY = f"""
x = torch.zeros(32, device="cuda")
for _ in range({EVENTS + 100}):
    reset[(1,)](x)
"""


def captured(pool: Pool, steps: str) -> Run:
    run = pool.run(HEAD + steps, capture="values")
    assert run.failure is None and run.captured is not None, run.failure
    return run


def test_values_that_nobody_could_look_at(pool: Pool) -> None:
    [told] = losses.lost_properties(captured(pool, VALUES))
    why = "a kernel that did not run would have written it"
    assert told == f"values: not written down is x_ptr of add ({why})"


def test_values_that_are_too_many(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    about = description.argument(torch.randn(SAVED // 4 + 1))
    about["content"] = contents.Contents(str(tmp_path)).describe(torch.randn(SAVED // 4 + 1))
    launch = {"kernel": "add", "arguments": [{"name": "x_ptr", **about}]}
    [told] = losses.lost_properties(Run("cold", 1, captured={"launches": [launch]}))
    assert told == "values: not written down is x_ptr of add (64 MiB are too many)"


def test_history_that_is_too_long(pool: Pool) -> None:
    told = losses.lost_properties(captured(pool, HISTORY))
    assert told[-1] == "history: the list of launches has the latest 2,000 events, 100 came before"


def test_nothing_is_missing(pool: Pool) -> None:
    assert (
        losses.lost_properties(captured(pool, f"x = torch.randn(64, device='cuda')\n{Y}add[(1,)](x, y, 30, C=32)\n"))
        == ()
    )
    assert losses.lost_properties(Run("cold", 1)) == ()


def test_tensors_that_overlap_without_sharing_a_storage_share_one_in_the_script() -> None:
    """As frameworks hand memory to each other. In the list of launches they do not, which is said."""
    torch = pytest.importorskip("torch")
    whole = torch.arange(64, dtype=torch.float32)
    part = torch.from_dlpack(whole[16:])
    assert part.untyped_storage().data_ptr() != whole.untyped_storage().data_ptr()
    given = [{"name": name, **description.argument(value)} for name, value in (("x", whole), ("y", part))]
    arguments, overlap = overlaps.merge_storages(given)
    inputs = Inputs(lambda tensor: ZEROS, set())
    inputs.plan(arguments)
    assert overlap and [inputs.text(argument) for argument in arguments] == ["x", "y"]
    assert inputs.lines == ['buffer = torch.zeros(64, device="cpu")\n', "x = buffer[:64]\n", "y = buffer[16:64]\n"]
    launch = {"kernel": "add", "arguments": arguments, "overlap": overlap}
    [told] = losses.lost_properties(Run("cold", 1, captured={"launches": [launch]}))
    assert told.startswith("aliasing: arguments of add overlap without sharing a storage")
    assert overlaps.merge_storages(given[:1]) == (given[:1], False)
