"""How candidates will be run: the one value that calibration comes to, and from which the lanes get their terms."""

from __future__ import annotations

from dataclasses import dataclass

from shrinkray_gpu.calibration.perturbation import Perturbation
from shrinkray_gpu.oracle.statistics import Rate
from shrinkray_gpu.runner.terms import Terms


@dataclass(frozen=True)
class DryMode:
    """How dry runs are made on the virtual GPU."""

    terms: Terms
    predicts: bool = False
    """Whether the dry run of the original shows the fault, and a device does each time: it is answer enough."""
    excludes: bool = False
    """Whether the dry run of the original shows the fault: then one that shows none is answer enough."""


@dataclass(frozen=True)
class Mode:
    """How candidates will be run."""

    name: str
    """`virtual`, `warm` (contexts reused while clean), `fork` (a fresh child each) or `cold` (a process each)."""
    why: str
    terms: Terms
    peak: int = 0
    """The most device memory that the original held, in bytes."""
    dry: DryMode | None = None
    """None: no dry runs are made."""
    machine_code: bool = True
    """Whether the virtual GPU's kernels are made into machine code: not where the fault shows without."""
    rate: Rate | None = None
    """How often the original shows its fault where candidates run; None if it always did."""
    variant: Perturbation | None = None
    """What raises the rate, as text before the program's own; see `with_perturbation`."""
    notes: tuple[str, ...] = ()
