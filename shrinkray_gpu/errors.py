"""What can go wrong for the user, as types. The CLI tells each once and turns it into an exit code."""

from __future__ import annotations


class ShrinkError(Exception):
    """Something the user should read: what happened, why, and what to do next, in one line."""

    exit_code = 2


class UsageError(ShrinkError):
    """The command, a file or an option is wrong."""


class NotReproduced(ShrinkError):
    """The original program does not show the fault that the oracle asks for."""

    exit_code = 3


class FinalCheckFailed(ShrinkError):
    """The result did not show the fault in a clean process; the best verified one is still written."""

    exit_code = 4


class FolderGone(ShrinkError):
    """The folder of a reduction, or its journal, was deleted while it ran."""
