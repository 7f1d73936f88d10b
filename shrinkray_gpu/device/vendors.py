"""The answers of all vendors to what a user may ask without having the GPU: architectures, errors of a log, figures of
compiled code."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shrinkray_gpu.device import seam
from shrinkray_gpu.device.device_error import DeviceError
from shrinkray_gpu.device.figures import Figures
from shrinkray_gpu.errors import UsageError


@dataclass(frozen=True)
class AllErrors:
    """The tables of several vendors as one."""

    tables: Sequence[seam.ErrorTable]

    @property
    def CODES(self) -> frozenset[int]:
        return frozenset().union(*(table.CODES for table in self.tables))

    def by_code(self, code: int) -> DeviceError:
        return next((table for table in self.tables if code in table.CODES), self.tables[0]).by_code(code)

    def parse_error(self, typed: str) -> DeviceError | None:
        return next(filter(None, (table.parse_error(typed) for table in self.tables)), None)

    def sticky_in(self, text: str) -> DeviceError | None:
        return next(filter(None, (table.sticky_in(text) for table in self.tables)), None)


@dataclass(frozen=True)
class AllArchitectures:
    """What `--arch` may be, of several vendors."""

    vendors: Sequence[seam.Architectures]

    @property
    def KNOWN(self) -> Sequence[str]:
        return [name for vendor in self.vendors for name in vendor.KNOWN]

    @property
    def EXAMPLES(self) -> Sequence[str]:
        return (*self.vendors[0].EXAMPLES, *(vendor.EXAMPLES[0] for vendor in self.vendors[1:]))

    def asked(self, name: str) -> int:
        """The number of an architecture that a user names. Raises UsageError, which says what there is."""
        number = self.number(name)
        if number is None:
            *most, last = self.EXAMPLES
            near = difflib.get_close_matches(name, self.KNOWN, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise UsageError(f"{name}: name an architecture such as {', '.join(most)} or {last}{hint}")
        return number

    def number(self, name: str) -> int | None:
        return next((number for vendor in self.vendors if (number := vendor.number(name)) is not None), None)

    def name(self, number: int) -> str:
        knows = (vendor for vendor in self.vendors if vendor.number(vendor.name(number)) == number)
        return next(knows, self.vendors[0]).name(number)

    def name_with_article(self, number: int) -> str:
        """`an sm_90`, `a gfx942`."""
        name = self.name(number)
        return f"{'an' if name.startswith('sm_') else 'a'} {name}"


@dataclass(frozen=True)
class AllFigures:
    """The figures of a compiled kernel, whichever vendor's it is: the stages that were delivered tell."""

    vendors: Sequence[seam.CodeFigures]

    @property
    def STAGES(self) -> frozenset[str]:
        return frozenset().union(*(each.STAGES for each in self.vendors))

    def figures(self, kernel: str, code: Mapping[str, str], shared: int) -> Figures | None:
        """As the vendor reads them whose code it is; None where none can."""
        found = (each.figures(kernel, code, shared) for each in self.vendors)
        return next((each for each in found if each is not None), None)
