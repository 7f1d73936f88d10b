"""Perturbations are program text: it parses, it runs, it does what it says, and the best one is found by its runs."""

from __future__ import annotations

import ast
import random
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from shrinkray_gpu import calibration
from shrinkray_gpu.calibration.perturbation import TITLE, Perturbation, apply_perturbation, choose, variants
from shrinkray_gpu.job import ready
from shrinkray_gpu.oracle.statistics import Rate
from shrinkray_gpu.reduction.journal import Journal
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner import preamble

ON_GPU = '''\
"""Adds up."""
from __future__ import annotations

import torch
import triton

x = torch.ones(8, device="cuda")
'''
ON_CPU = "import torch\n\nx = torch.arange(8)\nprint(x.data_ptr() % 512, x.sum().item())\n"


def named(name: str, text: str) -> Perturbation:
    return next(variant for variant in variants(text) if variant.name == name)


def ran(folder: Path, text: str) -> str:
    path = folder / "script.py"
    path.write_text(text)
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_only_what_makes_sense_is_offered() -> None:
    everything = ["poison", "exact", "shift16", "shift64", "shift128", "shift256", "repeat", "beside"]
    assert [variant.name for variant in variants(ON_GPU)] == everything
    assert [variant.name for variant in variants(ON_CPU)] == ["shift16", "shift64", "shift128", "shift256"]
    assert variants("print('no tensors')\n") == variants("not python\n") == []


@pytest.mark.parametrize("name", [variant.name for variant in variants(ON_GPU)])
def test_it_comes_after_what_must_be_first(name: str) -> None:
    variant = named(name, ON_GPU)
    tree = ast.parse(variant.text)
    compile(tree, "x.py", "exec")  # imports from __future__ are in their place
    assert ast.get_docstring(tree) == "Adds up."
    line = next(line for line in variant.text.splitlines() if line.startswith(TITLE))
    assert variant.note in line
    assert variant.text.replace(f"{line}\n{variant.prelude}", "") == ON_GPU
    assert len(variant.prelude.splitlines()) <= 20


def test_it_leaves_the_order_of_environment_and_imports_alone() -> None:
    text = "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '1'\nimport torch\nx = torch.ones(1, device='cuda')\n"
    late, early = named("poison", text).text, named("exact", text).text
    assert late.index("VISIBLE") < late.index("import torch") < late.index(TITLE) < late.index("x = torch")
    assert early.index(TITLE) < early.index("import os")


def test_an_encoding_line_stays_first() -> None:
    text = "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\nimport torch\n"
    first = "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n"
    assert apply_perturbation(named("exact", ON_GPU), text).startswith(first + TITLE)
    assert apply_perturbation(named("poison", ON_GPU), '"""No end of line."""').startswith(
        '"""No end of line."""\n' + TITLE
    )


def test_names_of_the_program_are_left_alone() -> None:
    text = ON_GPU + "_run = 1\n"
    prelude = named("repeat", text).prelude
    assert "__run = _jit.run" in prelude and " _run" not in prelude and "[_run" not in prelude


def test_the_environment_is_seen_by_the_worker_before_torch_is_imported() -> None:
    assert preamble.read(named("exact", ON_GPU).text).environment == (("PYTORCH_NO_CUDA_MEMORY_CACHING", "1"),)


def test_another_text_gets_the_same_once() -> None:
    variant = named("poison", ON_GPU)
    other = apply_perturbation(variant, "import torch\nprint(1)\n")
    assert other.splitlines()[1].startswith(TITLE) and other.endswith(variant.prelude + "print(1)\n")
    assert apply_perturbation(variant, other) == other


def test_the_title_says_what_it_is_good_for() -> None:
    told = named("poison", ON_GPU).with_rates(Rate(12, 40), Rate(39, 40))
    line = next(line for line in told.text.splitlines() if line.startswith(TITLE))
    assert "free memory is poisoned" in line and "39 of 40 runs, without this in 12 of 40" in line
    assert apply_perturbation(told, ON_CPU).splitlines()[1] == line


def test_tensors_are_shifted_and_else_as_they_were(tmp_path: Path) -> None:
    text = (
        "import torch\ntorch.manual_seed(0)\na = torch.rand(3, 4, requires_grad=True)\na.sum().backward()\n"
        "e = torch.empty(0)\ns = torch.tensor(7.5)\nb = torch.zeros(4, dtype=torch.int8)\n"
        "o = torch.ones(2, out=torch.empty(2))\ni = torch.zeros_like(a)\n"
        "print(a.tolist(), a.grad.tolist(), e.shape, s.item(), o.tolist(), i.shape)\n"
        "print([x.storage_offset() * x.element_size() for x in (a, s, i, b)])\n"
    )
    plain, shifted = (ran(tmp_path, one).splitlines() for one in (text, named("shift64", text).text))
    assert plain[0] == shifted[0]
    assert (plain[1], shifted[1]) == ("[0, 0, 0, 0]", "[64, 64, 64, 0]"), "bytes may be scratch that asks for more"


def test_launches_are_repeated(tmp_path: Path) -> None:
    text = (
        "import triton\nfrom triton.runtime.jit import JITFunction\ncalls = []\n"
        "JITFunction.run = lambda self, *args, grid, warmup: calls.append((args, grid))\n"
    )
    launch = "@triton.jit\ndef k(x):\n    pass\n\nk[(2,)](7)\nprint(len(calls), set(calls))\n"
    prelude = named("repeat", ON_GPU).prelude
    assert ran(tmp_path, text + prelude + launch) == "20 {((7,), (2,))}"


class Drawn:
    """Programs of which those with these words fault at the given rates."""

    def __init__(self, rates: dict[str, float], seed: int = 0) -> None:
        self.rates, self.chance, self.runs = rates, random.Random(seed), 0

    def __call__(self, text: str, runs: int) -> Rate:
        self.runs += runs
        rate = next((rate for words, rate in self.rates.items() if words in text), 0.3)
        return Rate(sum(self.chance.random() < rate for _ in range(runs)), runs)


def test_the_perturbation_that_helps_is_found() -> None:
    found = [choose(ON_GPU, Rate(12, 40), Drawn({"poisoned": 0.95, "128 bytes": 0.6}, seed)) for seed in range(20)]
    assert sum(variant is not None and variant.name == "poison" for variant in found) >= 19


def test_where_none_helps_none_is_taken() -> None:
    tries = [Drawn({}, seed) for seed in range(40)]
    found = [choose(ON_GPU, Rate(12, 40), drawn) for drawn in tries]
    assert sum(variant is not None for variant in found) <= 2
    assert max(drawn.runs for drawn in tries) <= 8 * 12 + 24


def test_one_that_loses_the_fault_is_soon_given_up() -> None:
    drawn = Drawn({"# shrink": 0.0})
    assert choose(ON_GPU, Rate(12, 40), drawn) is None
    assert drawn.runs == 8 * 8


def test_a_sure_fault_needs_none() -> None:
    drawn = Drawn({})
    assert choose(ON_GPU, Rate(40, 40), drawn) is None and drawn.runs == 0


@pytest.mark.parametrize("chosen", [None, Perturbation("poison", "text", "free memory is poisoned", "lines")])
def test_a_resumed_reduction_does_not_choose_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: Perturbation | None
) -> None:
    """Chance chose, and that costs minutes: another choice would be another course."""
    asked: list[Perturbation | None] = []

    def with_perturbation(plan: Any, source: str, known: Perturbation | None) -> Any:
        asked.append(known)
        return SimpleNamespace(rate=plan.rate, mode=SimpleNamespace(variant=known or chosen))

    monkeypatch.setattr(calibration, "with_perturbation", with_perturbation)
    plan: Any = SimpleNamespace(rate=Rate(3, 10), mode=SimpleNamespace(variant=None))
    program = Program.from_text(ON_CPU, "failing.py")
    for resume in (False, True):
        with Journal.open(tmp_path, original=program, seed=0, width=1, settings={}, resume=resume) as journal:
            assert ready._perturbed(plan, program, journal).mode.variant == chosen
    assert asked == ([None] if chosen is None else [None, chosen])
