"""What may be taken from PTX, families of changes by what they are of, and the order in which they are tried."""

from __future__ import annotations

from shrinkray_gpu.ptx.edits import functions, registers, slices, statements

FAMILIES = (
    functions.FAMILY,  # the biggest pieces
    slices.FAMILY,  # a store with all that was computed for it
    statements.FAMILY,  # any set of statements: what they made comes in as a parameter
    functions.BLOCKS,  # what is in a block, without the block
    statements.GUARDS,  # an instruction that always runs
    registers.MERGED,  # one register for two of a type
    functions.HEADERS,  # parameters that nobody reads, directives of functions
    registers.DECLARED,  # registers that nobody uses
)
"""In the order of a round."""
