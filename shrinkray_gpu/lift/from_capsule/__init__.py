"""A capsule of the capture hook, in place of a program that runs: its launches as scripts."""
