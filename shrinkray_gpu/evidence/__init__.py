"""What is known of a fault's cause: instruments, one file each, what they say together, and the card for a person.

Nothing here knows of the search.
"""
