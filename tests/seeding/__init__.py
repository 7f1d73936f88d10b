"""Tests of benchmarks/seeding, which is imported as `benchmarks/seeded.py` imports it."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
