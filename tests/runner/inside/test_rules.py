"""The list of static rules: what both interpreters read from it, and how a launch is held against it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from shrinkray_gpu.device import error_table
from shrinkray_gpu.runner.inside.static import rules
from shrinkray_gpu.runner.inside.static.rule import LaunchFacts, Rule, RuleFinding
from shrinkray_gpu.runner.inside.vgpu import launcher
from shrinkray_gpu.runner.inside.vgpu.gpu import Gpu


@pytest.mark.parametrize("rule", [rule for rule in rules.RULES if rule.code], ids=lambda rule: rule.name)
def test_a_rule_ends_in_a_sticky_error_that_it_calls_as_the_driver_does(rule: Rule) -> None:
    error = error_table.by_code(rule.code)
    assert error.sticky and error.text == rule.words


def test_no_two_rules_share_a_name() -> None:
    assert len({rule.name for rule in rules.RULES}) == len(rules.RULES)


def test_a_fault_names_its_rule() -> None:
    [first, *_] = rules.RULES
    assert rules.of_fault(rules.fault_text(first, "k: 16 mod 128")) == (first, "k: 16 mod 128")


@pytest.mark.parametrize("fault", ["k: 16 mod 128", "16 mod 128", "other-rule: k"])
def test_no_rule_stands_in_for_one_that_is_not_named(fault: str) -> None:
    with pytest.raises(ValueError, match="names no static rule"):
        rules.of_fault(fault)


def rule(name: str, code: int, finding: RuleFinding) -> Rule:
    return Rule(name, code, f"words of {name}", "", "", lambda launch: finding)


def judged(monkeypatch: pytest.MonkeyPatch, *asked: Rule) -> Gpu:
    kernel = SimpleNamespace(name="k", asm={"ttgir": "code", "ttir": "code"})
    launch = {"fault": "", "synced": False}
    watch = SimpleNamespace(last_kernel=kernel, launches=[launch], wants=(), sync=lambda: None)
    gpu = Gpu(90, watch)
    monkeypatch.setattr(rules, "RULES", asked)
    launcher._judge(gpu, (1, 1, 1), [("i32", 5)])
    return gpu


def test_the_first_rule_that_a_launch_breaks_names_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = (
        rule("quiet", 1, RuleFinding()),
        rule("broken", 700, RuleFinding(reason="too far")),
        rule("later", 716, RuleFinding(reason="too late")),
    )
    gpu = judged(monkeypatch, *asked)
    assert gpu.watch.launches[0]["fault"] == "broken: too far" and gpu.sticky == 0
    with pytest.raises(RuntimeError, match=r"^CUDA error: words of broken\n.*static:broken .*: too far\)$"):
        gpu.wait()
    assert gpu.sticky == 700


def test_a_rule_that_cannot_decide_leaves_the_launch_undecided_and_asks_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gpu = judged(
        monkeypatch, rule("unsure", 716, RuleFinding(unknown="depends on data")), rule("quiet", 700, RuleFinding())
    )
    assert gpu.watch.launches[0]["undecided"] == "unsure: depends on data" and gpu.pending is None


def test_a_rule_sees_the_code_the_grid_and_the_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[LaunchFacts] = []

    def look(facts: LaunchFacts) -> RuleFinding:
        seen.append(facts)
        return RuleFinding()

    judged(monkeypatch, Rule("looks", 716, "", "", "", look))
    [facts] = seen
    assert (facts.ttgir, facts.ttir, facts.grid, facts.args) == ("code", "code", (1, 1, 1), (5,))


def test_a_rule_that_nobody_asks_for_looks_at_no_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Rule("asked", 700, "", "", "", lambda launch: RuleFinding(reason="too far"), asked=True)
    assert judged(monkeypatch, broken).pending is None
    assert rules.held_against(["static:asked", "ttir"]) == [broken]
