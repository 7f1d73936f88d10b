"""What stands in for a launch: the checks that a real launcher and driver make, then the static rules, and no kernel.

Checked in the order of the real one, with its words, so that a candidate fails here as it would on the device: scratch
memory from the allocator, arguments, grid.
"""

from __future__ import annotations

import os
from typing import Any, Callable, Iterator, List, Optional, Tuple

from ..evaluator.memory import Buffer
from ..launches.launch_log import INTERPRETED, Record
from ..static import locations, rules, stores
from ..static.cause import EMPTY
from ..static.rule import LaunchFacts, Rule, RuleFinding
from . import interpreted
from .evaluation import Evaluations, parameters, tensor_of
from .gpu import Gpu
from .pinned_copies import Later

_LIMITS = (2**31 - 1, 65535, 65535)  # CUDA's largest grid, and HIP's or less


def launcher(gpu: Gpu, src: Any, metadata: Any) -> Callable[..., None]:
    """The callable that a Triton driver's `launcher_cls(src, metadata)` makes."""
    signature = list(getattr(src, "signature", {}).items())

    def launch(
        x: int, y: int, z: int, stream: Any, function: Any, packed: Any, about: Any, enter: Any, leave: Any, *args: Any
    ) -> None:
        gpu.watch.awaited = None
        if gpu.sticky:
            raise _error(gpu, gpu.error)
        grid = (int(x), int(y), int(z))
        blocks = grid[0] * grid[1] * grid[2]
        _scratch(gpu, metadata, blocks, stream)
        given = [pair for (_, kind), value in zip(signature, args) for pair in _runtime(kind, value)]
        for kind, value in given:
            _accessible(gpu, kind, value)
        if any(n < 0 or n > limit for n, limit in zip(grid, _LIMITS)):
            raise _error(gpu, "invalid argument")
        if enter is not None:
            enter(about)
        if blocks:
            facts = _judge(gpu, grid, given)
            gpu.launch()
            if gpu.copies:
                _queue(gpu, given, facts)
            if facts and INTERPRETED in gpu.watch.wants and interpreted.run(gpu, src, args, given, facts):
                gpu.watch.launches[-1]["interpreted"] = True
            else:
                _doubt(gpu, given)
        if leave is not None:
            leave(about)

    return launch


def _judge(gpu: Gpu, grid: Tuple[int, int, int], given: List[Tuple[Any, Any]]) -> Optional[LaunchFacts]:
    """Hold the last launch against the rules. Returns what it is, if there is code to look at."""
    kernel = gpu.watch.last_kernel
    ttgir, ttir = (kernel.asm.get(stage) if kernel is not None else None for stage in ("ttgir", "ttir"))
    if not isinstance(ttgir, str) or not isinstance(ttir, str):
        return None
    if gpu.evaluations is None:
        gpu.evaluations = Evaluations(gpu)
    facts = gpu.evaluations.facts(kernel, grid, given)
    _is_condemned(gpu, gpu.watch.launches[-1], facts)
    if any(rule.asked for rule in gpu.rules()):
        gpu.evaluations.note_silent(kernel, gpu.watch.launches[-1], facts)
    # An overrun may go unnoticed, a null pointer never does: then the fault of a later launch is not what is seen.
    if not gpu.harmed and any(isinstance(value, Buffer) and value.null for value in facts.args):
        found = facts.evaluation()
        gpu.harmed = next((cause.sentence for cause in found.causes if cause.kind == EMPTY), found.hazard)
    return facts


def _is_condemned(gpu: Gpu, record: Record, facts: LaunchFacts, *, late: bool = False) -> bool:
    """Whether a launch breaks a rule; if `late`, by what the host overwrote."""
    held = gpu.rules()
    return any(_condemned(gpu, rule, rule.examine(facts), facts, record, late) for rule in held)


def _condemned(gpu: Gpu, rule: Rule, finding: RuleFinding, facts: LaunchFacts, record: Record, late: bool) -> bool:
    unknown = gpu.harmed if finding.reason else finding.unknown
    if finding.reason and not unknown:
        place = ""
        if finding.operation and "lines" in gpu.watch.wants:
            place = locations.of_operation(facts.ttgir, finding.operation)
        gpu.fault(rule, finding.reason + (", at " + place if place else ""), record, late=late)
        return True
    if unknown:
        record["undecided"] = rules.fault_text(rule, unknown)
    return False


def _queue(gpu: Gpu, given: List[Tuple[Any, Any]], facts: Optional[LaunchFacts]) -> None:
    """The last launch reads what the device copies from pinned memory, perhaps: it is judged with what the host writes
    there as well."""
    tensors = list(_tensors(given))
    touched = stores.touched_parameters(facts.ttir) if facts is not None else None
    read = [tensor for index, tensor in tensors if touched is None or index in touched.loaded]
    written = [tensor for index, tensor in tensors if touched is None or index in touched.stored]
    if facts is None:
        gpu.copies.launched((), (), read, written, None)
        return
    kernel, record, grid, evaluations = gpu.watch.last_kernel, gpu.watch.launches[-1], facts.grid, gpu.evaluations

    def judge(values: Tuple[Any, ...], later: Later) -> bool:
        anew = evaluations.later_facts(kernel, grid, record, values, later)
        return _is_condemned(gpu, record, anew, late=True)

    key = (kernel.hash, grid, tuple(record["args"]))
    gpu.copies.launched(key, facts.args, read, written, None if record["fault"] else judge)
    if os.environ.get("CUDA_LAUNCH_BLOCKING") == "1":
        gpu.copies.wait()


def _tensors(given: List[Tuple[Any, Any]]) -> Iterator[Tuple[int, Any]]:
    """Each with the index of its parameter."""
    index = 0
    for kind, value in given:
        tensor = tensor_of(value)
        if tensor is not None:
            yield index, tensor
        index += len(parameters(None, [(kind, value)]))


def _doubt(gpu: Gpu, given: List[Tuple[Any, Any]]) -> None:
    """What the kernel may have written is unknown from here on."""
    if gpu.claims is None:
        return
    kernel = gpu.watch.last_kernel
    text = kernel.asm.get("ttir") if kernel is not None else None
    if not hasattr(kernel, "_written"):
        kernel._written = stores.stored_parameters(text) if isinstance(text, str) else None
    for index, tensor in _tensors(given):
        if kernel._written is None or index in kernel._written:
            gpu.claims.doubt(tensor)
            gpu.claims.write(tensor, whole=False)


def _scratch(gpu: Gpu, metadata: Any, blocks: int, stream: Any) -> None:
    """Device-made descriptors need memory from `triton.set_allocator`; without one the real launch raises."""
    size = getattr(metadata, "global_scratch_size", 0)
    if not size:
        return
    from triton.runtime import _allocation

    found: Any = _allocation._allocator  # a ContextVar from 3.6 on, a plain function before
    allocate = found.get() if hasattr(found, "get") else found
    wanted = blocks * getattr(metadata, "num_ctas", 1) * size
    given = allocate(wanted, getattr(metadata, "global_scratch_align", 128), stream)
    if given is None or isinstance(given, int):
        # The kernel writes its descriptors to wherever that is: null, or an address that nobody holds memory behind.
        if blocks:
            what = "None" if given is None else "an int"
            raise _illegal(gpu, "the allocator returned %s instead of a tensor" % what)
        return
    _accessible(gpu, "*i8", given)
    tensor = tensor_of(given)
    if tensor is None or not blocks:
        return
    [buffer] = parameters(None, [("*i8", tensor)])
    if buffer.size - buffer.at < wanted:
        raise _illegal(gpu, "the allocator returned too little")
    if buffer.at % getattr(metadata, "global_scratch_align", 128):
        raise _illegal(gpu, "the allocator returned a view that starts off its alignment")


def _illegal(gpu: Gpu, why: str) -> Exception:
    return _error(gpu, "an illegal memory access was encountered (%s)" % why)


def _error(gpu: Gpu, words: str) -> Exception:
    return RuntimeError("Triton Error [%s]: %s" % (gpu.target.runtime, words))


def _runtime(kind: Any, value: Any) -> Iterator[Tuple[Any, Any]]:
    """Type and value of what the compiled kernel still takes of an argument.

    Up to 3.2 the launcher gets no constexprs and the signature names none; later both list them as "constexpr".
    """
    if isinstance(kind, (tuple, list)):
        for k, v in zip(kind, value):
            yield from _runtime(k, v)
    elif kind != "constexpr":
        yield kind, value


def _accessible(gpu: Gpu, kind: Any, value: Any) -> None:
    if isinstance(kind, str) and kind.startswith("tensordesc"):
        value, kind = getattr(value, "base", value), "*"
    if not isinstance(kind, str) or not kind.startswith("*") or value is None or isinstance(value, int):
        return
    if gpu.compiling:  # what Inductor measures has its inputs from below the modes
        return
    if not hasattr(value, "data_ptr"):
        raise TypeError("Pointer argument must be either uint64 or have data_ptr method")
    tensor = tensor_of(value)
    if tensor is None or gpu.claims is None or gpu.claims.device(tensor) == "cuda" or not tensor.data_ptr():
        return
    raise ValueError("Pointer argument cannot be accessed from Triton (cpu tensor?)")
