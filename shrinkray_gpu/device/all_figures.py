"""The figures of a compiled kernel, whichever vendor's it is: the stages that were delivered tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shrinkray_gpu.device.figures import Figures
from shrinkray_gpu.device.seam import CodeFigures


class AllFigures:
    """Those of all vendors."""

    def __init__(self, vendors: Sequence[CodeFigures]) -> None:
        self._vendors = vendors
        self.STAGES = frozenset[str]().union(*(each.STAGES for each in vendors))

    def figures(self, kernel: str, code: Mapping[str, str], shared: int) -> Figures | None:
        """As the vendor reads them whose code it is; None where none can."""
        found = (each.figures(kernel, code, shared) for each in self._vendors)
        return next((each for each in found if each is not None), None)
