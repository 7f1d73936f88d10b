"""Recording: the launches of one run with what their tensor arguments held, in a file that another run reads.

A line of JSON and then bytes, each content once: another Triton and another torch may be the reader. What a tensor held
before and after a launch is named by a digest, so most comparisons read no content at all.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import sys
from typing import Any, Dict, List, Mapping

Record = Dict[str, Any]

STEP = 64
"""Contents start at multiples of this, so that a view of them in any dtype is aligned."""
PLACES = (
    *("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "CUDA_CACHE_PATH"),
    *("TMPDIR", "TEMP", "PWD", "OLDPWD", "CUDA_VISIBLE_DEVICES"),
)
"""Settings that differ between the processes of one reduction, and that no kernel depends on."""


class Recording:
    """`launches`: {"kernel", "error", "dropped", "trouble", "arguments": [...]}, of which each argument is
    {"name", "text"} with "role" `scalar`, `constexpr` or `option`, or a `tensor` with "dtype" and the digests "before"
    and "after"."""

    def __init__(self, launches: List[Record], situation: str, trouble: str, contents: Mapping[str, Any]) -> None:
        self.launches = launches
        self.situation = situation
        """Stands for the interpreter and the environment that the run started in."""
        self.trouble = trouble
        """Why nothing could be recorded; else empty."""
        self.contents = contents
        """By digest: bytes, as a uint8 tensor here and a memoryview in a recording that was read."""

    def tensor(self, torch: Any, digest: str) -> Any:
        held = self.contents[digest]
        return torch.frombuffer(held, dtype=torch.uint8) if isinstance(held, memoryview) else held

    def write(self, path: str) -> None:
        places, at = {}, 0
        for digest, tensor in self.contents.items():
            places[digest] = (at, tensor.numel())
            at += -(-tensor.numel() // STEP) * STEP
        head = {
            "launches": self.launches,
            "situation": self.situation,
            "trouble": self.trouble,
            "contents": places,
        }
        line = json.dumps(head).encode()
        line = line.ljust(-(-(len(line) + 1) // STEP) * STEP - 1) + b"\n"
        new = path + ".new"
        with open(new, "wb") as file:
            file.write(line)
            for digest, tensor in self.contents.items():
                file.seek(len(line) + places[digest][0])
                file.write(view(tensor))
            file.truncate(len(line) + at)
        os.replace(new, path)


def read(path: str) -> Recording:
    """Raises OSError or ValueError where there is none."""
    with open(path, "rb") as file:
        line = file.readline()
        head = json.loads(line)
        # Copy on write: torch wants its buffers writable, and nobody writes.
        data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
    contents = {
        digest: data[len(line) + at : len(line) + at + length] for digest, (at, length) in head["contents"].items()
    }
    return Recording(head["launches"], head["situation"], head["trouble"], contents)


def digest(tensor: Any) -> str:
    """Of a uint8 tensor on the CPU."""
    return hashlib.blake2b(view(tensor), digest_size=16).hexdigest()


def view(tensor: Any) -> Any:
    """The bytes of a contiguous tensor on the CPU, without numpy, which need not be there."""
    import ctypes

    return memoryview((ctypes.c_char * tensor.numel()).from_address(tensor.data_ptr())).cast("B")


def situation() -> str:
    """The same for two runs that only a knob tells apart."""
    settings = sorted((name, value) for name, value in os.environ.items() if name not in PLACES)
    return hashlib.sha256(repr((sys.executable, settings)).encode()).hexdigest()
