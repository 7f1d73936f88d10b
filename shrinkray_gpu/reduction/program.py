"""A Program: the text to be reduced, immutable, its syntax tree and metadata computed once and lazily.

PLACEHOLDER written as a contract; the owner of reduction/ replaces the bodies.
"""
