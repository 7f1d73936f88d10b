"""What may be taken from a module, one family of changes a file, and the order in which they are tried."""

from __future__ import annotations

from shrinkray_gpu.intermediate.edits import (
    arguments,
    attributes,
    bodies,
    branches,
    constants,
    forwarding,
    functions,
    layouts,
    loops,
    operands,
    operations,
    regions,
    returns,
    shapes,
    slices,
)

FAMILIES = (
    functions.FAMILY,  # the biggest pieces
    bodies.FAMILY,  # a loop, a branch or a partition as the whole function
    functions.MERGED,  # calls of one for calls of another
    operations.FAMILY,  # any set of operations: what they made comes in as an argument
    regions.FAMILY,  # a loop or a branch for what is in it
    branches.FAMILY,  # a jump for a choice between two
    branches.EMPTY,  # the way around a block that only jumps on
    branches.MERGED,  # two blocks as one
    forwarding.FAMILY,  # what an operation takes for what it makes
    loops.FAMILY,  # what a loop or a branch carries
    returns.FAMILY,  # what a function returns
    operands.FAMILY,  # masks and other operands that may be left out
    arguments.MERGED,  # one argument for two of a type
    arguments.UNUSED,  # arguments that nobody reads
    arguments.OF_BLOCKS,
    constants.FAMILY,  # a constant for what was computed
    slices.FAMILY,  # what makes one value, which is returned or written to
    attributes.FAMILY,  # what is said of arguments, operations, the module
    layouts.FAMILY,  # no layouts, or fewer
    shapes.FAMILY,  # smaller tensors, everywhere at once
)
"""In the order of a round. An edit that brings a program nearer to one that a later family can cut comes before it."""
