"""Functions that nothing runs."""

from __future__ import annotations

import ast

import pytest

from shrinkray_gpu.start.never_called import never_called


def found(text: str) -> list[str]:
    return sorted(each.name for each in never_called(ast.parse(text)) if isinstance(each, ast.FunctionDef))


def test_what_only_itself_or_another_such_one_names() -> None:
    text = "def a(): pass\ndef b(): b()\ndef c(): b()\ndef d(): '''a'''\nd()"
    assert found(text) == ["a", "b", "c"]


def test_methods_of_a_class_of_its_own() -> None:
    assert found("class C:\n def used(self): pass\n def left(self): self.used()\nC().used()") == ["left"]


@pytest.mark.parametrize(
    "text",
    [
        "@app.get\ndef a(): pass",
        "def test_a(): pass",
        "class C(Base):\n def forward(self): pass",
        "class C(metaclass=M):\n def forward(self): pass",
        "class TestC:\n def check(self): pass",
        "class C:\n def __len__(self): pass",
        "def a(): kernel[1](x)",
        "def a(): kernel.warmup(x, grid=(1,))",
        "def a(): pass\ngetattr(module, 'a' + b)",
        "def a(): pass\ntable = ['a']",
        "def a(): pass\nimport torch\ntorch.a",
    ],
)
def test_what_somebody_may_run(text: str) -> None:
    assert found(text) == []
