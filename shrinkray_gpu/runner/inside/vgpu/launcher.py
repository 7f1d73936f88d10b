"""What stands in for a launch: the checks that a real launcher and driver make, then the static rule, and no kernel.

Checked in the order of the real one, with its words, so that a candidate fails here as it would on the device: scratch
memory from the allocator, arguments, grid.
"""

from __future__ import annotations

from typing import Any, Callable, Iterator, List, Tuple

from .. import stores, tma
from .gpu import Gpu

_LIMITS = (2**31 - 1, 65535, 65535)  # CUDA's largest grid


def launcher(gpu: Gpu, src: Any, metadata: Any) -> Callable[..., None]:
    """The callable that a Triton driver's `launcher_cls(src, metadata)` makes."""
    signature = list(getattr(src, "signature", {}).items())
    constants = {key[0] if isinstance(key, tuple) and len(key) == 1 else key for key in getattr(src, "constants", {})}

    def launch(
        x: int, y: int, z: int, stream: Any, function: Any, packed: Any, about: Any, enter: Any, leave: Any, *args: Any
    ) -> None:
        if gpu.sticky:
            raise RuntimeError("Triton Error [CUDA]: misaligned address\n" + gpu.verdict)
        grid = (int(x), int(y), int(z))
        blocks = grid[0] * grid[1] * grid[2]
        _scratch(gpu, metadata, blocks, stream)
        given = list(_runtime(signature, constants, args))
        for kind, value in given:
            _accessible(gpu, kind, value)
        if any(n < 0 or n > limit for n, limit in zip(grid, _LIMITS)):
            raise RuntimeError("Triton Error [CUDA]: invalid argument")
        if enter is not None:
            enter(about)
        if blocks:
            _judge(gpu, grid, [value for kind, v in given for value in _parameters(gpu, kind, v)], _null(gpu, given))
            gpu.launched = True
            _doubt(gpu, given)
        if leave is not None:
            leave(about)

    return launch


def _null(gpu: Gpu, given: List[Tuple[Any, Any]]) -> bool:
    """Whether an argument is an empty tensor: a null pointer, so that the real launch may end in another fault."""
    tensors = [t for kind, v in given if isinstance(kind, str) and kind.startswith("*") for t in _tensors(v)]
    return gpu.claims is not None and any(not t.untyped_storage().nbytes() for t in tensors)


def _judge(gpu: Gpu, grid: Tuple[int, ...], values: List[Any], null: bool) -> None:
    kernel = gpu.watch.last_kernel
    text = kernel.asm.get("ttgir") if kernel is not None else None
    finding = tma.examine(text, grid, values) if isinstance(text, str) else tma.Finding()
    if finding.reason and null:
        gpu.undecided.append("%s: it is given an empty tensor, a null pointer" % kernel.name)
    elif finding.reason:
        gpu.watch.launches[-1]["fault"] = finding.reason
        gpu.fault(finding.reason)
    elif finding.unknown:
        gpu.undecided.append("%s: %s" % (kernel.name, finding.unknown))


def _doubt(gpu: Gpu, given: List[Tuple[Any, Any]]) -> None:
    """What the kernel may have written is unknown from here on."""
    if gpu.claims is None:
        return
    kernel = gpu.watch.last_kernel
    text = kernel.asm.get("ttir") if kernel is not None else None
    if not hasattr(kernel, "_written"):
        kernel._written = stores.written(text) if isinstance(text, str) else None
    index = 0
    for kind, value in given:
        if kernel._written is None or index in kernel._written:
            for tensor in _tensors(value):
                gpu.claims.doubt(tensor)
        index += len(list(_parameters(gpu, kind, value)))


def _scratch(gpu: Gpu, metadata: Any, blocks: int, stream: Any) -> None:
    """Device-made descriptors need memory from `triton.set_allocator`; without one the real launch raises."""
    size = getattr(metadata, "global_scratch_size", 0)
    if not size:
        return
    from triton.runtime import _allocation

    found: Any = _allocation._allocator  # a ContextVar from 3.6 on, a plain function before
    allocate = found.get() if hasattr(found, "get") else found
    wanted = blocks * getattr(metadata, "num_ctas", 1) * size
    memory = allocate(wanted, getattr(metadata, "global_scratch_align", 128), stream)
    if memory is None or isinstance(memory, int):  # a null or wild pointer, and the kernel writes descriptors there
        if blocks:
            raise RuntimeError(
                "Triton Error [CUDA]: an illegal memory access was encountered (the allocator returned no memory)"
            )
        return
    _accessible(gpu, "*i8", memory)
    if gpu.claims is not None and hasattr(memory, "untyped_storage") and memory.untyped_storage().nbytes() < wanted:
        raise RuntimeError(
            "Triton Error [CUDA]: an illegal memory access was encountered (the allocator returned too little)"
        )


def _runtime(signature: List[Any], constants: Any, args: Tuple[Any, ...]) -> Iterator[Tuple[Any, Any]]:
    """Type and value of each argument that the compiled kernel still takes.

    Up to 3.2 the launcher gets no constexprs and the signature names none; later both list them as "constexpr".
    """
    for (_, kind), value in zip(signature, args):
        yield from _flat(kind, value)


def _flat(kind: Any, value: Any) -> Iterator[Tuple[Any, Any]]:
    if isinstance(kind, (tuple, list)):
        for k, v in zip(kind, value):
            yield from _flat(k, v)
    elif kind != "constexpr":
        yield kind, value


def _accessible(gpu: Gpu, kind: Any, value: Any) -> None:
    if isinstance(kind, str) and kind.startswith("tensordesc"):
        value, kind = getattr(value, "base", value), "*"
    if not isinstance(kind, str) or not kind.startswith("*") or value is None or isinstance(value, int):
        return
    if not hasattr(value, "data_ptr"):
        raise TypeError("Pointer argument must be either uint64 or have data_ptr method")
    for tensor in _tensors(value):
        if gpu.claims is not None and gpu.claims.device(tensor) != "cuda" and tensor.data_ptr():
            raise ValueError("Pointer argument cannot be accessed from Triton (cpu tensor?)")


def _tensors(value: Any) -> List[Any]:
    """The torch tensor behind an argument: itself, or what a descriptor or a reinterpreting wrapper stands on."""
    while not hasattr(value, "untyped_storage"):
        value = getattr(value, "base", None)
        if value is None:
            return []
    return [value]


def _parameters(gpu: Gpu, kind: Any, value: Any) -> Iterator[Any]:
    """The values of the kernel's parameters that one argument becomes, as `tma` takes them."""
    if isinstance(kind, str) and kind.startswith("tensordesc"):
        shape, strides = tuple(value.shape), tuple(value.strides)
        yield tma.Descriptor(shape, strides)
        yield from shape
        yield from strides
    elif isinstance(kind, str) and kind.startswith("*"):
        tensors = _tensors(value)
        # Where the GPU has it modulo its 512-byte allocations: CPU memory is aligned less.
        yield tensors[0].storage_offset() * tensors[0].element_size() if tensors else (0 if value is None else None)
    else:
        yield value if isinstance(value, (int, bool)) else None
