"""Whether the GPU is sick on which a cell was run."""

from __future__ import annotations

import os

from shrinkray_gpu.cells.cell import SICK, Row
from shrinkray_gpu.device import gpus


def sickness() -> Row:
    """That the first GPU is sick, where there is one and a healthy program fails on it; else nothing."""
    why = gpus.trouble() if gpus.present() else ""
    return {SICK: f"{os.environ.get('CUDA_VISIBLE_DEVICES') or 'the first GPU'}: {why}"} if why else {}
