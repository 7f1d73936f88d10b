"""The corpus: every fault that was ever reduced, kept so that a new Triton, torch or driver can be held against all.

case.py          one case: its folder and `case.toml`
schema.py        the keys of a `case.toml`, and what their values must be
place.py         where cases are replayed, and why one cannot be replayed there
sighting.py      from the runs of a case to its status
expectation.py   what a case is expected to do, by Triton version
adding.py        a reduction's folder becomes a case
from_command.py  what a reduction of a command (-m ...) began with
environments.py  interpreters with other Tritons
matrix.py        recorded replays as the table of the README
tables.py        outcomes as text, JUnit XML and HTML
"""
