"""The seam to a vendor: one instance, and nobody reaches past it."""

from __future__ import annotations

import ast
from pathlib import Path
from types import ModuleType
from typing import get_type_hints

import pytest

import shrinkray_gpu
from shrinkray_gpu import device
from shrinkray_gpu.device import architectures, seam
from shrinkray_gpu.device.vendors import AllErrors, AllFigures

PACKAGE = Path(shrinkray_gpu.__file__).parent
VENDORS = ("shrinkray_gpu.device.nvidia", "shrinkray_gpu.device.amd.")
AMONG_VENDORS = {"CODES"}
"""What `device/vendors.py` asks, to know whose an error is."""
PROTOCOLS = {member: kind.__name__ for member, kind in get_type_hints(device).items()}


def sources() -> list[Path]:
    return [path for path in PACKAGE.rglob("*.py") if not path.is_relative_to(PACKAGE / "device")]


def test_nobody_imports_a_vendor_s_module() -> None:
    reaching = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in sources()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(VENDORS)
    ]
    assert reaching == []


@pytest.mark.parametrize("member", PROTOCOLS)
def test_what_is_handed_out_is_the_vendor_s_own(member: str) -> None:
    module = getattr(device, member)
    if isinstance(module, (AllErrors, AllFigures)):  # a log, or the code itself, tells whose it is
        return
    assert isinstance(module, ModuleType) and module in [getattr(each, member, None) for each in device.VENDORS]


@pytest.mark.parametrize("member", PROTOCOLS)
def test_each_question_of_the_seam_is_asked_by_somebody(member: str) -> None:
    """A seam that nobody uses is a promise that nobody keeps."""
    questions = {name for name in vars(getattr(seam, PROTOCOLS[member])) if not name.startswith("_")}
    used = {
        node.attr
        for path in sources()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == member
    }
    assert questions - used - AMONG_VENDORS == set()


@pytest.mark.parametrize(
    ("typed", "number"),
    [
        ("sm_90", 90),
        ("90", 90),
        ("sm90a", 90),
        ("sm_121", 121),
        ("sm_60", None),
        ("sm_95", None),
        ("gfx942", 0x942),
        ("gfx9420", None),
        ("sm_90b", None),
    ],
)
def test_what_arch_may_be(typed: str, number: int | None) -> None:
    assert architectures.number(typed) == number
    assert number is None or architectures.number(architectures.name(number)) == number
