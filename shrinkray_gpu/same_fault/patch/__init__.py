"""A fix of the original, carried over to a candidate: diffs, merged line by line and word by word."""
