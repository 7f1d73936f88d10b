"""A Run: what happened when one candidate was run. Facts only; what they mean is the oracle's business."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, is_dataclass
from functools import lru_cache
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from shrinkray_gpu.runner.inside.capture.schema import Captured, sound
from shrinkray_gpu.runner.inside.launches.launch_log import NOT_FOLLOWED
from shrinkray_gpu.runner.inside.static.cause import Cause


@dataclass(frozen=True)
class Failure:
    """An exception that left the script (or, inside a Compile, the compiler)."""

    type: str
    """Qualified name, without `builtins.`: `RuntimeError`, `torch.AcceleratorError`."""
    text: str
    bases: tuple[str, ...] = ()
    """Qualified names of the type's ancestors, so that `exception:RuntimeError` sees an AcceleratorError."""
    line: int | None = None
    """Last line of the script's own text in the traceback, from 1."""
    traceback: str = ""


@dataclass(frozen=True)
class Compilation:
    """One kernel compilation that Triton did (or took from its cache)."""

    kernel: str
    hash: str
    """Triton's own hash of the compiled kernel; empty when it failed."""
    ttir_key: str = ""
    """sha256 of the TTIR without locations."""
    casts: tuple[str, ...] = ()
    """Between pointers and numbers, in the TTIR: `ptr_to_int`, `int_to_ptr`."""
    options: Mapping[str, Any] = field(default_factory=dict)
    failure: Failure | None = None
    printed: str = ""
    """What the compiler wrote to file descriptors 1 and 2 while this failed (MLIR diagnostics, ptxas)."""
    ir: Mapping[str, str] = field(default_factory=dict)
    """The stages asked for in `wants`: `ttir`, `ttgir`, `llir`, `ptx`, `sass`, and `figures` of the cubin."""
    call: Mapping[str, Any] = field(default_factory=dict)
    """Where the PTX is wanted, what it takes to launch it: `signature` (a type for each argument), `scratch`
    (bytes), `warps`, `cluster`."""
    file: str = ""
    """In which the kernel is, where it failed."""
    generated: bool = False
    """Whether torch.compile generated the file that the kernel is in; also of a kernel that it took over."""
    shared: int = 0
    """Bytes of shared memory that each launch of it asks for."""


@dataclass(frozen=True)
class Build:
    """One build of CUDA C++ that the script asked for (or an earlier candidate with the same source had)."""

    name: str
    printed: str = ""
    """What the compiler wrote: warnings, errors, statistics of ptxas."""
    failed: bool = False
    launched: tuple[str, ...] | None = None
    """On the virtual GPU: its kernels that the host code launches; None where that was not run."""
    calls: tuple[Mapping[str, Any], ...] = ()
    """Where wanted: each launch with its arguments, see `runner/inside/cuda_cpp/host_code.py`."""
    flags: tuple[str, ...] = ()
    """Where wanted: what nvcc was given beside the source."""


@dataclass(frozen=True)
class Launch:
    """One kernel launch that the host code asked for."""

    kernel: str
    hash: str
    grid: tuple[int, ...]
    args: tuple[str, ...] = ()
    """One description an argument, free of addresses: `i32 64`; for a tensor its dtype, shape, strides, offset in its
    storage (in elements) and address modulo 128: `f32[8, 64] s(64, 1) +0 @0%128`. The virtual GPU adds a hash of the
    content, `#1a2b3c4d`; where that was not computed, of how it comes about, `#~1a2b3c4d.0`; or `#?` where a kernel
    that never ran would have written it."""
    synced: bool = False
    """Whether the host waited for the device after this launch and before the script ended."""
    failure: str = ""
    """`type: text` of what Triton or the driver raised instead of launching it, whoever caught that; else empty."""
    fault: str = ""
    """On the virtual GPU: the static fault that this launch ends in, else empty."""
    undecided: str = ""
    """On the virtual GPU: a static rule that has no opinion on this launch, and why; else empty."""
    causes: tuple[Cause, ...] = ()
    """On the virtual GPU: what goes wrong in this launch by Triton's IR, and where each begins."""
    unfollowed: str = NOT_FOLLOWED
    """Why that may not be all; empty where nothing else goes wrong."""
    accesses: int = 0
    """How many loads, stores and atomics may touch memory in it, where it was followed."""
    silent: tuple[Cause, ...] = ()
    """On the virtual GPU: races, and loads of what nobody wrote, which a device lets pass."""
    unordered: str = NOT_FOLLOWED
    """Why there may be other races; empty where there are none."""
    interpreted: bool = False
    """On the virtual GPU: whether Triton's interpreter ran it, so that its tensors hold what it wrote."""
    guessed: bool = False
    """On the virtual GPU: whether the host went on, after it, with a guess at what a kernel that never ran would have
    written."""
    evaluating: float = field(default=0.0, compare=False)
    """On the virtual GPU: processor seconds that following it took."""
    host: str = ""
    """`file.py:12` of the line that launches, where `lines` are wanted."""
    generated: bool = False
    """Whether torch.compile generated the file that the kernel is in; also of a kernel that it took over."""


@dataclass(frozen=True)
class Difference:
    """What two runs of one program disagree about: the first launch whose outputs differ, one argument of it."""

    way: str
    """The other run: `num_stages=1`, `interpreter`, `again`."""
    launch: int
    """Index of the launch, from 0."""
    kernel: str
    argument: str
    """Name of the parameter."""
    kind: str
    """`nan` (not a number in one run only), `wrong` (elements beyond any tolerance), `tolerance` (close, not equal)."""
    elements: int
    """How many elements differ."""
    total: int
    largest: float = 0.0
    """The largest absolute difference among finite elements."""


@dataclass(frozen=True)
class Comparison:
    """The last check that the host made of what kernels wrote, where its two sides are not equal."""

    operation: str
    """Of torch: `isclose`, `sub`; empty where no launch's values came to a comparison."""
    kernels: tuple[str, ...]
    """By which launches one side was made, in their order: the actual one."""
    others: tuple[str, ...]
    """By which the other side was made, the expected one: mostly by none."""
    sources: tuple[str, ...]
    """What the actual side comes from in the beginning, through the launches: `randn [8, 64], 1`."""
    alone: bool
    """Whether there is one side only: the host made something else of it, or looked at its values itself."""
    kind: str
    """`nan` (finite on one side only; of one alone: not finite), `wrong` (apart); empty: neither."""
    elements: int
    """How many are that, of those that were looked at."""
    total: int
    largest: float
    """The largest absolute difference among finite elements."""
    moved: Mapping[str, str]
    """For a run that was held against another: what is not as it was there, in words: the `actual` side, the `expected`
    one, the `input` of the launch, or the `output`, which is what the launch makes of values of ours."""
    trouble: str
    """Why nothing is known of it; else empty."""
    side: str = ""
    """What of the check does not stand, where that was asked and is known: `reference`, `tolerance`, `input`."""
    blame: str = ""
    """What was found out about that, in a sentence for people."""
    tolerance: tuple[float, ...] = ()
    """What the check lets pass, as `rtol` and `atol`; empty: not known."""
    refused: str = ""
    """What a launch of the run wrote in place though torch refuses that in grad mode: `p of step`; empty: nothing."""


@dataclass(frozen=True)
class Run:
    """What happened. `exit` is None when a signal ended the process or it never answered."""

    mode: str
    """`virtual`, `warm` (reused context), `fork` (fresh context in a forked child), `cold`, `plain` (`python FILE`)."""
    exit: int | None
    signal: int | None = None
    timed_out: bool = False
    seconds: float = 0.0
    stdout: str = ""
    stderr: str = ""
    failure: Failure | None = None
    """The uncaught exception, if the candidate died of one."""
    driver_error: int = 0
    """Sticky CUDA error that the driver reported when asked after the script (716: misaligned address)."""
    compiles: tuple[Compilation, ...] = ()
    launches: tuple[Launch, ...] = ()
    builds: tuple[Build, ...] = ()
    values: Mapping[int, str] = field(default_factory=dict)
    """For a watched run: source text of the one simple value that a watched expression took."""
    captured: Captured | None = None
    """For a captured run: the launches that may be the one that faults, written down for `lift`."""
    children: tuple[str, ...] = ()
    """Faults seen in child processes of the script."""
    turned: Mapping[str, int] = field(default_factory=dict)
    """For a run with knobs turned: how often each one changed something. 0: there was nothing to turn."""
    differences: tuple[Difference, ...] = ()
    """For a run that was compared with others of the same program; see `Script.twins`."""
    compared: tuple[str, ...] = ()
    """Names of the ways that this run was compared with, and where that says something: no difference is agreement."""
    incomparable: str = ""
    """Why the comparison says nothing (the inputs differ, nothing was launched, the other run failed); else empty."""
    elsewhere: tuple[Compilation, ...] | None = None
    """Where `Script.elsewhere` asks for it: what the other compiler made of the same program; None: nobody asked it."""
    elsewhere_trouble: str = ""
    """Why that says nothing (its run was stopped, or could not be made); else empty."""
    unwritten: str = ""
    """The operation by which the host got what comes of memory that nobody wrote, where that was asked for; empty: it
    did not."""
    comparison: Comparison | None = None
    """Where it was asked for: the check that fails."""
    hanging: str = ""
    """For a run stopped at its limit: `device` if the GPU was still at work then, `left` if it was though the script
    had ended and waited for nothing, `host` if it was not; empty: unknown."""
    writes: tuple[str, ...] = ()
    """For a run without a fence: what it wrote where candidates may not. Python's own doors only."""
    records: tuple[str, ...] = ()
    """For a run under compute-sanitizer: its records, each whole."""
    virtual: bool = False
    """Whether this was on the virtual GPU, whatever the mode."""
    peak: int = 0
    """The most device memory that torch held at once in it, in bytes; 0: none, or not known."""
    gpus: int = 0
    """Up to which GPU torch held memory in it, counted from 1; 0: on none, or not known."""
    fence: tuple[str, ...] = field(default=(), compare=False)
    """The parts of the fence that held around it."""
    pid: int = 0
    """Of the lane's process that ran it; 0 where that is not known."""
    fresh: bool = True
    """Whether nothing ran before in the same process and context."""
    trouble: str = ""
    """Why this run says nothing (lane died, out of memory beside others): the verdict is then unknown."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Run:
        """The run that `to_json` wrote down, or of which a lane reports these fields."""
        fields = _from_json(cls, data)
        if fields.get("captured") is not None:
            fields["captured"] = sound(fields["captured"])
        return cls(**fields | {"values": {int(number): text for number, text in fields.get("values", {}).items()}})


_hints = lru_cache(None)(get_type_hints)


def _from_json(form: Any, data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a dataclass, with dataclasses and tuples for the objects and lists of JSON."""
    return {name: _value(_hints(form)[name], value) for name, value in data.items()}


def _value(form: Any, value: Any) -> Any:
    args = get_args(form)
    if isinstance(form, type) and is_dataclass(form):
        return form(**_from_json(form, value))
    if get_origin(form) is tuple:
        return tuple(_value(args[0], each) for each in value)
    return value if value is None or NoneType not in args else _value(args[0], value)
