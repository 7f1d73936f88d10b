"""The form in which captured launches cross from the user's interpreter to the tool, checked on both sides.

The types below are the form, for readers and for mypy; `schema_check` holds a record against them. The worker calls
`sound` before it sends a record, the tool when one arrives or is read from a black box. A record that is broken becomes
one that cannot be lifted, whose `trouble` says why: nobody stumbles over it later.

Standard library only, from Python 3.9 on.
"""

from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, TypedDict, Union

from ..process.schema_check import problem
from .schema_sense import contradictions, contradictions_in_history

BROKEN = "the capture record is broken: "
NAMELESS = "?"
"""In place of a kernel's name that is not known."""

# What a tensor holds


class Constant(TypedDict):
    kind: Literal["zeros", "ones"]


class Full(TypedDict):
    kind: Literal["full"]
    value: Union[bool, int, float]


class Arange(TypedDict):
    kind: Literal["arange"]
    start: int
    step: int


class Values(TypedDict):
    kind: Literal["list"]
    values: Any
    """A number, or lists in lists of numbers."""


class File(TypedDict):
    kind: Literal["file"]
    path: str
    bytes: int


class Unknown(TypedDict):
    kind: Literal["unknown"]
    why: str


Exact = Union[Values, File]


class _Sampled(TypedDict, total=False):
    exact: Exact


class Range(_Sampled):
    kind: Literal["range"]
    low: int
    high: int


class Bools(_Sampled):
    kind: Literal["bool"]
    share: float


class Normal(_Sampled):
    kind: Literal["normal"]
    mean: float
    std: float
    low: float
    high: float
    nan: bool
    inf: bool


class Other(_Sampled):
    kind: Literal["other"]
    nan: bool
    inf: bool


Content = Union[Constant, Full, Arange, Values, File, Unknown, Range, Bools, Normal, Other]

# Arguments and options


class _Held(TypedDict, total=False):
    content: Content
    """Only where it was asked for."""


class Tensor(_Held):
    dtype: str
    shape: List[int]
    strides: List[int]
    offset: int
    """In elements, from the begin of the storage."""
    storage: int
    """A number: two tensors of one launch (in a history: of the run) lie in one storage if theirs are equal."""
    bytes: int
    """Of the storage."""
    residue: int
    """The storage's address modulo 16."""
    device: str


class _Parameter(TypedDict, total=False):
    """Of an argument or an option; an item of a tuple has neither."""

    name: str
    constexpr: bool


class TensorArgument(Tensor, _Parameter):
    kind: Literal["tensor"]


class ValueArgument(_Parameter):
    kind: Literal["value"]
    text: str
    """Source text: an expression."""


class _DescriptorOfGluon(TypedDict, total=False):
    layout: str
    module: str
    """The one from which its type is imported."""


class DescriptorArgument(_Parameter, _DescriptorOfGluon):
    kind: Literal["descriptor"]
    base: Tensor
    shape: List[int]
    strides: List[int]
    block_shape: List[int]
    padding: str
    round_f32_to_tf32: bool


class ReinterpretedArgument(_Parameter):
    """By `triton.reinterpret`."""

    kind: Literal["reinterpreted"]
    base: Tensor
    text: str
    """The type."""


class _NamedTuple(TypedDict, total=False):
    named: str
    """Its type, which is among the definitions."""


class TupleArgument(_Parameter, _NamedTuple):
    kind: Literal["tuple"]
    items: List[Argument]


class UnknownArgument(_Parameter):
    kind: Literal["unknown"]
    text: str
    """What it is, for the user."""


Argument = Union[
    TensorArgument, ValueArgument, DescriptorArgument, ReinterpretedArgument, TupleArgument, UnknownArgument
]

# Launches


class CompileSource(TypedDict):
    """What `triton.compile` was given, where that was no launch's doing; source texts, each an expression."""

    file: str
    """The path of a file with IR, which says all that the next five else do; empty: it was a kernel."""
    home: str
    """The module of `maker`."""
    maker: str
    """`ASTSource`, or Gluon's."""
    signature: str
    constants: str
    attributes: str
    options: str
    target: str
    """Empty: that of the machine."""


class Definition(TypedDict):
    kind: Literal["import", "constant", "function"]
    name: str
    text: str


class _LaunchNotes(TypedDict, total=False):
    """What a trace of another tool does not say."""

    how: str
    """The door by which it went: `jit`, `compiled`, `inductor`; `warmup` and `compile` launch nothing."""
    tuning: bool
    """Whether it is an autotuner's trial."""
    graph: bool
    """Whether it was recorded in a CUDA graph."""
    launch: Optional[int]
    """Which launch of the run it is, from 0; None where no kernel got that far."""
    notes: List[str]
    compiled: Optional[int]
    """In a history: a number for the compiled kernel that went."""
    overlap: bool
    """Whether arguments share memory, and no storage that torch knows of."""
    process: int
    """The child process that launched it; absent for the script's own."""
    source: CompileSource


class RefusedLaunch(_LaunchNotes):
    """A launch that cannot be written down, since `trouble` is not empty."""

    kernel: str
    trouble: str


class _Call(TypedDict):
    arguments: List[Argument]
    options: List[Argument]
    allocator: bool
    """Whether the kernel needs an allocator to be set."""


class LaunchRecord(RefusedLaunch, _Call):
    """A launch that can be written down: its `trouble` is empty."""

    grid: Optional[List[int]]
    definitions: List[Definition]
    """In the order in which they must stand."""


class HistoryLaunch(_Call):
    kernel: str
    how: str
    compiled: Optional[int]
    grid: List[int]


class LaunchEvent(TypedDict):
    kind: Literal["launch"]
    launch: int
    """Index into the history's launches."""


class HostEvent(TypedDict):
    kind: Literal["wait", "release"]


class FreeEvent(TypedDict):
    kind: Literal["free"]
    storage: int


class WriteEvent(TypedDict):
    kind: Literal["write"]
    tensor: Tensor


HistoryEvent = Union[LaunchEvent, HostEvent, FreeEvent, WriteEvent]


class HistoryRecord(TypedDict):
    events: List[HistoryEvent]
    launches: List[HistoryLaunch]
    definitions: List[Definition]
    left_out: int
    """Events that were too long ago."""
    trouble: List[str]
    """Why some launches could not be written down."""


class ChildProcess(TypedDict):
    process: int
    command: List[str]
    launches: List[Dict[str, Any]]
    compiles: List[Dict[str, Any]]
    trouble: str
    """Why it could not be captured."""


class _CapturedHistory(TypedDict, total=False):
    history: Optional[HistoryRecord]
    """Absent where the process did not live to tell it."""


class Captured(_CapturedHistory):
    """`Run.captured`."""

    launches: List[LaunchRecord]
    """Those that may be the one that faults, the likeliest first."""
    children: List[ChildProcess]


class CapturedParts(TypedDict):
    """Its lists, whose items are looked at one by one."""

    launches: List[Any]
    children: List[Any]


def launch_problem(launch: Any) -> str:
    """Why no script can be made of this record that says it has no trouble; empty also for one that says it has."""
    if isinstance(launch, dict) and launch.get("trouble"):
        return problem(RefusedLaunch)(launch)
    return problem(LaunchRecord)(launch) or next(contradictions(launch), "")


def history_problem(history: Any) -> str:
    """Why no script can be made of this history; empty if one can."""
    return problem(HistoryRecord)(history) or next(contradictions_in_history(history), "")


def sound(captured: Any) -> Captured:
    """The same, where all is well. A launch that is broken is one that has this for its trouble, and a history too."""
    parts: Dict[str, Any] = captured if isinstance(captured, dict) else {}
    launches = [sound_launch(launch) for launch in items(parts.get("launches"))]
    why = problem(CapturedParts)(captured)
    if why:
        launches.append(_refused(None, "captured" + why))
    children = [child for child in items(parts.get("children")) if not problem(ChildProcess)(child)]
    out: Any = {**parts, "launches": launches, "children": children}
    history = parts.get("history")
    if history is not None and (why := history_problem(history)):
        nothing: HistoryRecord = {"events": [], "launches": [], "definitions": [], "left_out": 0, "trouble": []}
        out["history"] = {**nothing, "trouble": [BROKEN + "history" + why]}
    return out


def sound_launch(launch: Any) -> Any:
    """The same launch, or one that cannot be lifted."""
    why = launch_problem(launch)
    return _refused(launch, "launch" + why) if why else launch


def _refused(launch: Any, why: str) -> RefusedLaunch:
    name = launch.get("kernel") if isinstance(launch, dict) else None
    return {"kernel": name if isinstance(name, str) else NAMELESS, "trouble": BROKEN + why}


def items(value: Any) -> List[Any]:
    """Of a list; nothing where it is none."""
    return list(value) if isinstance(value, (list, tuple)) else []
