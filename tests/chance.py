"""Chance that no test fails by: each process draws a number of its own, and successive ones are spread evenly."""

from __future__ import annotations

EVEN = """\
import os

draws = os.open({draws!r}, os.O_WRONLY | os.O_APPEND)
os.write(draws, b".")
LUCK = os.lseek(draws, 0, os.SEEK_CUR) * 0.6180339887498949 % 1
os.close(draws)
"""
"""LUCK in [0, 1): the next multiple of the golden section, by a file that each process makes longer by a byte (the
fixture `draws`). Of any seven in a row some are below a half and some above."""
