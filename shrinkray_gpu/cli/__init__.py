"""The command line: one module a command, the words that they share, the progress bar, the pytest plugin."""
