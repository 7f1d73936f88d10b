from .problem import Group, Problem, ragged
from .launch import grouped_matmul, set_workspace
