"""What may be taken from PTX, one family of changes a file, and the order in which they are tried."""

from __future__ import annotations

from shrinkray_gpu.ptx.edits import (
    blocks,
    declarations,
    functions,
    guards,
    headers,
    merged,
    slices,
    statements,
)

FAMILIES = (
    functions.FAMILY,  # the biggest pieces
    slices.FAMILY,  # a store with all that was computed for it
    statements.FAMILY,  # any set of statements: what they made comes in as a parameter
    blocks.FAMILY,  # what is in a block, without the block
    guards.FAMILY,  # an instruction that always runs
    merged.FAMILY,  # one register for two of a type
    headers.FAMILY,  # parameters that nobody reads, directives of functions
    declarations.FAMILY,  # registers that nobody uses
)
"""In the order of a round."""
