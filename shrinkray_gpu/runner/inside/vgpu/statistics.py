"""What torch.cuda answers of its memory: the bytes of the tensors that are on the virtual GPU."""

from __future__ import annotations

import pickle
from typing import Any, Callable, Dict

from .gpu import Gpu
from .properties import card

_POOLS = ("all", "small_pool", "large_pool")
_TIMES = ("current", "peak", "allocated", "freed")
_COUNTS = "allocation segment active inactive_split".split()
_BYTES = "allocated_bytes reserved_bytes active_bytes inactive_split_bytes requested_bytes".split()
_NUMBERS = (
    "num_alloc_retries num_ooms num_sync_all_streams num_device_alloc num_device_free max_split_size "
    "oversize_allocations"
)


def answers(gpu: Gpu) -> Dict[str, Callable[..., Any]]:
    """By the name of the function."""
    total = card(gpu.arch).memory
    peak = _Peak(gpu)
    now = ("memory_allocated", "memory_reserved", "memory_cached", "device_memory_used")
    most = ("max_memory_allocated", "max_memory_reserved", "max_memory_cached")
    given: Dict[str, Callable[..., Any]] = {
        **{name: lambda *a, **k: peak.now() for name in now},
        **{name: lambda *a, **k: peak.most() for name in most},
        **dict.fromkeys(
            ("reset_peak_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached"), peak.reset
        ),
        **dict.fromkeys(
            ("reset_accumulated_memory_stats", "set_per_process_memory_fraction", "_record_memory_history"), _nothing
        ),
        "empty_cache": lambda *a, **k: gpu.copies.wait(),  # as far as the host can tell
        "mem_get_info": lambda *a, **k: (total - (1 << 30) - peak.now(), total),
        "memory_stats": lambda *a, **k: _stats(peak),
        "memory_stats_as_nested_dict": lambda *a, **k: {},
        "host_memory_stats": lambda *a, **k: {},
        "memory_summary": lambda *a, **k: "",
        "memory_snapshot": lambda *a, **k: [],
        "_snapshot": lambda *a, **k: {"segments": [], "device_traces": []},
        "_dump_snapshot": _dump,
        "get_allocator_backend": lambda: "native",
    }
    given["get_memory_info"] = given["mem_get_info"]
    return given


class _Peak:
    """The largest amount that was there when somebody asked."""

    def __init__(self, gpu: Gpu) -> None:
        self._gpu = gpu
        self._most = 0

    def now(self) -> int:
        held: int = self._gpu.claims.bytes_on_gpu()
        self._most = max(self._most, held)
        return held

    def most(self) -> int:
        self.now()
        return self._most

    def reset(self, *args: Any, **kwargs: Any) -> None:
        self._most = 0


def _stats(peak: _Peak) -> Dict[str, int]:
    known = {"current": peak.now(), "peak": peak.most(), "allocated": peak.most(), "freed": 0}
    stats = {
        "%s.%s.%s" % (what, pool, time): known[time] if what in _BYTES[:3] and pool == "all" else 0
        for what in (*_COUNTS, *_BYTES)
        for pool in _POOLS
        for time in _TIMES
    }
    return {**stats, **dict.fromkeys(_NUMBERS.split(), 0)}


def _dump(filename: str = "dump_snapshot.pickle", *args: Any, **kwargs: Any) -> None:
    with open(filename, "wb") as file:
        pickle.dump({"segments": [], "device_traces": []}, file)


def _nothing(*args: Any, **kwargs: Any) -> None:
    return None
