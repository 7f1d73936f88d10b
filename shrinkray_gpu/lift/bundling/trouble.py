"""Why a module stays an ordinary import."""

from __future__ import annotations


class Unmergeable(Exception):
    """`module` cannot become part of the one file."""

    def __init__(self, module: str, why: str) -> None:
        super().__init__(f"{module}: {why}")
        self.module, self.why = module, why
