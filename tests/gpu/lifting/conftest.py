"""The programs here are reduced, not run as tests: the package's own test suite among them, which fails on purpose."""

collect_ignore = ["package"]
