"""The forms of projects are data: each has all parts, and a repro leads to the one that it is of."""

from __future__ import annotations

import pytest
from jinja2 import Environment, PackageLoader

from shrinkray_gpu.attachment.forms import FORMS, choice

PARTS = {"verdict", "error", "repro", "twin", "decides", "duplicates", "environment", "details"}


@pytest.mark.parametrize("name", FORMS)
def test_a_form_has_each_part_once_and_what_is_folded_behind_the_repro(name: str) -> None:
    parts = [part for _, some in FORMS[name].sections for part in some]
    assert len(parts) == len(set(parts)) and set(parts) - {"expected", "without_triton"} == PARTS
    assert parts.index("verdict") < parts.index("repro") < parts.index("twin") < parts.index("details")
    known = Environment(loader=PackageLoader("shrinkray_gpu.attachment")).list_templates()
    assert {f"issue/{part}.md.j2" for part in parts} <= set(known)


TRITON = "import torch\nimport triton\n"


@pytest.mark.parametrize(
    ("text", "whose", "name", "why"),
    [
        (TRITON, "compiler pass ConvertNVGPUToLLVM: it fails", "triton", "no other project is in the repro"),
        (TRITON, "", "triton", "no other project is in the repro"),
        ("import helion.language as hl\n", "ptxas: it refuses", "helion", "the repro has 'import helion'"),
        ("  from vllm import LLM\n", "", "vllm", "the repro has 'from vllm'"),
        (f"{TRITON}f = torch.compile(g)\n", "", "pytorch", "the repro has 'torch.compile'"),
        (f"{TRITON}# helion made it\n", "ptxas at a.py:3 (by ptxas): it refuses", "nvidia", "the verdict is ptxas"),
        (TRITON, "driver or hardware: ECC", "nvidia", "the verdict is driver or hardware"),
    ],
)
def test_the_form_is_that_of_the_outermost_library_in_the_repro(text: str, whose: str, name: str, why: str) -> None:
    form, said = choice("", text, whose)
    assert form.name == name and said.startswith(f"ISSUE.md is for {form.project} ({why}); --for chooses another: ")
    assert f" {name}" not in said.partition(" another: ")[2] and "\n" not in said


def test_what_is_asked_for_goes_before_what_fits() -> None:
    form, said = choice("nvidia", "import helion", "")
    assert form is FORMS["nvidia"] and "(as asked)" in said
