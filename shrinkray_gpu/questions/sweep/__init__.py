"""A failure matrix: which configurations of a program fault, how often, and how sure that is.

sweep.py        every configuration run so often, in turn
sweep_tables.py the matrix for people, as CSV, as data
picture.py      the matrix as SVG
"""

from shrinkray_gpu.questions.sweep.sweep import CellKind, Matrix, MatrixCell, sweep

__all__ = ["MatrixCell", "CellKind", "Matrix", "sweep"]
