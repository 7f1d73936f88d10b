"""`other_faults/` of a reduction's folder: texts of best.py that another one takes the place of, though not smaller."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path

FOLDER = "other_faults"


def keep_aside(folder: Path, stem: str, data: bytes) -> Path:
    """Keep these bytes as `other_faults/STEM_N.py` with the first N that is free, or that holds them already."""
    place = folder / FOLDER
    place.mkdir(exist_ok=True)
    for number in count(1):
        path = place / f"{stem}_{number}.py"
        if not path.exists():
            temporary = path.with_name(f".{path.name}.new")
            temporary.write_bytes(data)
            os.replace(temporary, path)
            return path
        if path.read_bytes() == data:
            return path
    raise AssertionError("there is no end of numbers")
