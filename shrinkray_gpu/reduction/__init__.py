"""Which candidate to try next: Program, Edit, the renderer, the search, the engine and its journal.

A pass reads a Program and names Edits over its syntax nodes; `render` turns any subset of them into a smaller Program
that parses; `search` decides which subsets; `engine` drives passes to a fixpoint. Nothing here knows of GPUs, processes
or what an oracle looks at.
"""
