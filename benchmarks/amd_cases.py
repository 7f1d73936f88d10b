"""Reductions of programs that fail in Triton's AMD backend: tokens, lines and seconds, beside a minimum by hand.

    python benchmarks/amd_cases.py [NAME ...] [--jobs N] [--seconds N] [--json FILE]

Programs and minima are in benchmarks/amd_cases/, and what each is held against in its cases.toml. No GPU is needed, but
Triton of the release that is said to be broken. A repro has slipped if another pass fails, or with other words; if the
release that mends the program does not mend the repro; or if what avoids the fault does not. The last two need --triton
RELEASE=PYTHON for the releases that are there. Figures: benchmarks/results/amd_cases.json.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from shrinkray_gpu.job.asked import user_program  # noqa: E402, F401
