"""What becomes cases of the corpus on a GPU: each original, how it is reduced, and what is known of its fault.

`tests/gpu/make_cases.py` makes them; tests/gpu/test_make_cases.py sees to it, without a GPU, that they come so far.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ORIGINALS = Path(__file__).parent
LIFTING = ORIGINALS.parent / "lifting"
CUDA = ORIGINALS.parent / "cuda"

TRITON, TORCH = "https://github.com/triton-lang/triton", "https://github.com/pytorch/pytorch"
ILLEGAL, MISALIGNED = "illegal memory access", "misaligned address"


@dataclass(frozen=True)
class Making:
    """How one case is made."""

    name: str
    original: Path
    oracle: str
    title: str
    klass: str
    mechanism: str
    upstream: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    needs: dict[str, Any] = field(default_factory=dict)
    """Beside a GPU."""
    seconds: int = 60
    """Of search."""
    alone: bool = False
    """Whether nothing else may be at work meanwhile."""
    beside: tuple[str, ...] = ()
    """Modules and patches of the original, in its folder."""


MAKINGS = (
    Making(
        "compiled_model",
        LIFTING / "compiled_model.py",
        MISALIGNED,
        "Rows read in words of 8 bytes begin at none, once Inductor has split the projection into views",
        "torch.compile",
        "A feed-forward block under torch.compile. Its own kernel for row maxima reads four halves a load, which"
        " rows of 514 halves allow for every other row only. The kernel is lifted out of what Inductor made: the repro"
        " needs no torch.compile.",
        (f"{TORCH}/issues/96628", f"{TORCH}/pull/123319"),
        seconds=70,
    ),
    Making(
        "intermittent_misalignment",
        ORIGINALS / "packed_requests.py",
        MISALIGNED,
        "Requests packed behind each other in an order that is drawn anew in each process",
        "intermittent misalignment",
        "Two 16-bit tokens are read as one word. A request behind one of odd length begins in the middle of a word, and"
        " which request comes first is a matter of their random ids: half of all runs fault. The module that draws the"
        " ids stays an import, so that chance stays in play.",
        options=("--skip-pass", "lift"),
        seconds=70,
        beside=("arrivals.py",),
    ),
    Making(
        "stale_trip_count",
        ORIGINALS / "stale_trip_count.py",
        ILLEGAL,
        "A kernel reads the trip count of the launch after it",
        "history-dependent illegal access",
        "The dynamic trip count lies on the device, and is copied there from one pinned buffer. While the GPU is still"
        " at work the host overwrites the buffer for the next launch, of a variant of the kernel with other constexprs,"
        " so the earlier one walks over far more chunks than there are. Needed are both variants, compiled before, and"
        " launches in quick succession; serialised it vanishes. This stands for a Helion kernel with a dynamic hl.grid"
        " that showed the same signs; that kernel itself is not public.",
        ("https://github.com/NVIDIA/Megatron-LM/pull/5715",),
        ("--skip-pass", "lift", "--control", "serial"),
        seconds=120,
    ),
    Making(
        "history_specialised",
        LIFTING / "history_specialised.py",
        MISALIGNED,
        "A kernel that was compiled for rows of 32 halves is launched with rows of 66",
        "history-dependent misalignment",
        "A launcher of the user's own keeps what Triton compiled for the first shape and launches it again without"
        " Triton's look at the arguments. Compiled was it for a stride that 16 divides, with wide loads.",
        seconds=60,
    ),
    Making(
        "int32_offset_overflow",
        ORIGINALS / "paged_cache.py",
        ILLEGAL,
        "A page number times the stride of a page overflows 32 bits",
        "int32 offset overflow",
        "Page numbers are int32 and so is the stride, and the product of two int32 is an int32 in Triton: from 2**31"
        " elements on it is negative, and the load goes far before the cache.",
        ("https://github.com/databricks/megablocks/pull/186", f"{TRITON}/issues/1058", f"{TRITON}/issues/6748"),
        ("--keep", "page_start", "--control-patch", "paged_cache.diff"),
        beside=("paged_cache.diff",),
        seconds=60,
    ),
    Making(
        "wrong_stride",
        ORIGINALS / "swapped_strides.py",
        ILLEGAL,
        "The strides of batch and head are handed over in the wrong order",
        "wrong stride",
        "The number of a head, which goes up to 31, is multiplied by the stride of a batch: the load goes a gigabyte"
        " beyond 64 MiB of values.",
        (f"{TRITON}/issues/67",),
        ("--skip-pass", "lift", "--control-patch", "swapped_strides.diff"),
        beside=("swapped_strides.diff",),
        seconds=70,
    ),
    Making(
        "missing_mask",
        ORIGINALS / "last_tile.py",
        ILLEGAL,
        "The last tile of rows is loaded without a mask",
        "missing mask",
        "100 rows in tiles of 64: the store is masked, the load is not, and reads 28 rows of 32 MiB beyond the tensor.",
        (f"{TRITON}/issues/770",),
        ("--control-patch", "last_tile.diff"),
        beside=("last_tile.diff",),
        seconds=60,
    ),
    Making(
        "device_assert",
        ORIGINALS / "unknown_token.py",
        "device-side assert",
        "An index beyond the table trips tl.device_assert",
        "device assert",
        "The tokenizer has learnt a word that the embedding table has no row for; the kernel, launched with debug=True,"
        " checks its indices.",
        ("https://github.com/Lightning-AI/litgpt/issues/774",),
        seconds=50,
    ),
    Making(
        "lost_updates",
        ORIGINALS / "lost_updates.py",
        "nondeterministic",
        "Programs add to one counter by load and store",
        "race",
        "Each program loads the counts, adds its own and stores the sum. What another program stored in between is"
        " lost, so the counts are too small, by another amount in each run.",
        ("https://github.com/thunlp/TritonBench/pull/10",),
        seconds=45,
    ),
    Making(
        "tma_store_message",
        ORIGINALS / "tma_store_message.py",
        "nondeterministic",
        "A tile stored by descriptor is not there yet when the flag says so",
        "TMA store non-determinism",
        "Split-K: each program stores its tile by descriptor, counts itself as done with release semantics, and the"
        " last one reads all tiles. Until 3.7 the code waits only until shared memory has been read, not until the"
        " store is complete (tma_store_unreleased shows that in the PTX). That is one way to what issue 6638 tells of;"
        " what its own kernel suffered from is not known.",
        (f"{TRITON}/issues/6638", f"{TRITON}/pull/10415"),
        needs={"architecture": "sm_90"},
        seconds=45,
    ),
    Making(
        "tma_store_reused",
        ORIGINALS / "tma_store_reused.py",
        "nondeterministic",
        "Gluon: shared memory is overwritten while a TMA store still reads it",
        "TMA store non-determinism",
        "`async_copy_shared_to_global` returns at once; without `store_wait` before the next `store` to the same shared"
        " memory tiles get rows of the tile after them, others in each run. Triton waits by itself, Gluon does not. The"
        " signs are those of issue 6638.",
        (f"{TRITON}/issues/6638",),
        needs={"architecture": "sm_90", "packages": ["triton>=3.5"]},
        seconds=45,
    ),
    Making(
        "fa_intermittent_misaligned",
        CUDA / "fa_intermittent_misaligned.py",
        MISALIGNED,
        "A slot in shared memory is read before thread 0 has written it",
        "intermittent misalignment",
        "Thread 0 writes down where the first tile of K begins in its ring, and the other warps read it with no barrier"
        " between. They find what the block before left there, scores in the same union, and store 16 bytes at an odd"
        " offset. A configuration of one stage has no ring, and shared memory that holds zeros hides it.",
        options=("--final-runs", "6"),
        seconds=400,
        alone=True,
    ),
    Making(
        "hang",
        ORIGINALS / "split_sum.py",
        "hang:4",
        "The last program waits for the flag of one that had nothing to do",
        "hang",
        "Partial sums are handed on from program to program. Where the rows do not divide evenly the last programs have"
        " none, and leave without raising their flag; the last one waits for it for ever.",
        ("https://github.com/flagos-ai/FlagTree/issues/1030",),
        seconds=35,
        alone=True,
    ),
)
