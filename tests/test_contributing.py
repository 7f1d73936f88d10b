"""The examples of docs/contributing.md, run as they stand there: a page that no longer works fails."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from shrinkray_gpu.evidence.instruments.instrument import PRESENT
from shrinkray_gpu.language.kernel_language import KernelLanguage
from shrinkray_gpu.oracle.spec import OracleForm
from shrinkray_gpu.runner.inside.static.rule import LaunchFacts
from tests.oracle.runs import passing

PAGE = (Path(__file__).parents[1] / "docs" / "contributing.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def block(words: str) -> str:
    """The one example that holds these words."""
    (found,) = [text for text in BLOCKS if words in text]
    return found


def module(words: str, name: str) -> ModuleType:
    made = ModuleType(name)
    exec(compile(block(words), f"docs/contributing.md: {words}", "exec", dont_inherit=True), made.__dict__)
    return made


def test_the_oracle_answers_as_its_row_builds_it(tmp_path: Path) -> None:
    printed = module("class PrintedOracle", "shrinkray_gpu.oracle.printed")
    row = eval(block('shape="printed:TEXT"'), {"OracleForm": OracleForm, "PrintedOracle": printed.PrintedOracle})
    oracle = row.build("printed:nan", "nan", tmp_path)
    assert oracle.judge(passing(stdout="loss nan\n")).faults
    assert not oracle.judge(passing(stdout="loss 0.5\n")).faults


def test_the_instrument_says_what_it_saw() -> None:
    clock = module("took = ", "shrinkray_gpu.evidence.instruments.clock")
    said = clock.INSTRUMENT.look(None, passing(seconds=2.0)).said
    assert (said.state, said.text) == (PRESENT, "the program took 2.0 s")


@pytest.mark.parametrize(
    ("grid", "reason", "unknown"), [((0, 1), True, False), ((1,), False, False), ((None,), False, True)]
)
def test_the_rule_condemns_what_it_knows(grid: tuple[int | None, ...], reason: bool, unknown: bool) -> None:
    rule = module('name="empty-grid"', "shrinkray_gpu.runner.inside.static.empty_grid").RULE
    found = rule.examine(LaunchFacts(ttgir="", ttir="", grid=grid, args=()))  # type: ignore[arg-type]
    assert (bool(found.reason), bool(found.unknown)) == (reason, unknown)


def test_the_pass_passes_its_own_test(monkeypatch: pytest.MonkeyPatch) -> None:
    from shrinkray_gpu.passes import kernel

    casts = module("Casts in kernels", "shrinkray_gpu.passes.kernel.casts")
    monkeypatch.setitem(sys.modules, casts.__name__, casts)
    monkeypatch.setattr(kernel, "casts", casts, raising=False)
    tests = module("def test_a_cast_goes", "test_casts")
    tests.test_a_cast_goes()
    tests.test_a_cast_of_the_host_stays()


def test_the_language_is_a_whole_table() -> None:
    assert isinstance(module("CUTE = KernelLanguage", "shrinkray_gpu.language.cute").CUTE, KernelLanguage)
