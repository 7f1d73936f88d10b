"""What may be taken from a module, families of changes by what they are of, and the order in which they are tried."""

from __future__ import annotations

from shrinkray_gpu.intermediate.edits import (
    arguments,
    attributes,
    branches,
    functions,
    loops,
    operations,
    slices,
    tensor_types,
)

FAMILIES = (
    functions.FAMILY,  # the biggest pieces
    functions.BODIES,  # a loop, a branch or a partition as the whole function
    functions.MERGED,  # calls of one for calls of another
    operations.FAMILY,  # any set of operations: what they made comes in as an argument
    loops.REGIONS,  # a loop or a branch for what is in it
    branches.FAMILY,  # a jump for a choice between two
    branches.EMPTY,  # the way around a block that only jumps on
    branches.MERGED,  # two blocks as one
    operations.FORWARDED,  # what an operation takes for what it makes
    loops.CARRIED,  # what a loop or a branch carries
    functions.RETURNED,  # what a function returns
    operations.OPERANDS,  # masks and other operands that may be left out
    arguments.MERGED,  # one argument for two of a type
    arguments.UNUSED,  # arguments that nobody reads
    arguments.OF_BLOCKS,
    slices.FAMILY,  # what makes one value, which is returned or written to
    attributes.FAMILY,  # what is said of arguments, operations, the module
    tensor_types.LAYOUTS,  # no layouts, or fewer
    tensor_types.SHAPES,  # smaller tensors, everywhere at once
)
"""In the order of a round. An edit that brings a program nearer to one that a later family can cut comes before it."""
