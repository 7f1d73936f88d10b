"""Runs one candidate and tells what happened: a Run. Knows nothing of what counts as interesting.

`inside/` is the part that lives in the user's interpreter; `lanes` holds the processes, `pool` hands candidates to
them, `plain` runs a file as the user would, `preamble` reads off a script what a worker can do for it in advance.
"""
