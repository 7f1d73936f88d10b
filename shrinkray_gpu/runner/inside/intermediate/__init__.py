"""Triton's IR in the user's interpreter: its own parser, verifier and passes, one forked child a question.

An assertion of MLIR or LLVM ends the child that met it. The parent goes on, and tells what the child wrote.
"""
