"""Triton: `triton.language`, mostly imported as `tl`."""

from __future__ import annotations

from shrinkray_gpu.language.kernel_language import Access, KernelLanguage

ATOMICS = ("atomic_add", "atomic_and", "atomic_max", "atomic_min", "atomic_or", "atomic_xchg", "atomic_xor")
LAUNCH_OPTIONS = frozenset(
    {"num_warps", "num_stages", "num_ctas", "maxnreg", "grid", "warmup", "enable_fp_fusion", "launch_cooperative_grid",
     "launch_pdl", "waves_per_eu", "matrix_instr_nonkdim", "kpack", "schedule_hint", "allow_flush_denorm", "debug",
     "sanitize_overflow", "num_buffers_warp_spec",
     "num_consumer_groups", "reg_dec_producer", "reg_inc_consumer", "default_dot_input_precision"}
)  # fmt: skip

TRITON = KernelLanguage(
    name="Triton",
    module="triton.language",
    usual=("tl",),
    package="triton",
    makers=frozenset({"jit"}),
    tuners=frozenset({"autotune", "heuristics"}),
    accesses={
        "load": Access(mask=1, other=2),
        "store": Access(mask=2),
        **dict.fromkeys(ATOMICS, Access(mask=2)),
        "atomic_cas": Access(),
        "load_tensor_descriptor": Access(),
        "store_tensor_descriptor": Access(),
    },
    guards=frozenset({"mask", "other", "boundary_check", "padding_option"}),
    ranges=frozenset({"range", "static_range"}),
    reductions=frozenset({"sum", "xor_sum", "max", "min", "argmax", "argmin", "reduce_or", "reduce"}),
    writable=frozenset({"zeros", "full", "sum", "device_print"}),
    launch_options=LAUNCH_OPTIONS,
)
