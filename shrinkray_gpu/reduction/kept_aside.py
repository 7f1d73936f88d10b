"""`other_faults/` of a reduction's folder: texts of best.py that another one takes the place of, though not smaller."""

from __future__ import annotations

from itertools import count
from pathlib import Path

from shrinkray_gpu.runner.plain_file import replace_file

FOLDER = "other_faults"


def keep_aside(folder: Path, stem: str, data: bytes) -> Path:
    """Keep these bytes as `other_faults/STEM_N.py` with the first N that is free, or that holds them already."""
    place = folder / FOLDER
    place.mkdir(exist_ok=True)
    for number in count(1):
        path = place / f"{stem}_{number}.py"
        if not path.exists():
            replace_file(path, data)
            return path
        if path.read_bytes() == data:
            return path
    raise AssertionError("there is no end of numbers")
