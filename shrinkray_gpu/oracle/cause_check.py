"""The same cause: what goes wrong in a candidate's launch must begin as it does in the original's.

Words, error code and instruction stay the same while a computed index becomes a literal, or a tensor becomes empty. So
the causes that the evaluator of Triton's IR finds on the virtual GPU are compared, kind by kind. A candidate may be
simpler, never otherwise: what came from memory still does, what was masked keeps a mask that can be false, and nothing
goes wrong that did not before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from shrinkray_gpu.runner.inside.static.cause import (
    ARGUMENT,
    ASSERTION,
    BASE,
    CONSTANT,
    DESCRIPTOR,
    ELEMENT,
    EMPTY,
    EXTENT,
    HINT,
    INDICES,
    LOADED,
    MEMORY,
    NO_MASK,
    OFFSET,
    PROGRAM,
    STRIDE,
    SWAPPED,
    TRIP,
    UNORDERED,
    UNWRITTEN,
    WRONG_MASK,
    ZERO,
    Cause,
)
from shrinkray_gpu.runner.run import Launch, Run

GIVEN = frozenset({STRIDE, SWAPPED, EXTENT, OFFSET, DESCRIPTOR, BASE})
"""Kinds that lie in a value which the host passes: from an argument it may not become a literal of the kernel."""
HELD = frozenset({MEMORY, EMPTY, UNWRITTEN})
"""Kinds that lie in what a tensor holds."""
GUARDED = frozenset({OFFSET, MEMORY, NO_MASK, WRONG_MASK})
"""Kinds that a wrong condition of a branch brings about, too: each that led to the access still does."""
HOST = "what the host does to make the value may be gone; see that the fix of the original mends the repro"
KEPT = "the kernel may take the value otherwise than it did; see that the fix of the original mends the repro"
"""Of programs that nobody had tuned on, some repros kept what the host did, and the kernel went wrong by itself."""
TIME = "whether the device comes to the copy late enough, only runs on one tell"
CONDITIONS = frozenset({ASSERTION, ZERO})
"""Kinds that no address shows: a passed operand of theirs may become a literal nowhere."""


@dataclass(frozen=True)
class LaunchCauses:
    """What goes wrong in the launch that faults, in the order of the program."""

    kernel: str
    causes: tuple[Cause, ...]
    unknown: str = ""
    """Why that may not be all."""
    kept: bool = False
    """Whether all that the host does to make what goes wrong is kept. Then an index from memory comes from a tensor
    that holds the same, and an assertion compares the same values."""
    others: tuple[Cause, ...] | None = ()
    """What goes wrong in the other launches; None where not all of these could be followed."""

    @classmethod
    def of(cls, run: Run) -> LaunchCauses | None:
        """Those of the first launch in which anything goes wrong; None where nothing does, or nobody knows."""
        launch = faulting_launch(run)
        if launch is None:
            return None
        beside = [each for each in run.launches if each is not launch]
        unknown = any(each.unfollowed for each in beside)
        others = tuple(dict.fromkeys(cause for each in beside for cause in each.causes))
        return cls(launch.kernel, launch.causes, launch.unfollowed, others=None if unknown else others)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> LaunchCauses:
        """What `dataclasses.asdict` made of them, as JSON brings it back."""

        def tuples(one: Mapping[str, Any]) -> dict[str, Any]:
            return {name: tuple(value) if isinstance(value, list) else value for name, value in one.items()}

        causes = {
            name: tuple(Cause(**tuples(one)) for one in data[name])
            for name in ("causes", "others")
            if data.get(name) is not None
        }
        return cls(**{**data, **causes})

    def __str__(self) -> str:
        first = self.causes[0]
        if first.overwritten:
            return "pinned memory that was overwritten before a copy from there was done"
        return f"{first.kind} ({first.operation})" if first.operation else first.kind

    @property
    def made_by_host(self) -> bool:
        """Whether the host program makes what goes wrong; False where that is the kernel's doing, or unknown."""
        return self._makes_value or is_of_grid(self.causes[0])

    @property
    def _makes_value(self) -> bool:
        first = self.causes[0]
        if first.overwritten:
            return True
        given = first.kind in (*GIVEN, ELEMENT) and ARGUMENT in first.inputs
        if given or first.kind in HELD:
            return True
        return first.kind in CONDITIONS and not {ARGUMENT, LOADED}.isdisjoint(first.inputs)

    @property
    def may_be_made_by_host(self) -> bool:
        """The same, or whether that may be wrong: a tensor that does not have what the kernel takes for its own; where
        a mask is missing or wrong, what the access hangs on of memory, or of what is passed and is not the tensor's,
        or the size of a tensor; what is passed where program instances race."""
        return self._may_make_value or self._is_of_size

    @property
    def of_size_alone(self) -> bool:
        """Whether nothing but a tensor that is too small, or a grid that is too large, may be wrong with the host."""
        return self._is_of_size and not self._may_make_value

    @property
    def of_hint(self) -> bool:
        """Whether a hint is untrue of something that is passed: be it the hint that is wrong, or what is passed."""
        first = self.causes[0]
        return first.kind == HINT and not {ARGUMENT, LOADED}.isdisjoint(first.inputs)

    @property
    def _is_of_size(self) -> bool:
        return is_of_grid(self.causes[0]) or may_be_of_size(self.causes[0])

    @property
    def _may_make_value(self) -> bool:
        first = self.causes[0]
        masked = first.kind in (NO_MASK, WRONG_MASK) and (LOADED in first.inputs or bool(first.passed))
        return self._makes_value or first.kind in GIVEN or masked or may_be_of_launch(first) or self.of_hint

    @property
    def doubt(self) -> str:
        """What of the bug a candidate with the same causes may have lost."""
        if not self.may_be_made_by_host:
            return ""
        told = KEPT if self.kept else HOST
        return f"{told}; {TIME}" if self.causes[0].overwritten else told

    def contradiction(self, run: Run) -> str:
        """The same, of a run that does not tell which fault a device would show; empty where that may be this one."""
        launch = faulting_launch(run)
        followed = launch is not None and launch.causes and (self.unknown or not launch.unfollowed)
        return self.difference(run) if followed else ""

    def difference(self, run: Run) -> str:
        """In what the causes of a run are others than these; empty if in nothing."""
        launch = faulting_launch(run)
        if launch is None or not launch.causes:
            undecided = next((each.unfollowed for each in run.launches if each.unfollowed), "")
            return f"it cannot be followed: {undecided}" if undecided else "nothing goes wrong in its launches"
        if launch.unfollowed and not self.unknown:
            return f"not all of it can be followed: {launch.unfollowed}"
        if drift := _drift(self.causes[0], launch.causes[0]):
            return drift
        if self.kept and (drift := _drift_where_kept(self.causes[0], launch.causes[0])):
            return drift
        left = list(self.causes[1:])
        for cause in launch.causes[1:]:
            known = next((one for one in left if not _drift(one, cause)), None)
            if known is None:
                return f"something else goes wrong, too: {cause.sentence}"
            left.remove(known)
        return self._difference_beside(launch, run)

    def _difference_beside(self, faulting: Launch, run: Run) -> str:
        """The same of the other launches, one of which may have become faulty as well."""
        known = (*self.causes, *(self.others or ()))
        beside = [each for each in run.launches if each is not faulting] if self.others is not None else []
        for launch in beside:
            for cause in launch.causes:
                if all(_drift(one, cause) for one in known):
                    return f"something else goes wrong in the launch of {launch.kernel}, too: {cause.sentence}"
        return ""


def is_of_grid(cause: Cause) -> bool:
    """Whether there are more program instances than the tensor has elements for: one of them has nothing to do."""
    return cause.kind in (NO_MASK, WRONG_MASK) and cause.whole and cause.beyond == (PROGRAM,)


def may_be_of_size(cause: Cause) -> bool:
    """Whether the tensor may be too small, or the grid too large: the kernel never asks how large it is."""
    return is_of_program(cause) or cause.kind in (NO_MASK, WRONG_MASK) and not cause.sized


def is_of_program(cause: Cause) -> bool:
    """Whether each program instance takes one element, and only how many there are of both decides: of `x[program + 1]`
    nobody knows whether the tensor lacks its last element or the kernel goes too far."""
    return cause.kind in (NO_MASK, WRONG_MASK) and set(cause.inputs).intersection((*INDICES, LOADED)) == {PROGRAM}


def may_be_of_launch(cause: Cause) -> bool:
    """Of a race, whether what the launch passes may bring it about: a stride, one storage twice, or more program
    instances than one of a kernel that never asks which of them it is."""
    return cause.kind == UNORDERED and (bool(cause.parameters) or PROGRAM not in cause.inputs)


def faulting_launch(run: Run) -> Launch | None:
    """The launch whose causes count: of those that break a rule, or else of all, the first that has some. One that
    goes wrong only where the device is late comes after those that always do."""
    broken = [launch for launch in run.launches if launch.fault]
    broken.sort(key=lambda launch: any(cause.overwritten for cause in launch.causes[:1]))
    return next((launch for launch in (*broken, *run.launches) if launch.causes), None)


def _drift(mine: Cause, theirs: Cause) -> str:
    """Why a cause is another one; empty where it is the same, or a simpler one."""
    if mine.kind != theirs.kind:
        return f"{theirs.kind} instead of {mine.kind}"
    if mine.operation != theirs.operation:
        return f"{theirs.operation or 'no operation'} instead of {mine.operation or 'none'}"
    if mine.breaks != theirs.breaks or mine.access != theirs.access:
        return f"at {_article(theirs)} instead of {_article(mine)}"
    if bool(mine.overwritten) != bool(theirs.overwritten):
        how = "also with" if mine.overwritten else "only with other contents than"
        return f"it goes wrong {how} what was copied from pinned memory at first"
    if Counter(mine.busy) - Counter(theirs.busy):
        return "the device has less to do before it comes to the copy, or the host writes later"
    if mine.masked and not theirs.masked:
        return f"the {mine.access} has lost its mask"
    if mine.below != theirs.below:
        return f"the {mine.access} leaves the tensor at its other end"
    if mine.kind in GUARDED and len(theirs.guards) < len(mine.guards):
        return f"the {mine.access} has lost a condition that led to it"
    if mine.kind in GUARDED and any(not _has_like(theirs.guards, guard) for guard in mine.guards):
        return f"the condition that leads to the {mine.access} hangs on less"
    if mine.kind == WRONG_MASK and mine.beyond != (TRIP,) and theirs.bounds < mine.bounds:
        return f"the mask of the {mine.access} compares with fewer arguments"
    if mine.by_one and not theirs.by_one:
        return "the bound of the mask is no extent of the tensor any more, of which it takes one too many"
    fewer = theirs.bounds < mine.bounds or len(theirs.parameters) < len(mine.parameters)
    if mine.kind in (EXTENT, UNORDERED) and len(theirs.parameters) < len(mine.parameters):
        what = "bound" if mine.kind == EXTENT else "address"
        return f"the {what} hangs on fewer values that are passed"
    if mine.kind == UNORDERED and not set(mine.inputs) & {PROGRAM} <= set(theirs.inputs):
        return "what was computed from the number of the program instance is so no more"
    if mine.kind in CONDITIONS and fewer:
        return f"the {mine.kind} hangs on fewer values"
    if mine.kind in CONDITIONS and 0 < theirs.varying < mine.varying:
        return f"the {mine.kind} compares a loaded value with one of another element"
    if mine.exact != theirs.exact:
        return "in exact arithmetic it goes wrong as well" if theirs.exact else "in exact arithmetic it would be right"
    if mine.due and not theirs.due:
        return f"in exact arithmetic the {mine.access} would not be made"
    if mine.detail != theirs.detail:
        return f"{theirs.kind} {theirs.detail or 'of another sort'} instead of {mine.detail or 'another sort'}"
    for what in theirs.foreign:
        if what not in mine.foreign:
            return f"{what} is now in the address"
    if mine.beyond and _leaves_otherwise(frozenset(mine.beyond), frozenset(theirs.beyond)):
        return f"beyond the tensor is {_words(frozenset(theirs.beyond))} instead of {_words(frozenset(mine.beyond))}"
    if mine.beyond == (TRIP,) and theirs.bounds < mine.bounds:
        return "the loop that leads beyond the tensor ends at fewer values that are passed"
    if mine.unseen and not theirs.unseen:
        return f"the mask of the {mine.access} sees each index that leaves the tensor"
    if theirs.whole and not mine.whole and mine.kind in (NO_MASK, WRONG_MASK):
        return "a program instance is outside from its first element on, which the grid may be to blame for"
    if theirs.first and not mine.first:
        return "the first program instance already goes wrong"
    if theirs.always and not mine.always:
        return f"the {theirs.kind} goes wrong wherever it is asked"
    if theirs.far < mine.far:
        return "what it reaches is nearer to the tensor, and may be mapped, too"
    return _other_inputs(mine, frozenset(mine.inputs), frozenset(theirs.inputs))


def _leaves_otherwise(mine: frozenset[str], theirs: frozenset[str]) -> bool:
    """Whether something else leaves the tensor, or only what was added to an index."""
    return not theirs <= mine or bool(theirs and mine & set(INDICES) and not theirs & set(INDICES))


def _drift_where_kept(mine: Cause, theirs: Cause) -> str:
    """What else tells another cause where the host makes the very same: what it holds, and what the access takes."""
    if mine.source and theirs.source != mine.source:
        return "the index comes from a tensor that holds something else"
    if mine.shape and theirs.shape != mine.shape:
        return f"the {mine.access} leaves a tensor of other extents"
    if mine.operands and theirs.operands != mine.operands:
        return f"the {mine.access or mine.kind} hangs on other values"
    if mine.kind == MEMORY and theirs.bounds < mine.bounds:
        return f"the mask of the {mine.access} compares with fewer arguments: it would not follow how many there are"
    if mine.kind in (NO_MASK, WRONG_MASK) and theirs.varying < mine.varying:
        return f"the {mine.access} hangs on fewer loaded values"
    if lost := sorted(set(mine.indices) - set(theirs.indices)):
        return f"the {mine.access} has lost its {lost[0]}"
    if len(theirs.passed) < len(mine.passed):
        return "what is passed is the tensor's own now"
    if mine.reach and (theirs.reach < mine.reach if mine.below else theirs.reach > mine.reach):
        return f"the {mine.access} reaches further: a larger tensor would not mend it"
    if is_of_grid(mine) and not is_of_grid(theirs) or mine.beyond and not theirs.beyond:
        return "another index leaves the tensor, or nobody knows which"
    return ""


def _has_like(guards: Iterable[str], mine: str) -> bool:
    """Whether one of these hangs on all that mine does: indices of whichever sort are one thing, and numbers nothing.
    A literal that is in the address by chance as well makes no guard of a condition."""
    return any(_decides(mine) <= _decides(guard) for guard in guards)


def _decides(guard: str) -> set[str]:
    return {PROGRAM if word in INDICES else word for word in guard.split()} - {CONSTANT}


def _article(cause: Cause) -> str:
    return f"a {cause.access or 'condition'}"


def _other_inputs(cause: Cause, mine: frozenset[str], theirs: frozenset[str]) -> str:
    """What it is made of: indices of whichever sort are one thing, and an argument may become a literal where
    something else still varies."""
    if cause.kind in GIVEN:
        return "" if mine == theirs else f"made of {_words(theirs)} instead of {_words(mine)}"
    varies = theirs & {LOADED, *INDICES}
    if (LOADED in mine) != (LOADED in theirs):
        return "what came from memory does so no more" if LOADED in mine else "what decides now comes from memory"
    if mine & set(INDICES) and not theirs & set(INDICES):
        return f"made of {_words(theirs)} instead of {_words(mine)}"
    if ARGUMENT in mine and ARGUMENT not in theirs:
        if not (CONSTANT in theirs and varies):
            return f"made of {_words(theirs)} instead of {_words(mine)}"
        if cause.kind in (*CONDITIONS, ELEMENT):
            return "what is passed decides no more"
    return ""


def _words(inputs: frozenset[str]) -> str:
    return " and ".join(sorted(inputs)) or "nothing"
