"""The corpus: every fault that was ever reduced, kept so that a new Triton, torch or driver can be held against all.

case.py          one case: its folder and `case.toml`
schema.py        the keys of a `case.toml`, and what their values must be
machine.py       where cases are replayed, and why one cannot be replayed there
sighting.py      from the runs of a case to its status
expectation.py   what a case is expected to do, by Triton version
addition.py      a reduction's folder becomes a case
environments.py  interpreters with other Tritons
matrix.py        recorded replays as the table of docs/corpus.md
replay_tables.py outcomes as text, JUnit XML and HTML
replay.py        every case is run again, and judged by the Fault that it was kept for
bisection.py     between which releases of Triton a case changed
"""
