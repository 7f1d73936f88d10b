"""CUDA C++ inside the string literals of a Program: a second language through the same edits.

    code           which literals are CUDA C++, their tokens, and their text free of layout (no parser needed)
    native_tree    their syntax trees, by tree-sitter
    literal        the literal around the source: its escape rule, and the fields of an f-string
    native_change  what may be done to the nodes of such a tree
    native_writer  the source with some changes made, which parses whatever the subset

A literal with changes in it is one expression to the Python writer, which asks `literal.rewritten` for its text.
"""
