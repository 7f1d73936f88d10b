"""The real command in a process of its own, from the arguments to the exit code."""
