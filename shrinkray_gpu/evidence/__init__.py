"""Evidence that a fault is the same fault, and what a maintainer wants to know of its cause: fingerprints and what the
instruments say, controls (a change that must make the fault vanish) and the patches that carry such a change over to
a reduced program. It reads runs and texts and starts none by itself; it knows nothing of the search.
"""
