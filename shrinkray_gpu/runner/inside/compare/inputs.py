"""What the launch is given whose result fails a check, held against what another run's launch is given.

Only what reaches the check shows in its two sides. A table of which the check sees one row may become another table,
and the mistake that filled it is gone. So each tensor holds what one of that parameter held in the other run. A smaller
one holds a part of that, in order: rows that nobody looks at may go.
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, NamedTuple, Sequence

from . import recording
from .sides import NEAR, Side, distance, read_side, sample, text_of

INPUT = "input"
"""Of a recording, before the parameter's name: then only tensors of this name are held against each other, where the
other run has any."""
GIVEN = 1 << 16
"""Elements of a tensor that are looked at. Of a larger one no part is known again."""


class Input(NamedTuple):
    """A tensor among the arguments of a launch, as it was before it."""

    parameter: str
    text: str
    values: Any
    """A sample of its elements in a row, where it lies."""


def inputs(torch: Any, parameters: Sequence[str], args: Sequence[Any]) -> List[Input]:
    """`parameters`: the name of each argument."""
    found = [(name, tensor) for name, value in zip(parameters, args) for tensor in _tensors(torch, value)]
    return [Input(name, text_of(each), sample(each.detach().reshape(-1), GIVEN).clone()) for name, each in found]


def as_sides(torch: Any, given: Sequence[Input]) -> List[Side]:
    """For a recording."""
    return [("%s %s" % (INPUT, each.parameter), each.text, _doubles(torch, each.values)) for each in given]


def given_otherwise(torch: Any, given: Sequence[Input], theirs: recording.Recording) -> Dict[str, str]:
    """Under `INPUT`, which of them holds what none of the other run's did; empty if each is known again, or nothing is
    known of that run's."""
    known = [each for each in theirs.launches[0]["arguments"] if each["name"].startswith(INPUT + " ")]
    for one in given:
        name = "%s %s" % (INPUT, one.parameter)
        alike = [each for each in known if each["name"] == name] or known
        values = _doubles(torch, one.values)
        if alike and not any(_holds(torch, one, values, each, read_side(torch, theirs, each)) for each in alike):
            return {INPUT: "the launch is given other values as %s" % one.parameter}
    return {}


def _holds(torch: Any, one: Input, values: Any, other: Dict[str, Any], theirs: Any) -> bool:
    (dtype, _, size, _), (was, _, before, _) = one.text.split(), other["text"].split()
    if dtype != was:
        return False
    finite = theirs[theirs.isfinite()]
    exact = not getattr(torch, dtype).is_floating_point or not finite.numel()
    slack = 0.0 if exact else NEAR * float(finite.abs().max())
    if size == before:
        apart = distance(torch, values, theirs)
        return apart["kind"] != "nan" and apart["largest"] <= slack
    return int(size) < int(before) <= GIVEN and _is_part(values.tolist(), theirs.tolist(), slack)


def _is_part(values: List[float], whole: List[float], slack: float) -> bool:
    """Whether the values come in the whole in this order."""
    rest = iter(whole)
    return all(any(_is_near(one, each, slack) for each in rest) for one in values)


def _is_near(one: float, other: float, slack: float) -> bool:
    return one == other or abs(one - other) <= slack or (one != one and other != other)


def _doubles(torch: Any, values: Any) -> Any:
    real = values.abs() if values.is_complex() else values
    return real.to(device="cpu", dtype=torch.float64).contiguous()


def _tensors(torch: Any, value: Any) -> Iterator[Any]:
    if isinstance(value, (tuple, list)):
        for each in value:
            yield from _tensors(torch, each)
    else:
        tensor = value if isinstance(value, torch.Tensor) else getattr(value, "base", None)
        if isinstance(tensor, torch.Tensor):
            yield tensor
