"""Whose each word of a command line is: of `shrink FILE --arch sm_90 --op x` the first option is ours, `--op x` is
FILE's.

FILE may stand before our options, so behind it both kinds are mixed. A word that is no option of ours goes to FILE,
unless it looks like a slip of one of ours that FILE itself does not name. To refuse such a word costs the user a `--`.
To hand it on would answer another question than he asked.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click

from shrinkray_gpu.cli.words import ALIKE

BRIEF = ("-j", "-q", "-v")
"""Options of ours that many programs have, too: behind FILE they are its own."""


@dataclass(frozen=True)
class OwnOptions:
    """The options of a command, by name: whether each takes a value."""

    valued: Mapping[str, bool]
    hidden: frozenset[str] = frozenset()
    """Those that no help shows, and nobody can mean by a slip."""

    @staticmethod
    def of(parameters: Sequence[click.Parameter]) -> OwnOptions:
        options = [each for each in parameters if isinstance(each, click.Option)]
        names = {name: not each.is_flag for each in options for name in (*each.opts, *each.secondary_opts)}
        hidden = frozenset(name for each in options if each.hidden for name in each.opts)
        return OwnOptions({"-h": False, "--help": False, **names}, hidden)

    def meant(self, word: str) -> list[str]:
        """The options of ours that a word may be a slip of, the likeliest first."""
        name = word.partition("=")[0]
        if not name.startswith("--"):  # -orepro.py
            if name[:2] in BRIEF:
                return []
            return [name[:2]] if len(name) > 2 and self.valued.get(name[:2]) else []
        even = name[2:].lower().replace("_", "-")
        shown = self.valued.keys() - self.hidden
        known = sorted(each[2:] for each in shown if len(each) > len("--cu"))  # shorter ones are like anything
        return [f"--{found}" for found in difflib.get_close_matches(even, known, cutoff=ALIKE)]


@dataclass
class Words:
    """The words of a command line, by whose they are."""

    ours: list[str] = field(default_factory=list)
    """FILE among them, if there is one."""
    theirs: list[str] = field(default_factory=list)
    file: str | None = None
    command: list[str] = field(default_factory=list)
    """`-m MODULE`, or the launcher that takes its place; `theirs` is all behind it then."""
    mixed: list[str] = field(default_factory=list)
    """Options of ours that stand behind FILE."""


def split(args: Sequence[str], own: OwnOptions, *, modules: bool, launchers: Collection[str] = ()) -> Words:
    """Sort the words. `modules`: whether `-m MODULE` may stand in place of FILE, and then a launcher by its name.

    Raises click's UsageError for a word that most likely is a slip of an option of ours.
    """
    words, rest = Words(), list(args)
    while rest:
        word = rest.pop(0)
        name = word.partition("=")[0]
        if word == "--":
            if words.file is None and rest:
                words.file = rest.pop(0)
                words.ours += ["--", words.file]
            words.theirs += rest
            break
        if modules and word.startswith("-m") and not word.startswith("--"):  # python takes -mMODULE, too
            if words.file is not None:
                raise click.UsageError(_both(words.file))
            words.command = [word] if len(word) > 2 else [word, *rest[:1]]
            words.theirs = rest[len(words.command) - 1 :]
            break
        if not word.startswith("-") or word == "-":
            if words.file is not None:
                words.theirs.append(word)
            elif word in launchers:
                words.command, words.theirs = [word], rest
                break
            else:
                words.file = word
                words.ours.append(word)
        elif name in own.valued and (words.file is None or name not in BRIEF):
            words.ours.append(word)
            words.mixed += [name] if words.file is not None else []
            if own.valued[name] and name == word and rest:
                words.ours.append(rest.pop(0))
        elif words.file is None:
            words.ours.append(word)  # click complains
        elif (slip := own.meant(word)) and not names_it(words.file, name):
            raise click.UsageError(_slip(word, slip[0], words.file))
        else:
            words.theirs.append(word)
    return words


def names_it(file: str, option: str) -> bool:
    """Whether the text of a script has this option, in quotes, as a parser of options is told of it."""
    return any(f"{quote}{option}{quote}" in _text(file) for quote in ("'", '"'))


def _text(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError):  # the complaint about it comes later
        return ""


def _both(file: str) -> str:
    return f"give a FILE or -m MODULE, not both: {file}. What {os.path.basename(file)} is to get comes behind --"


def _slip(word: str, meant: str, file: str) -> str:
    name = word.partition("=")[0]
    instead = f"{meant} {word[len(meant) :]}" if not name.startswith("--") else meant
    return f"No such option {word!r}. Did you mean {instead!r}? If it is for {file}, write it behind --"
