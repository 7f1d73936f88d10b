"""A fault that shows in some processes only: measured first, reduced all the same, and no less likely in the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu.errors import NotReproduced
from shrinkray_gpu.job.reduce import check, reduce
from shrinkray_gpu.options import Options
from tests.e2e.command import plain
from tests.e2e.flaky import ORACLE, SHORT, lay_out


def reduced(path: Path, **more: Any) -> str:
    """Without lifting, which would merge the device into the script, and the chance with it."""
    asked = Options(oracle=(ORACLE,), cwd=path.parent, jobs=2, report=False, skip=frozenset({"lift"}), **more)
    return reduce(path, asked).text


def test_the_same_minimum_as_its_twin_that_always_fails(tmp_path: Path, draws: Path) -> None:
    sure = reduced(lay_out(tmp_path / "always", 1.0, SHORT))
    flaky = reduced(lay_out(tmp_path / "flaky", 0.7, SHORT, draws=draws), confidence=0.999, writable=(draws,))
    assert flaky == sure
    repro = tmp_path / "flaky" / "repro_failing.py"
    seen = sum(plain(repro, cwd=repro.parent).returncode == 1 for _ in range(40))
    assert seen / 40 >= 0.35, "less than half of what it was"


def test_the_rate_is_said_with_its_interval(tmp_path: Path, draws: Path) -> None:
    said: list[str] = []
    path = lay_out(tmp_path, 0.6, SHORT, draws=draws)
    asked = Options(oracle=(ORACLE,), cwd=tmp_path, jobs=2, writable=(draws,))
    assert check(path, asked, say=said.append) == ORACLE
    rate = next(line for line in said if line.startswith("flaky: "))
    assert "95 % interval" in rate and "runs" in rate


def test_a_fault_missed_at_first_is_found_and_adopted(tmp_path: Path, draws: Path) -> None:
    path = lay_out(tmp_path, 0.3, SHORT, draws=draws)  # the first draw is 0.62
    spec = check(path, Options(cwd=tmp_path, jobs=2, writable=(draws,)))
    assert spec == "exception:RuntimeError:CUDA error: misaligned address"


def test_a_fault_that_never_comes_is_not_waited_for_long(tmp_path: Path) -> None:
    path = lay_out(tmp_path, 0.0, SHORT)
    with pytest.raises(NotReproduced, match="in 21 runs. The program ended well"):
        check(path, Options(oracle=(ORACLE,), cwd=tmp_path, jobs=2))
    with pytest.raises(NotReproduced, match="ends without a fault in each of 21 runs"):
        check(path, Options(cwd=tmp_path, jobs=2))


def test_another_fault_each_time_is_no_chance(tmp_path: Path) -> None:
    path = lay_out(tmp_path, 1.0, SHORT)
    with pytest.raises(NotReproduced, match="in 3 runs"):
        check(path, Options(oracle=("exception:ValueError",), cwd=tmp_path, jobs=2))
