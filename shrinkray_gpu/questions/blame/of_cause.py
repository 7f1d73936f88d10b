"""Whose fault it is that an access leaves its tensor, an assertion fails, a divisor is 0: from where that begins.

The evaluator of Triton's IR tells the kind by counterfactuals on the whole launch. A kind points at the kernel's text,
at what the host passes or at what is in memory. Where two of these would each be enough, it is not known.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from shrinkray_gpu.evidence.source_text import line_of
from shrinkray_gpu.oracle.cause_check import may_be_of_launch
from shrinkray_gpu.questions.blame.blame import DATA, HOST, KERNEL, Blame, unknown
from shrinkray_gpu.questions.blame.trials import BlameTrials
from shrinkray_gpu.runner.inside.static import cause as kinds
from shrinkray_gpu.runner.inside.static.cause import Cause
from shrinkray_gpu.runner.run import Launch

BY_IR = "Triton's IR, followed for the whole launch"
_LINE = re.compile(r":\d+$")
_TENSOR = re.compile(r"^\w+\[([\d, ]*)\] s\(([\d, ]*)\)")


def of_cause(cause: Cause, launch: Launch, trials: BlameTrials) -> Blame:
    """The verdict on a launch that goes wrong where this cause says."""
    if cause.overwritten and launch.unfollowed:
        return unknown(f"{cause.sentence}. Whether it does with what is copied at first is not told")
    if cause.overwritten:
        at = cause.overwritten if _LINE.search(cause.overwritten) else launch.host
        return replace(_told(HOST, cause, trials, "With what is copied at first it does not"), place=at)
    decide = _BY_KIND.get(cause.kind)
    return decide(cause, launch, trials) if decide is not None else unknown(cause.sentence)


def _told(whose: str, cause: Cause, trials: BlameTrials, why: str = "") -> Blame:
    enough = trials.enough(trials.on_host if whose == HOST else trials.in_kernel)
    return Blame(whose, f"{cause.sentence}{why and f'. {why}'}", BY_IR, _line(cause.place or cause.at), enough=enough)


def _of_host(cause: Cause, launch: Launch, trials: BlameTrials, why: str) -> Blame:
    """Of the host, at the line that the twin changes, else at the launch."""
    told, twin = _told(HOST, cause, trials, why), trials.on_host.twin
    at = f"{trials.file.name}:{twin.edits[0].line}" if twin is not None else launch.host
    return replace(told, place=at) if at else told


def _line(place: str) -> str:
    return ":".join(place.split(":")[:2])


def _either(cause: Cause, trials: BlameTrials, why: str) -> Blame:
    """Not known, with both changes that would be enough."""
    enough = "; or ".join(filter(None, map(trials.edits, (trials.in_kernel, trials.on_host))))
    return Blame("not known", f"{cause.sentence}. {why}", BY_IR, _line(cause.place or cause.at), enough=enough)


def _kernel(cause: Cause, launch: Launch, trials: BlameTrials) -> Blame:
    return _told(KERNEL, cause, trials)


def _data(cause: Cause, launch: Launch, trials: BlameTrials) -> Blame:
    """An index that was loaded: of the data where no extent of the table would take it."""
    index = cause.values[0] if cause.values else None
    if index is None:
        return unknown(f"{cause.sentence}. What was loaded is not told")
    if index < 0:
        why = "A negative one may stand for no index at all, which the kernel would have to leave out"
        return Blame("not known", f"{cause.sentence}. {why}", BY_IR, _line(cause.place))
    if index < max((*cause.shape, math.prod(cause.shape) if cause.role == "term" else 0), default=0):
        why = "Some extent of the tensor is larger: what is made of the index may be wrong, and not the index"
        return Blame("not known", f"{cause.sentence}. {why}", BY_IR, _line(cause.place))
    why = "Whether the host's code made it or was given it is not told"
    return Blame(DATA, f"{cause.sentence}. {why}", BY_IR, _line(cause.place))


def _given(cause: Cause, launch: Launch, trials: BlameTrials) -> Blame:
    """A value that the launch passes, or that stands in the kernel."""
    if kinds.CONSTANT in cause.inputs and cause.values:
        text = line_of(trials.text, int(cause.place.split(":")[1])) if _own(cause.place, trials) else ""
        if re.search(rf"\b{cause.values[0]}\b", text):
            return _told(KERNEL, cause, trials, "It stands in the kernel")
        return _either(cause, trials, "It is a constant of the kernel: who gave it is not told")
    if kinds.ARGUMENT not in cause.inputs:
        return unknown(cause.sentence)
    other = _of_another_tensor(cause, launch)
    if other:
        return _either(cause, trials, f"It is {other}: the kernel may use it for the wrong one")
    if cause.kind == kinds.EXTENT and trials.in_kernel.twin is not None:
        return _either(cause, trials, "A change of the kernel would be enough, too")
    return _of_host(cause, launch, trials, f"The launch{f' at {launch.host}' if launch.host else ''} passes it")


def _own(place: str, trials: BlameTrials) -> bool:
    return place.partition(":")[0] == trials.script.path.name


def _of_another_tensor(cause: Cause, launch: Launch) -> str:
    """Whether what is passed is right for another tensor of the launch."""
    if cause.kind not in (kinds.STRIDE, kinds.EXTENT) or not cause.values:
        return ""
    for argument in launch.args:
        if found := _TENSOR.match(argument):
            shape, strides = (tuple(map(int, re.findall(r"\d+", text))) for text in found.groups())
            if (shape, strides) == (tuple(cause.shape), tuple(cause.strides)):
                continue
            if cause.kind == kinds.STRIDE and cause.values[0] in strides and cause.values[0] != 1:
                return f"the stride of another tensor, of {list(shape)}"
            if cause.kind == kinds.EXTENT and cause.values[0] in {*shape, math.prod(shape)}:
                return f"an extent of another tensor, of {list(shape)}"
    return ""


def _unmasked(cause: Cause, launch: Launch, trials: BlameTrials) -> Blame:
    """A program instance that lies wholly outside is one too many; one that begins inside needs a mask."""
    if cause.whole:
        return _surplus(cause, launch, trials)
    if not cause.sized:
        return _either(cause, trials, "The kernel asks for no extent of the tensor, which may be too small")
    return _told(KERNEL, cause, trials, "The program instance begins inside of the tensor")


def _passing_mask(cause: Cause, launch: Launch, trials: BlameTrials) -> Blame:
    if cause.by_one:
        return _told(KERNEL, cause, trials, "With a bound that is one less it would not")
    return _surplus(cause, launch, trials)


def _surplus(cause: Cause, launch: Launch, trials: BlameTrials) -> Blame:
    """Whether there is a program instance too many."""
    if not cause.fewer:
        # Of a mask that is there, one that is made up only shows that it is too wide: its bound may be the host's.
        wrong = cause.kind != kinds.WRONG_MASK or kinds.ARGUMENT not in cause.inputs or _has_such_a_mask(trials)
        if wrong and trials.in_kernel.twin is not None and trials.on_host.twin is None:
            return _told(KERNEL, cause, trials)
        return _either(cause, trials, "Whether the address, the mask or what the host passes is wrong is not told")
    if trials.in_kernel.twin is not None and _has_such_a_mask(trials):
        why = "The grid has a program instance too many, but the kernel has a mask that would keep it out"
        return _either(cause, trials, why)
    why = "A program instance lies wholly outside, and a grid that is one less keeps the access inside"
    return _of_host(cause, launch, trials, why)


def _has_such_a_mask(trials: BlameTrials) -> bool:
    """Whether the mask that is enough stands elsewhere in the program; others are made up by us."""
    twin = trials.in_kernel.twin
    masks = [edit.edit.partition("mask=")[2].rpartition(" in ")[0] for edit in twin.edits] if twin is not None else []
    bare = [
        mask.removesuffix("[:, None]").removesuffix("[None, :]").removeprefix("(").removesuffix(")") for mask in masks
    ]
    return any(mask and re.search(rf"mask=\(?{re.escape(mask)}", trials.text) for mask in bare)


def _by_inputs(cause: Cause, launch: Launch, trials: BlameTrials) -> Blame:
    """An assertion or a divisor: by what it hangs on."""
    inputs = set(cause.inputs) - {kinds.CONSTANT}
    if kinds.LOADED in inputs and kinds.ARGUMENT not in inputs:
        return Blame(DATA, cause.sentence, BY_IR, _line(cause.place))
    if inputs == {kinds.ARGUMENT}:
        return _of_host(cause, launch, trials, "It hangs on arguments of the launch alone")
    return unknown(f"{cause.sentence}. It hangs on {', '.join(sorted(inputs)) or 'constants'}")


def _based(cause: Cause, launch: Launch, trials: BlameTrials) -> Blame:
    """Where a descriptor begins: nobody tried another place."""
    if set(cause.inputs) == {kinds.ARGUMENT}:
        return Blame(HOST, f"{cause.sentence}. The launch passes where", BY_IR, launch.host or _line(cause.place))
    return unknown(f"{cause.sentence}. Whether the launch or the kernel is wrong is not told")


def _described(cause: Cause, launch: Launch, trials: BlameTrials) -> Blame:
    for whose, found in ((HOST, trials.on_host), (KERNEL, trials.in_kernel)):
        if found.twin is not None:
            return _told(whose, cause, trials)
    return unknown(f"{cause.sentence}. Whether the shape comes from the host is not told")


def _empty(cause: Cause, launch: Launch, trials: BlameTrials) -> Blame:
    return unknown(f"{cause.sentence}. Whether the host may launch the kernel on it is not told")


def _racing(cause: Cause, launch: Launch, trials: BlameTrials) -> Blame:
    """Of the kernel, unless what the launch passes may bring the two program instances together."""
    if not may_be_of_launch(cause):
        return Blame(KERNEL, cause.sentence, BY_IR, _line(cause.place))
    why = "The kernel never asks which program instance it is: the grid may have too many, or the kernel be wrong"
    if cause.parameters:
        named = ", ".join(cause.parameters)
        why = f"The addresses hang on what is passed ({named}), too: whether that or the kernel is wrong is not told"
    return Blame("not known", f"{cause.sentence}. {why}", BY_IR, _line(cause.place))


_BY_KIND: Mapping[str, Callable[[Cause, Launch, BlameTrials], Blame]] = {
    kinds.WRAPPED: _kernel,
    kinds.MEMORY: _data,
    kinds.STRIDE: _given,
    kinds.SWAPPED: _given,
    kinds.EXTENT: _given,
    kinds.OFFSET: _given,
    kinds.NO_MASK: _unmasked,
    kinds.WRONG_MASK: _passing_mask,
    kinds.ASSERTION: _by_inputs,
    kinds.ZERO: _by_inputs,
    kinds.DESCRIPTOR: _described,
    kinds.BASE: _based,
    kinds.EMPTY: _empty,
    kinds.UNORDERED: _racing,
}
