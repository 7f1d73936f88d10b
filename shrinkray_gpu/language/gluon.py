"""Gluon: `triton.experimental.gluon.language`, mostly imported as `gl` or `ttgl`. Its layouts are explicit.

Some accesses stand in modules of one vendor's hardware (`gl.amd.cdna3.buffer_load`). Each is listed by its last name.
"""

from __future__ import annotations

from shrinkray_gpu.language.kernel_language import Access, KernelLanguage
from shrinkray_gpu.language.triton import ATOMICS, LAUNCH_OPTIONS

GLUON = KernelLanguage(
    name="Gluon",
    module="triton.experimental.gluon.language",
    usual=("gl", "ttgl"),
    package="triton.experimental.gluon",
    makers=frozenset({"jit"}),
    tuners=frozenset(),
    accesses={
        "load": Access(mask=1, other=2),
        "store": Access(mask=2),
        **dict.fromkeys(ATOMICS, Access(mask=2)),
        "atomic_cas": Access(),
        "buffer_load": Access(mask=2, other=3),
        "buffer_store": Access(mask=3),
        "async_copy_global_to_shared": Access(mask=2),
    },
    guards=frozenset({"mask", "other", "boundary_check", "padding_option"}),
    ranges=frozenset({"static_range"}),
    reductions=frozenset({"sum", "xor_sum", "max", "min", "reduce_or", "reduce"}),
    writable=frozenset({"zeros", "full", "sum", "device_print"}),
    launch_options=LAUNCH_OPTIONS,
)
