"""The real `libtriton` of this interpreter, in one worker for all tests."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from shrinkray_gpu.intermediate.compiler import IrCompiler
from shrinkray_gpu.intermediate.generic_text import read
from shrinkray_gpu.intermediate.model import IrModule


@dataclass(frozen=True)
class Asked:
    """Text to modules and back, by the compiler itself."""

    compiler: IrCompiler

    def module(self, text: str) -> IrModule:
        trial = self.compiler.normal(text)
        assert trial.parsed, trial.said
        return read(trial.texts["generic"])

    def parses(self, text: str) -> str:
        """The text as people write it; fails where the compiler refuses it."""
        trial = self.compiler.normal(text)
        assert trial.parsed, f"{trial.said}\n{text}"
        return trial.texts["pretty"]


@pytest.fixture(scope="session")
def asked() -> Iterator[Asked]:
    pytest.importorskip("triton")
    with IrCompiler(sys.executable, os.environ, "gfx942") as compiler:
        yield Asked(compiler)
