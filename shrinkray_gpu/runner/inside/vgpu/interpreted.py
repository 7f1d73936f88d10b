"""Kernels that are run after all, by Triton's own interpreter, where what they write decides which launch goes wrong.

Only a launch is run in which no access leaves its tensor, and only where all that it reads was computed. Triton's IR
proves that. Where it cannot, as with an index that a kernel finds by sorting, the interpreter looks at each access. Its
program instances run one after another, which is one of the orders that a GPU may take. What nobody wrote before, and
the kernel did not write as a whole, stays unknown.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch

from ..static import stores
from ..static.rule import LaunchFacts
from . import interpreter
from .evaluation import tensor_of
from .gpu import Gpu

BYTES = 1 << 24
"""Of all storages that one launch is given."""
PROGRAMS = 1 << 12
"""Program instances of one launch."""
SECONDS = 4.0
"""Of processor time, for all launches of one run together."""

Given = Sequence[Tuple[Any, Any]]


def run(gpu: Gpu, src: Any, args: Sequence[Any], given: Given, facts: LaunchFacts) -> bool:
    """Run the last launch, if that may be. Returns whether its tensors hold what it wrote: those of which nobody knows
    that are in doubt, as before. `args`: as the launcher has them. `given`: type and value of each that the compiled
    kernel takes."""
    left = SECONDS - gpu.interpreting
    x, y, z = facts.grid
    if left <= 0 or x * y * z > PROGRAMS or gpu.capture is not None or gpu.tuning or gpu.pending is not None:
        return False
    arguments = _arguments(src, args)
    with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch(), torch.no_grad():
        known = _written(gpu, given, facts)
        found = facts.evaluation()
        if arguments is None or known is None or found.causes or found.hazard:
            return False
        written, read_again = known
        blank = [tensor for tensor in written if not _is_known(gpu, tensor)]
        kept = _file(gpu, arguments, facts.grid, blank)
        contents = _read(kept, [interpreter.as_bytes(tensor).numel() for tensor in written])
        if contents is None:
            watched = read_again or bool(found.unknown)
            told = interpreter.outputs(src.fn, arguments, facts.grid, written, blank, left, watched=watched)
            gpu.interpreting += told.seconds
            contents = told.contents
            if contents is None:
                return False
            _keep(kept, contents)
        for tensor, content in zip(written, contents):
            now = torch.frombuffer(bytearray(content), dtype=torch.uint8)
            if any(tensor is each for each in blank) and _is_left(now, tensor.element_size()):
                gpu.claims.doubt(tensor)
                gpu.claims.write(tensor, whole=False)
            else:
                interpreter.as_bytes(tensor).copy_(now)
                gpu.claims.trust(tensor)
                gpu.claims.write(tensor, whole=True)
    gpu.watch.wrote(written)
    return True


def _arguments(src: Any, args: Sequence[Any]) -> Optional[Dict[str, Any]]:
    """What the kernel's function takes, by name; None where it takes more than scalars, tensors and constants."""
    function = getattr(src, "fn", None)
    names = list(getattr(function, "arg_names", ()))
    if not hasattr(function, "fn"):
        return None
    found: Dict[str, Any] = {}
    for (key, kind), value in zip(src.signature.items(), args):
        if not isinstance(kind, str) or kind.startswith("tensordesc"):
            return None
        if kind != "constexpr":
            found[names[key] if isinstance(key, int) else key] = value
    for key, value in src.constants.items():
        if isinstance(key, tuple):
            if len(key) != 1:
                return None
            key = key[0]
        found[names[key] if isinstance(key, int) else key] = getattr(value, "value", value)
    return found if set(found) == set(names) else None


def _written(gpu: Gpu, given: Given, facts: LaunchFacts) -> Optional[Tuple[List[Any], bool]]:
    """A tensor for each storage that the kernel may write to, and whether it may read one again of which nothing is
    known; None where it only reads such a tensor, or takes too much, or something else than a tensor as a pointer."""
    touched = stores.touched_parameters(facts.ttir)
    if touched is None or len(given) != len(facts.args):
        return None
    storages: Dict[int, int] = {}
    written: Dict[int, Any] = {}
    read_again = False
    for index, (kind, value) in enumerate(given):
        if not (isinstance(kind, str) and kind.startswith("*")) or value is None:
            continue
        if tensor_of(value) is not value:
            return None
        storage = value.untyped_storage()
        storages[storage._cdata] = storage.nbytes()
        if index in touched.loaded and not _is_known(gpu, value):
            if index not in touched.stored:
                return None
            read_again = True
        if index in touched.stored:
            written[storage._cdata] = value
    return (list(written.values()), read_again) if sum(storages.values()) <= BYTES else None


def _file(gpu: Gpu, arguments: Dict[str, Any], grid: Any, blank: Sequence[Any]) -> str:
    """Where the outcome of this very launch is kept: other candidates have the same kernel and the same contents."""
    digest = hashlib.sha256(("%s %r" % (gpu.watch.last_kernel.hash, grid)).encode())
    storages: Dict[int, int] = {}
    for name, value in sorted(arguments.items()):
        told: Any = value
        if isinstance(value, torch.Tensor):
            unknown = any(value is each for each in blank)
            same = storages.setdefault(value.untyped_storage()._cdata, len(storages))
            told = (value.dtype, tuple(value.shape), value.stride(), value.storage_offset(), same, unknown)
            if not unknown:
                digest.update(interpreter.as_bytes(value).numpy().tobytes())
        digest.update(("%s %r" % (name, told)).encode())
    return os.path.join(os.environ.get("TRITON_CACHE_DIR") or "", "interpreted-" + digest.hexdigest())


def _read(file: str, sizes: Sequence[int]) -> Optional[List[bytes]]:
    """What is kept there, of storages of so many bytes; None where nothing is, or something else."""
    try:
        with open(file, "rb") as stream:
            whole = stream.read()
    except OSError:
        return None
    ends = list(itertools.accumulate(sizes))
    return [whole[end - size : end] for size, end in zip(sizes, ends)] if len(whole) == sum(sizes) else None


def _keep(file: str, contents: List[bytes]) -> None:
    if os.path.dirname(file):
        with contextlib.suppress(OSError):
            os.makedirs(os.path.dirname(file), exist_ok=True)
            beside = "%s.%d" % (file, os.getpid())
            with open(beside, "wb") as stream:
                stream.writelines(contents)
            os.replace(beside, file)


def _is_known(gpu: Gpu, tensor: Any) -> bool:
    return not gpu.claims.unknown(tensor) and gpu.claims.written(tensor) is not False


def _is_left(content: Any, width: int) -> bool:
    """Whether some element is as it was."""
    elements = content[: len(content) // width * width].view(-1, width)
    return bool((elements == interpreter.NOBODYS).all(dim=1).any()) or len(content) % width > 0
