"""The two sides of a check, and what a kernel makes of other values: samples of tensors, held against another run's.

A side is the same where it is as far from the other run's as rounding takes it, seen from how far the two sides are
apart: what hides in that is no other mistake. Large tensors are known by a sample of their elements.
"""

from __future__ import annotations

import sys
import zlib
from typing import Any, Dict, List, Sequence, Tuple

from . import recording
from .provenance import ComparedTensors

Record = Dict[str, Any]

SAMPLE = 1 << 20
"""Elements of a tensor that are looked at."""
SLACK = 0.01
"""Of the largest distance between the two sides: what a side may move by."""
PART_OF_TOLERANCE = 0.5
"""Of what the check lets pass: no side moves by more. With the bug mended, the check would fail of that."""
STEPS = 0.1
"""The same where that is no more than one step of the side's type: torch rounds otherwise with other threads."""
ALONE = 1e-5
"""The same of the largest value of a side that is alone."""
NEAR = 1e-3
"""Of the largest value that a kernel makes of values of ours: what it may make instead."""
OUTPUT, PART, PROBE = "output", "part", "probe"
"""What a kernel makes of values of ours; what some of its programs do; and what it makes of negative values, at other
sizes."""
INSTEAD = {
    OUTPUT: "its kernel makes something else of other values",
    PART: "other elements are written by other programs of its kernel",
    PROBE: "its kernel makes something else of negative values at other sizes",
}
BOTH = ("actual", "expected")
LAUNCH = "launch"
"""Of a recording, with a digest of the launch: see `launch_digest`."""
Side = Tuple[str, str, Any]
"""One of `BOTH`, a key of `INSTEAD`, or what is given (`inputs`); what it is, in words; a sample of its values."""


def distance(torch: Any, one: Any, other: Any = None) -> Record:
    """How far two tensors of doubles are apart, as `kind` (`nan`, `wrong`; empty: equal), `elements`, `total` and
    `largest`. Of one alone: how many of its elements are not finite."""
    if other is None:
        lost = int((~one.isfinite()).sum())
        return {"kind": "nan" if lost else "", "elements": lost, "total": one.numel(), "largest": 0.0}
    lost = one.isfinite() != other.isfinite()
    apart = torch.where(one.isfinite() & other.isfinite(), (one - other).abs(), torch.zeros_like(one))
    elements = int(((apart > 0) | lost).sum())
    kind = "nan" if bool(lost.any()) else "wrong" if elements else ""
    largest = float(apart.max()) if apart.numel() else 0.0
    return {"kind": kind, "elements": elements, "total": one.numel(), "largest": largest}


def moved(
    torch: Any, sides: List[Side], theirs: recording.Recording, tolerance: Sequence[float] = ()
) -> Dict[str, str]:
    """Which sides are not what the other run had there, in words. `tolerance`: `rtol` and `atol`, if known."""
    before = {each["name"]: read_side(torch, theirs, each) for each in _kept(theirs) if each["name"] in BOTH}
    texts = {each["name"]: each["text"] for each in _kept(theirs)}
    slack = _slack(torch, list(before.values()))
    found = {}
    for name, text, values in sides:
        if name not in before:  # the oracle tells that there is another side
            continue
        if text != texts[name]:
            found[name] = "the %s values are %s instead of %s" % (name, text, texts[name])
            continue
        apart = distance(torch, values, before[name])
        rounding = min(_step(torch, text, values), slack * STEPS / SLACK)
        may = _let_pass(torch, values, before.get("expected"), tolerance).clamp(max=slack).clamp(min=rounding)
        if apart["kind"] == "nan" or bool(((values - before[name]).abs() > may).any()):
            found[name] = "the %s values are others, by up to %.3g" % (name, apart["largest"])
    return found


def _let_pass(torch: Any, values: Any, expected: Any, tolerance: Sequence[float]) -> Any:
    """How far each of a side's values may move without that the check fails of it; infinity: not known."""
    if expected is None or len(tolerance) != 2 or values.numel() != expected.numel():
        return torch.tensor(float("inf"), dtype=torch.float64)
    rtol, atol = tolerance
    return PART_OF_TOLERANCE * (atol + rtol * expected.abs())


def has(theirs: recording.Recording, kind: str) -> bool:
    """Whether the other run knows what its kernel made of such values."""
    return any(each["name"] == kind for each in _kept(theirs))


def knows(theirs: recording.Recording, digest: str) -> bool:
    """Whether the other run's launch had this digest."""
    return any(each["name"] == LAUNCH and each["text"] == digest for each in _kept(theirs))


def made_otherwise(torch: Any, kind: str, outputs: List[Side], theirs: recording.Recording) -> Dict[str, str]:
    """Under `kind`, why what the kernel makes of such values is not what that of the other run made; empty if it is."""
    known = [(each["text"], read_side(torch, theirs, each)) for each in _kept(theirs) if each["name"] == kind]
    if not outputs:
        return {kind: "it is not known what its kernel makes of other values"}
    if kind == PART and {text for _, text, _ in outputs}.isdisjoint(text for text, _ in known):
        return {}  # another grid, as of another configuration that an autotuner found best
    for _, text, values in outputs:
        if not any(text == was and _is_near(torch, values, old) for was, old in known):
            return {kind: INSTEAD[kind]}
    return {}


def _kept(theirs: recording.Recording) -> List[Record]:
    kept: List[Record] = theirs.launches[0]["arguments"]
    return kept


def _step(torch: Any, text: str, values: Any) -> float:
    """How far apart the largest numbers of a side are in its type; 0 for one of whole numbers."""
    dtype = getattr(torch, text.partition(" ")[0])
    known = values[values.isfinite()]
    return torch.finfo(dtype).eps * float(known.abs().max()) if dtype.is_floating_point and known.numel() else 0.0


def _is_near(torch: Any, one: Any, other: Any) -> bool:
    apart = distance(torch, one, other)
    return apart["kind"] != "nan" and apart["largest"] <= _slack(torch, [other], NEAR)


def recorded(sides: List[Side]) -> recording.Recording:
    contents, arguments = {}, []
    for name, text, values in sides:
        data = values.view(sys.modules["torch"].uint8)
        contents[recording.digest(data)] = data
        arguments.append({"name": name, "text": text, "after": recording.digest(data)})
    return recording.Recording([{"kernel": "", "arguments": arguments}], "", "", contents)


def sides_of(compared: ComparedTensors) -> List[Tuple[str, Any]]:
    both = [("actual", compared.actual), ("expected", compared.expected)]
    return [(name, tensor) for name, tensor in both if tensor is not None]


def _slack(torch: Any, sides: List[Any], alone: float = 0.0) -> float:
    """How much a side may move: of how far the two are apart; of one alone, of the largest value."""
    if len(sides) == 2:
        return SLACK * float(distance(torch, *sides)["largest"])
    known = sides[0][sides[0].isfinite()]
    return (alone or ALONE) * float(known.abs().max()) if known.numel() else 0.0


def read_side(torch: Any, theirs: recording.Recording, side: Record) -> Any:
    return theirs.tensor(torch, side["after"]).view(torch.float64)


def elements(torch: Any, tensor: Any) -> Any:
    """All that the storage of a tensor holds, in the tensor's type, in a row."""
    size = tensor.element_size()
    bare = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
    return bare.set_(tensor.untyped_storage(), 0, (tensor.untyped_storage().nbytes() // size,), (1,))


def values_of_ours(torch: Any, like: Any, sources: str, *, negative: bool = False) -> Any:
    """Numbers between -2 and 2, or between -40 and 0, that hang on nothing but their place, and on what the tensor
    comes from."""
    places = torch.arange(like.numel(), dtype=torch.int64, device=like.device) + zlib.crc32(sources.encode()) % 997
    values = (places * 7919) % 1000 / 250 - 2
    return (values * 10 - 20.5 if negative else values).to(like.dtype)


def text_of(tensor: Any) -> str:
    return "%s of %d elements" % (str(tensor.dtype).rpartition(".")[2], tensor.numel())


def values_of(torch: Any, tensor: Any) -> Any:
    """A sample of its elements as doubles, on the CPU, in a row."""
    flat = sample(tensor.detach().reshape(-1))
    return (flat.abs() if flat.is_complex() else flat).to(device="cpu", dtype=torch.float64).contiguous()


def sample(flat: Any, size: int = SAMPLE) -> Any:
    return flat[:: -(-max(flat.numel(), 1) // size)]
