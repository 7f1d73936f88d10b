"""The corpus: every fault that was ever reduced, kept so that a new Triton, torch or driver can be held against all.

case.py          one case: its folder and `case.toml`, validated
expectation.py   what a case is expected to do, by Triton version
adding.py        a reduction's folder becomes a case
environments.py  interpreters with other Tritons
tables.py        outcomes as text, JUnit XML and HTML
"""
