"""Which arguments of a launch its kernel reads and writes through, by its TTIR."""

from __future__ import annotations

import contextlib
from typing import Any, List, Mapping, NamedTuple, Optional

from . import stores


class TouchedArguments(NamedTuple):
    """Arguments as they were given: tensors, descriptors, or what wraps a tensor."""

    read: List[Any]
    written: List[Any]


def touched_arguments(kernel: Any, given: Mapping[str, Any]) -> Optional[TouchedArguments]:
    """Those of a compiled kernel that it may read and write through; None where that is not known. `given`: all that
    it was given, by name."""
    with contextlib.suppress(Exception):  # another Triton, which has another kind of kernel
        names = list(kernel.src.fn.arg_names)
        kinds = kernel.src.signature.items()
        pointers = [key if isinstance(key, str) else names[key] for key, kind in kinds if kind != "constexpr"]
        touched = stores.touched_parameters(kernel.asm["ttir"])
        if touched is not None:
            read, written = ([given[pointers[i]] for i in sorted(found)] for found in (touched.loaded, touched.stored))
            return TouchedArguments(read, written)
    return None
