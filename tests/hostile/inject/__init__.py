"""Faults that come from outside, drawn from a seed, while a real reduction runs: it ends as without them, or says what
happened. `python -m tests.hostile.inject` runs many; `tests/hostile/test_inject.py` a sample."""
