"""A launch on the virtual GPU, followed by the evaluator of Triton's IR: its tensors as that takes them."""

from __future__ import annotations

import ast
import hashlib
import re
import time
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

import torch

from ..evaluator import alignment, causes, described_bases, races, uninitialised
from ..evaluator.copies import examine
from ..evaluator.launch import LaunchedKernel
from ..evaluator.memory import Buffer, Described
from ..launches.kernelline import lines_before
from ..launches.launch_log import NOT_FOLLOWED, Record
from ..static import stores
from ..static.cause import Evaluation
from ..static.rule import LaunchFacts, RuleFinding
from ..static.tma import DESCRIBED
from .claims import Claims
from .gpu import Gpu
from .pinned_copies import Later, as_bytes

UNREAD = "what is loaded was not computed: by a kernel that did not run, or for its size"
Passed = Dict[Tuple[int, int, int], str]
_quiet_function: Any = torch._C.DisableTorchFunction
_quiet_dispatch: Any = torch._C._DisableTorchDispatch
Evaluate = Callable[[LaunchedKernel, Any], Evaluation]
"""Is given the launch, and the kernel's code by stages."""


@dataclass(frozen=True, eq=False)
class _Launched:
    """`values`: of the kernel's parameters. `later`: contents that some of the tensors may have instead of their own,
    and `held`, in words, what all hold then."""

    kernel: Any
    grid: Tuple[int, int, int]
    record: Record
    values: Tuple[Any, ...]
    later: Optional[Later] = None
    held: Tuple[str, ...] = ()


class Evaluations:
    """Those of one candidate's launches, each made once: the same kernel, grid and arguments give the same again."""

    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu
        self._known: Dict[Any, Evaluation] = {}

    def facts(self, kernel: Any, grid: Tuple[int, int, int], arguments: Iterable[Tuple[Any, Any]]) -> LaunchFacts:
        """The last launch, as rules look at it. `arguments`: type and value of each that the compiled kernel takes."""
        with _quiet_function(), _quiet_dispatch():
            values = tuple(parameters(self.gpu.claims, arguments))
        return self._facts(_Launched(kernel, grid, self.gpu.watch.launches[-1], values))

    def later_facts(
        self, kernel: Any, grid: Tuple[int, int, int], record: Record, values: Tuple[Any, ...], later: Later
    ) -> LaunchFacts:
        """An earlier launch, with other contents of its tensors."""
        return self._facts(_Launched(kernel, grid, record, values, later, tuple(map(_contents, values))))

    def _facts(self, launch: _Launched) -> LaunchFacts:
        ttgir, ttir, grid, values = launch.kernel.asm["ttgir"], launch.kernel.asm["ttir"], launch.grid, launch.values

        def copies() -> RuleFinding:
            with _quiet_function(), _quiet_dispatch():
                finding = examine(ttgir, grid, values)
            if DESCRIBED in finding.reason:
                _note(launch.record, self._of(_described, launch))
            if launch.later is not None and finding.reason:
                return replace(finding, reason=_told(launch.later, finding.reason))
            return finding

        def found(evaluate: Evaluate) -> Callable[[], Evaluation]:
            return lambda: self._of(evaluate, launch)

        outside, misaligned, unwritten, racing = map(found, (_outside, _misaligned, _unwritten, _racing))
        return LaunchFacts(ttgir, ttir, grid, values, outside, misaligned, unwritten, racing, copies)

    def note_silent(self, kernel: Any, record: Record, facts: LaunchFacts) -> None:
        """In the record of a launch what no device tells of."""
        launch = _Launched(kernel, facts.grid, record, tuple(facts.args))
        racing, unwritten = (self._found(evaluate, launch) for evaluate in (_racing, _unwritten))
        record["silent"] = [asdict(cause) for cause in (*racing.causes, *unwritten.causes)]
        record["unordered"] = racing.unknown

    def _found(self, evaluate: Evaluate, launch: _Launched) -> Evaluation:
        kernel, grid, record, values = launch.kernel, launch.grid, launch.record, launch.values
        given = tuple(record["args"]), tuple(map(_extent, values)), _shared(values)
        key = (evaluate, kernel.hash, grid, *given, launch.held)
        if key not in self._known:
            started = time.process_time()
            with _quiet_function(), _quiet_dispatch():
                self._known[key] = _followed(evaluate, kernel, grid, values, partial(_passed, kernel, record["args"]))
            record["evaluating"] += time.process_time() - started
        return self._known[key]

    def _of(self, evaluate: Evaluate, launch: _Launched) -> Evaluation:
        found, record = self._found(evaluate, launch), launch.record
        if launch.later is not None:
            found = _overwritten(found, record, launch.later)
        if any(rule.asked for rule in self.gpu.rules()):  # else it is about another fault
            _note(record, found)
            if record["unfollowed"] in ("", NOT_FOLLOWED):
                record["unfollowed"] = found.unknown
            record["accesses"] = max(record["accesses"], found.accesses)
        return found


def _note(record: Record, found: Evaluation) -> None:
    told = [asdict(cause) for cause in found.causes]
    record["causes"] += [cause for cause in told if cause not in record["causes"]]


def _overwritten(found: Evaluation, record: Record, later: Later) -> Evaluation:
    """What goes wrong with later contents only."""
    already = {(cause["breaks"], cause["at"]) for cause in record["causes"] if not cause["overwritten"]}
    late = [
        replace(cause, overwritten=later.by, busy=later.busy, sentence=_told(later, cause.sentence))
        for cause in found.causes
        if (cause.breaks, cause.at) not in already
    ]
    return replace(found, causes=tuple(late))


def _told(later: Later, sentence: str) -> str:
    return (
        "the host wrote to pinned memory (%s) before it had waited for a copy from there with non_blocking=True; "
        "if the copy takes that, %s" % (later.by, sentence)
    )


def _contents(value: Any) -> str:
    """A word on what a buffer holds."""
    buffer = _behind(value)
    if buffer is None or buffer.tensor is None:
        return ""
    return hashlib.sha256(as_bytes(buffer.tensor.untyped_storage()).numpy().tobytes()).hexdigest()


def _followed(
    evaluate: Evaluate, kernel: Any, grid: Any, values: Tuple[Any, ...], passed: Callable[[], Passed]
) -> Evaluation:
    ttir = str(kernel.asm["ttir"])
    touched = stores.touched_parameters(ttir)
    written, once = (touched.stored, touched.once) if touched is not None else (None, frozenset())
    raw, before = str(kernel.asm.get("source", ttir)), partial(lines_before, kernel.src)
    launch = LaunchedKernel(raw, ttir, grid, values, written, passed, before, once)
    try:
        return evaluate(launch, kernel.asm)
    except Exception as error:  # ours: it ends no candidate, and proves nothing
        return Evaluation(unknown="the evaluator failed: %s: %s" % (type(error).__name__, error))


def _outside(launch: LaunchedKernel, asm: Any) -> Evaluation:
    return causes.evaluate(launch)


def _misaligned(launch: LaunchedKernel, asm: Any) -> Evaluation:
    return alignment.evaluate(launch, str(asm["ttgir"]), str(asm.get("llir", "")))


def _described(launch: LaunchedKernel, asm: Any) -> Evaluation:
    return described_bases.evaluate(launch)


def _unwritten(launch: LaunchedKernel, asm: Any) -> Evaluation:
    return uninitialised.evaluate(launch)


def _racing(launch: LaunchedKernel, asm: Any) -> Evaluation:
    return races.evaluate(launch)


def _passed(kernel: Any, described: Iterable[str]) -> Passed:
    """See `LaunchedKernel`. `described`: the arguments of the launch, as its record has them: `i32 64`."""
    from triton.runtime.jit import get_jit_fn_file_line

    function = getattr(kernel.src, "fn", None)
    if function is None:  # a kernel that was given as IR
        return {}
    integers = [re.match(r"[iu]\d+ (-?\d+)$", each) for each in described]
    values = {name: int(found.group(1)) for name, found in zip(function.arg_names, integers) if found}
    before = get_jit_fn_file_line(function)[1] - 1
    return {
        (before + place.lineno, place.col_offset, values[side.id]): side.id
        for node in ast.walk(ast.parse(function.src))
        if isinstance(node, (ast.BinOp, ast.Compare))
        for sides in [(node.left, node.right) if isinstance(node, ast.BinOp) else (node.left, *node.comparators)]
        for side in sides
        if isinstance(side, ast.Name) and side.id in values
        for place in (node, *_operand(sides[-1]))
    }


def _operand(node: Any) -> Iterator[Any]:
    """The parts of the right operand, one of which Triton takes for the place of a constant on either side."""
    if isinstance(node, ast.expr) and not isinstance(node, ast.BinOp):
        yield node
        for part in ast.iter_child_nodes(node):
            yield from _operand(part)


def _extent(value: Any) -> Any:
    """What the descriptions of arguments leave out: where in its storage a tensor lies, and how large that is."""
    return (value.at, value.size, value.written) if isinstance(value, Buffer) else None


def _shared(values: Sequence[Any]) -> Tuple[int, ...]:
    """Of each argument, the first one that has its storage."""
    held = [buffer.storage if buffer is not None else None for buffer in map(_behind, values)]
    return tuple(held.index(each) for each in held)


def _behind(value: Any) -> Optional[Buffer]:
    """The buffer of a tensor, or of what a descriptor describes."""
    value = value.buffer if isinstance(value, Described) else value
    return value if isinstance(value, Buffer) else None


def parameters(claims: Optional[Claims], arguments: Iterable[Tuple[Any, Any]]) -> List[Any]:
    """The values of the kernel's parameters, as `LaunchedKernel` has them."""
    out: List[Any] = []
    for kind, value in arguments:
        if isinstance(kind, str) and kind.startswith("tensordesc"):
            tensor = tensor_of(value)
            shape, strides = tuple(value.shape), tuple(value.strides)
            base = None if tensor is None else _buffer(claims, len(out), tensor)
            out.append(Described(base, shape, strides, None if tensor is None else tensor.element_size()))
            out.extend((*shape, *strides))
        elif isinstance(kind, str) and kind.startswith("*"):
            tensor = tensor_of(value)
            if tensor is not None:
                out.append(_buffer(claims, len(out), tensor))
            else:
                out.append(Buffer(len(out), 0, 0) if value is None or value == 0 else None)
        else:
            out.append(value if isinstance(value, int) else None)
    return out


def tensor_of(value: Any) -> Any:
    """The torch tensor behind an argument: itself, or what a descriptor or a reinterpreting wrapper stands on."""
    while value is not None and not hasattr(value, "untyped_storage"):
        value = getattr(value, "base", None)
    return value


def _buffer(claims: Optional[Claims], parameter: int, tensor: Any) -> Buffer:
    """Where the GPU has it: its storages start at 512-byte boundaries, those of the CPU do not."""
    width = tensor.element_size()
    written = True if claims is None else claims.written(tensor)
    known = claims is not None and not claims.unknown(tensor) and written is not False
    return Buffer(
        parameter,
        tensor.storage_offset() * width,
        tensor.untyped_storage().nbytes(),
        tuple(tensor.shape),
        tuple(tensor.stride()),
        width,
        tensor.detach() if known else None,
        UNREAD if written is not False else "nobody wrote what is loaded",
        written,
        int(tensor.untyped_storage()._cdata),
    )
