"""Streams, events and graphs of the virtual GPU: everything is done at once, and only waiting has a meaning."""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional

from .gpu import Faults, Gpu


def classes(gpu: Gpu) -> Dict[str, Any]:
    """The classes of torch.cuda, bound to this GPU (scripts subclass and isinstance-check them)."""

    class Stream:
        cuda_stream = native_handle = stream_id = device_index = priority = 0

        def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
            import torch

            self.device = torch.device("cuda", 0)

        def query(self) -> bool:
            gpu.copies.wait()
            return True

        def is_capturing(self) -> bool:
            return gpu.capture is not None

        def synchronize(self) -> None:
            gpu.wait()

        def wait_stream(self, stream: Any) -> None:
            return None

        wait_event = wait_stream

        def record_event(self, event: Any = None) -> Any:
            event = event or Event()
            event.record(self)
            return event

        def __enter__(self) -> "Stream":
            self._before = current()
            set_current(self)
            return self

        def __exit__(self, *exc: Any) -> None:
            set_current(self._before)

    class Event:
        cuda_event = 0

        def __init__(
            self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, **kwargs: Any
        ) -> None:
            self._timing = enable_timing
            self._recorded: Optional[int] = None  # how many copies from pinned memory had been made

        def record(self, stream: Any = None) -> None:
            gpu.check()
            self._recorded = gpu.copies.made

        def wait(self, stream: Any = None) -> None:
            return None

        def query(self) -> bool:
            gpu.check()
            if self._recorded is not None:
                gpu.copies.wait(self._recorded)
            return True

        def synchronize(self) -> None:
            if self._recorded is not None:
                gpu.wait(self._recorded)

        def elapsed_time(self, end: Any) -> float:
            if not self._timing:
                raise ValueError("Both events must be created with argument 'enable_timing=True'.")
            if self._recorded is None or end._recorded is None:
                raise ValueError("Both events must be recorded before calculating elapsed time.")
            gpu.check()
            return 1.0

    class CUDAGraph:
        """What is captured runs once, at capture; its faults come with each replay."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self._faults: Faults = []

        def capture_begin(self, *args: Any, **kwargs: Any) -> None:
            gpu.capture = self._faults = []

        def capture_end(self) -> None:
            gpu.capture = None

        def replay(self) -> None:
            gpu.check()
            for rule, reason, launch in self._faults:
                gpu.fault(rule, reason, launch)

        def reset(self) -> None:
            self._faults = []

        def pool(self) -> "tuple[int, int]":
            return (0, 0)

        def __getattr__(self, name: str) -> Callable[..., None]:
            if name.startswith("__"):
                raise AttributeError(name)
            return lambda *args, **kwargs: None

    class graph:
        def __init__(self, cuda_graph: Any, *args: Any, **kwargs: Any) -> None:
            self._graph = cuda_graph

        def __enter__(self) -> None:
            self._graph.capture_begin()

        def __exit__(self, *exc: Any) -> None:
            self._graph.capture_end()

    class device:
        """`with torch.cuda.device(0)`."""

        def __init__(self, device: Any = None) -> None:
            self.idx = self.prev_idx = 0

        def __enter__(self) -> Optional[int]:
            return None

        def __exit__(self, *exc: Any) -> None:
            return None

    class StreamContext(device):
        """`with torch.cuda.stream(s)`."""

        def __init__(self, stream: Any = None) -> None:
            super().__init__()
            self.stream = stream

        def __enter__(self) -> None:
            self._before = current()
            set_current(self.stream)

        def __exit__(self, *exc: Any) -> None:
            set_current(self._before)

    class MemPool:
        """Memory that is kept apart: here there is none of it."""

        id = (0, 0)
        allocator = None

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            return None

        def use_count(self) -> int:
            return 1

        def snapshot(self, *args: Any) -> "list[Any]":
            return []

    class use_mem_pool(device):
        pass

    default = Stream()
    here = [default]

    def current() -> Any:
        return here[0]

    def set_current(stream: Any) -> None:
        here[0] = here[0] if stream is None else stream

    return {
        **{"default": default, "current": current, "set": set_current},
        **{each.__name__: each for each in (MemPool, use_mem_pool)},
        **{each.__name__: each for each in (Stream, Event, CUDAGraph, graph, device, StreamContext)},
        "ExternalStream": Stream,
        **dict.fromkeys(("device_of", "_DeviceGuard"), device),
    }
