"""Triton's IR as a test case: a module on which a pass of the compiler fails becomes the smallest such module.

The engine for Python programs cuts text at the nodes of a syntax tree. Here a value has users, and what may go follows
from that alone. So this room has a model of its own (`model`), edits that know it (`edits`), and a loop of its own
(`search`). Parser, verifier and passes are those of the user's own `libtriton` (`compiler`).
"""
