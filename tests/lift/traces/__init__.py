"""Traces that tritonparse wrote of `program.py`, and how they were made."""
