"""A setup whose scratch folder and caches are its own: the user's caches are never read, and never written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shrinkray_gpu.runner.inside.capsule.capsule_schema import VARIABLE
from shrinkray_gpu.runner.lanes import Setup


def private_setup(
    folder: Path, environment: Mapping[str, str], *, writable: Sequence[Path] = (), **others: Any
) -> Setup:
    """The Setup in this environment, with all that is written in `folder`, and where the user allows it in `writable`.
    `others` are further fields of it."""
    scratch, caches = folder / "scratch", folder / "cache"
    for place in (scratch, caches):
        place.mkdir(parents=True, exist_ok=True)
    own = {
        "TRITON_CACHE_DIR": str(caches / "triton"),
        "TORCHINDUCTOR_CACHE_DIR": str(caches / "inductor"),
        "CUDA_CACHE_PATH": str(caches / "cuda"),  # what the driver makes of PTX
        "PYTORCH_NVML_BASED_CUDA_CHECK": "1",  # is_available() in the worker must not start CUDA before the fork
    }
    allowed = (str(caches), *(str(place.absolute()) for place in writable))
    # A program whose production leaves capsules leaves none while it is reduced.
    given = {name: value for name, value in environment.items() if name != VARIABLE}
    return Setup(environment={**given, **own}, scratch=str(scratch), writable=allowed, **others)
