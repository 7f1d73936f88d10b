"""Programs that fail on a GPU in ways that lifting is for, and `cases`, which says how each is reduced."""
