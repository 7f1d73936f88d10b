"""The door for what lanes and workers say. What passes can be judged, and nobody stumbles over it later."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any, TypedDict

from shrinkray_gpu.runner.inside.capture.schema import Tensor
from shrinkray_gpu.runner.inside.process.schema_check import problem
from shrinkray_gpu.runner.inside.static import rules
from shrinkray_gpu.runner.run import Build, Comparison, Compilation, Difference, Failure, Launch


class Report(TypedDict):
    """A lane's report on one candidate: the fields of a `Run` that the lane knows, and whether it is over.

    A candidate shares its process with what reports on it, and may leave that in any state: a report that is broken
    says nothing of the candidate.
    """

    exit: int
    failure: Failure | None
    trouble: str
    """Empty, or why its failure is a bug of ours."""
    driver_error: int
    virtual: bool
    compiles: list[Compilation]
    launches: list[Launch]
    builds: list[Build]
    values: dict[str, str]
    captured: Any
    """`capture.schema.Captured` or nothing, with a check of its own: a broken record spoils no run."""
    turned: dict[str, int]
    differences: list[Difference]
    incomparable: str
    comparison: Comparison | None
    unwritten: str
    writes: list[str]
    peak: int
    gpus: int
    fresh: bool
    over: str
    """Why the lane takes no other candidate; empty if it does."""


class HangingReport(TypedDict):
    """What a process tells that was stopped at its time limit."""

    hanging: str
    launches: list[Launch]
    compiles: list[Compilation]
    line: int | None


class Hello(TypedDict):
    """What a lane says when it has come up."""

    hello: int
    """Its process."""
    fence: list[str]
    """What holds it, part by part."""
    device: dict[str, Any]
    """Of a lane with a CUDA context: `name`, `arch`, and `free` bytes of memory when it came up."""


class WorkerReport(TypedDict):
    """What a worker says of its interpreter when it has come up."""

    versions: dict[str, Any]
    failed: dict[str, Any]
    touched: bool
    spoilt: bool


class Exited(TypedDict):
    """What a worker says of a lane that ended."""

    exited: int
    status: int


def hello_problem(hello: Any) -> str:
    """Where this is no `Hello`, and how; empty if it is one."""
    why = problem(Hello)(hello)
    if not why and (hello["hello"] <= 1 or type(hello["device"].get("free", 0)) is not int):
        why = " is of no process"
    return why


def report_problem(report: Any) -> str:
    """Where this is no `Report`, and how; empty if it is one."""
    why = problem(Report)(report)
    if not why and not all(number.isdecimal() and number.isascii() for number in report["values"]):
        why = ".values are no texts by number"
    if not why and not all(_names_a_rule(launch["fault"]) for launch in report["launches"]):
        why = ".launches have a fault of no static rule"
    if not why and (more := report.keys() - Report.__required_keys__):
        why = f" has {len(more)} fields more than it should"
    for compiled in () if why else report["compiles"]:
        why = why or _compilation_problem(compiled)
    for build in () if why else report["builds"]:
        why = why or problem(list[_HostCall])(build["calls"])
        for call in () if why else build["calls"]:
            why = why or next(filter(None, map(_argument_problem, call["args"])), "")
    return f"report{why}" if why else ""


class _PtxCall(TypedDict):
    signature: list[str]
    scratch: int
    warps: int
    cluster: list[int]


class _HostCall(TypedDict):
    kernel: str
    grid: list[int]
    block: list[int]
    shared: int
    args: list[dict[str, Any]]


class _Value(TypedDict):
    type: str
    bytes: str


class _Struct(_Value):
    raw: str
    pointers: dict[str, _TensorPointer]


class _Pointer(TypedDict):
    type: str
    tensor: int
    size: int
    offset: int
    content: str
    whole: bool


class _TensorPointer(_Pointer):
    seen: Tensor
    into: int


def _argument_problem(argument: Mapping[str, Any]) -> str:
    """What is not as `runner/inside/cuda_cpp/host_calls.py` puts an argument in words."""
    if "tensor" in argument:
        return problem(_TensorPointer if argument["tensor"] else _Pointer)(argument)
    return problem(_Struct if "raw" in argument else _Value)(argument)


def _compilation_problem(compiled: Mapping[str, Any]) -> str:
    """What is not as it should be in those of its fields that may hold anything."""
    for name, value in compiled["options"].items():
        if any(isinstance(each, (dict, list)) for each in (value if isinstance(value, list) else (value,))):
            return f".compiles have an odd option {name[:40]!r}"
    try:
        base64.b64decode(compiled["ir"].get("cubin", ""), validate=True)
        if not isinstance(json.loads(compiled["ir"].get("figures", "{}")), dict):
            return ".compiles have odd figures"
    except ValueError:
        return ".compiles have machine code that is none"
    return problem(_PtxCall)(compiled["call"]) if compiled["call"] else ""


def _names_a_rule(fault: str) -> bool:
    try:
        return not fault or bool(rules.of_fault(fault))
    except ValueError:
        return False
