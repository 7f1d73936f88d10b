"""What following a launch's IR tells of it: which accesses, assertions and divisions go wrong, and where that begins.

The virtual GPU makes these records and the tool compares them, so they need the standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Tuple

BOUNDS, ASSERT, DIVISION, ALIGNMENT = "bounds", "assert", "div0", "alignment"
UNINITIALISED, RACE = "uninitialised", "race"
"""What a cause breaks: the static rule of that name."""

WRAPPED = "integer wrapped"
MEMORY = "index from memory"
EMPTY = "empty tensor"
ZERO = "division by zero"
STRIDE = "stride that is not the tensor's"
SWAPPED = "strides in the wrong order"
EXTENT = "extent that is not the tensor's"
OFFSET = "offset beyond the tensor"
DESCRIPTOR = "descriptor beyond the tensor"
BASE = "descriptor of what is not aligned"
NO_MASK = "missing mask"
WRONG_MASK = "mask that lets it through"
ASSERTION = "assertion"
HINT = "untrue hint"
SPECIALISED = "argument that is not as the kernel was compiled for"
ELEMENT = "address between two elements"
UNWRITTEN = "memory that nobody wrote"
UNCLAIMED = "access wider than any claim allows"
UNORDERED = "race"

UPDATE, LOST = "update", "lost update"
"""Of a race, `Cause.detail` begins so: the value that is stored hangs on the one that is loaded, as in `update by add`.
The update is lost if both program instances make it, each on what was there before."""

PROGRAM, RANGE, TRIP, LOADED, ARGUMENT, CONSTANT, GRID, COMPARISON, OTHER = (
    "program", "range", "trip", "loaded", "argument", "constant", "grid", "comparison", "other",
)  # fmt: skip
ANYWHERE = 32 << 20
"""Bytes behind or before a tensor that hardly ever belong to another one: nearer, a device may find memory there."""
INDICES = (PROGRAM, RANGE, TRIP)
"""What numbers the elements: a program instance, a lane of a block, a trip of a loop."""


@dataclass(frozen=True)
class Cause:
    """Where something that goes wrong in a launch begins."""

    breaks: str
    """The static rule of that name."""
    kind: str
    """One of the kinds above: where it begins."""
    operation: str
    """What goes wrong there, and in which type: `product i32`; empty where no operation does. Of a race, the two."""
    role: str
    """What that is to the access: a `term` or `factor` of its address, a `bound` of its mask."""
    inputs: Tuple[str, ...]
    """Of what it is made: `program`, `range`, `trip`, `loaded`, `argument`, `constant`."""
    access: str
    """`load`, `store`, `atomic`."""
    masked: bool
    """Whether the access has a mask that is false somewhere."""
    exact: bool
    """Whether it goes wrong in exact arithmetic, too."""
    far: int
    """Bytes between the tensor's storage and what is accessed; 0 where torch's allocator may hold that, too. At most
    ANYWHERE."""
    first: bool
    """Whether the first program instance already goes wrong."""
    always: bool
    """Of an assertion or a divisor: whether it goes wrong wherever it is asked."""
    detail: str
    """What tells two cases of a kind apart: of strides, which of the tensor's are passed, or that they count bytes; of
    a race UPDATE or LOST; of a loop that leads beyond the tensor, whether only its last trip does."""
    place: str
    """`kernel.py:57:12` of the operation where it begins."""
    at: str
    """The same of the access, the assertion or the division."""
    sentence: str
    """What happens, for a reader."""
    name: str = ""
    """Of what is passed and wrong, as the IR has it: of recent releases the parameter's."""
    values: Tuple[int, ...] = ()
    """What that is, and what it should be where that is known."""
    tensor: str = ""
    """The parameter through which the tensor is passed, as `name`."""
    shape: Tuple[int, ...] = ()
    strides: Tuple[int, ...] = ()
    """Of the tensor, in elements."""
    whole: bool = False
    """Whether a program instance that goes wrong is outside with each of its lanes: it has nothing to do there."""
    fewer: bool = False
    """Whether the access stays inside if the grid is one less along one axis, where an instance is outside as a whole.
    Asked only of a missing mask, and of one that lets it through."""
    by_one: bool = False
    """Whether a mask that lets it through compares with an extent of the tensor's, and would do with one less."""
    sized: bool = False
    """Of a missing mask, and of one that lets it through: whether the kernel compares something with each extent of the
    tensor that it leaves, runs a loop up to there, or is passed it and does nothing with it. Else the tensor may be
    what is too small."""
    passed: Tuple[str, ...] = ()
    """Of the same, if with no other argument of the launch as its bound a mask would do: the arguments in it and in the
    address that are neither an extent nor a stride of the tensor, by `name`; and those of which each alone would
    explain the access, if another were passed."""
    foreign: Tuple[str, ...] = ()
    """What is in the address though it is no index of the tensor's: a comparison, a number, a stride of another one."""
    beyond: Tuple[str, ...] = ()
    """Of a missing mask, and of one that lets it through: which sorts of indices leave their dimension of the tensor,
    as in `inputs`, with the numbers that are added to them if it takes these; empty where nobody knows. Only `trip` if
    a loop leads there by itself."""
    unseen: Tuple[str, ...] = ()
    """Of a mask that lets it through: which sorts of indices are not in it, where another one of the same dimension is,
    as the `k` of `x + at + k` behind `at < n`."""
    guards: Tuple[str, ...] = ()
    """Of each branch that leads to the access by a condition on something that its address is made of, what it hangs
    on: `argument program`."""
    bounds: int = 0
    """How many of the kernel's arguments its mask hangs on; with those that a loop ends at, if that leads beyond the
    tensor by itself. Of an assertion or a divisor, those that it hangs on, and loaded values."""
    indices: Tuple[str, ...] = ()
    """Of a missing mask, and of one that lets it through: the numbers of program instances, lanes and trips in the
    address and in the mask, each by its axis, that of lanes counted from the right, and by the tensor's dimension that
    it runs along: `program y in dimension 0`, `range 1 in the mask`. So are arguments that are added to them. So
    are those that tell the elements of loaded values, of an index from memory as well: if there are two whose address
    has the number of the instance, `program x behind loaded value 1` and `program x behind loaded value 2`."""
    varying: int = 0
    """Of an assertion or a divisor: how many loaded values it hangs on that are others for another program or lane. Of
    a mask that is missing or wrong: how many loaded values the access hangs on, through whatever memory and loops."""
    operands: Tuple[int, ...] = ()
    """The loaded values themselves, where it goes wrong; then, of an assertion or a divisor, the numbers that are
    passed: another launch may have made the loaded ones by the same number."""
    parameters: Tuple[str, ...] = ()
    """The kernel's, by `name`, that what is wrong hangs on, through whatever memory. Of an index from memory also those
    in the mask: they say how many are loaded. Of a race, those that the two addresses hang on beside `tensor`."""
    source: str = ""
    """Of an index from memory: stands for what the tensor holds that it was loaded from; empty where nobody knows. With
    that of atomic additions for what these gave back."""
    below: bool = False
    """Whether the access leaves the tensor's storage before its start, not behind its end."""
    reach: int = 0
    """Bytes from that start to what is accessed, in the lane that was found; 0 where nobody knows."""
    due: bool = True
    """Of an integer that wrapped: whether exact arithmetic, too, makes the access in a lane that goes wrong."""
    overwritten: str = ""
    """`file.py:12` of the host's line that overwrote pinned memory before it had waited for a copy from there, where it
    goes wrong only if the copy takes that."""
    busy: Tuple[str, ...] = ()
    """Then what the device has to do before it comes to the copy, and whether the host writes at once."""


@dataclass(frozen=True)
class Evaluation:
    """What is known of one launch. Where `unknown` is empty, nothing else goes wrong in it."""

    causes: Tuple[Cause, ...] = ()
    unknown: str = ""
    """Why not all of the launch could be followed."""
    hazard: str = ""
    """What is wrong with the launch though it breaks no rule for sure: a loop that never ends, a null pointer under an
    unknown mask, a descriptor of more than its tensor holds."""
    accesses: int = 0
    """How many loads, stores and atomics of the kernel may touch memory in it."""

    @property
    def own_fault(self) -> str:
        """Why nobody knows what a device would make of another fault in this launch; empty if nothing speaks for it."""
        return next((cause.sentence for cause in self.causes if cause.breaks != DIVISION), self.hazard)

    def breaking(self, rule: str) -> Tuple[Cause, ...]:
        """The causes that break one static rule."""
        return tuple(cause for cause in self.causes if cause.breaks == rule)
