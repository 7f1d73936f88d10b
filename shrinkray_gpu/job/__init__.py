"""One reduction, in the order of time: what was asked, the program made ready, the checks beside the search, the
search, the final check, what is told of it, the attachment.
"""
