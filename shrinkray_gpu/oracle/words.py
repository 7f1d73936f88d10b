"""Plain words and `regex:`: looked for in what a failing run says about its failure, and nowhere else."""

from __future__ import annotations

import re
from dataclasses import dataclass

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.oracle import speech
from shrinkray_gpu.oracle.guarded_pattern import GuardedPattern, Pattern
from shrinkray_gpu.oracle.needs import Needs
from shrinkray_gpu.oracle.oracle import Oracle
from shrinkray_gpu.oracle.verdict import Verdict, lacks, shows, unclear
from shrinkray_gpu.runner.run import Failure, Run

_FRAME = re.compile(r'^ +File "[^"\n]*", line (?P<line>\d+)[^\n]*\n +(?P<code>\S[^\n]*)', re.MULTILINE)
_COLOUR = re.compile(r"\x1b\[[\d;]*m")
_LOGGED = re.compile(
    r"^[ \t]*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?[ \t]+"
    r"(?:(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)[ \t:-]+)?|\[(?:default|rank)\d+\]:[ \t]*|E[ \t]{3,})+(?=.{8})",
    re.MULTILINE,
)
"""What a log, torchrun or pytest puts before a line."""
_MARKS = re.compile(r"[\"'`]+")
_ANY_MARKS = "[\"'`]{0,3}"
PLACES = ("exception", "child", "compiler", "launch", "stderr")
WEAK_ASSERTION = (
    "a failing assertion alone is a weak oracle: almost any change of meaning keeps it failing, so check what remains. "
    "Where a kernel computes something wrong, ask that instead, by the knob that mends it: --oracle "
    "differs:num_stages=1, differs:interpreter"
)


WEAK_RAISE = (
    "the script raises this itself (`raise` at line {line}), and a `raise` alone shows it as well: check what remains. "
    "Where it tells of a wrong result, ask for the knob that mends it: "
    "--oracle differs:num_stages=1, differs:interpreter"
)


def weakness(failure: Failure) -> str:
    """Why the words of an exception say little about what is wrong; empty where nothing speaks against them."""
    if failure.type == "AssertionError":
        return WEAK_ASSERTION
    frames = list(_FRAME.finditer(failure.traceback))
    own = frames and failure.line is not None and int(frames[-1]["line"]) == failure.line
    return WEAK_RAISE.format(line=failure.line) if own and frames[-1]["code"].startswith("raise ") else ""


@dataclass(frozen=True, kw_only=True)
class WordsOracle(Oracle):
    """Text that the uncaught exception, the compiler, a launch or stderr of a failing process must hold. What a
    compilation or a launch raised counts also where the program caught it.

    Once calibrated, in the place where the original held it: words of an uncaught exception are not
    replaced by the same words logged by a script that then dies of something else.
    """

    pattern: Pattern
    places: tuple[str, ...] = PLACES
    needs: Needs = Needs(asserts=True)
    swallowed: bool | None = None
    """Whether the original caught what holds them, and ended well; None before calibration."""

    def verdict(self, run: Run) -> Verdict:
        for said in speech.failure_words(run):
            if said.place in self.places and (found := self.pattern.search(said.text)):
                line = f"{said.place}: {speech.matching_line(found)}"
                if self.swallowed is False and not speech.has_failed(run):
                    return lacks(f"{line}, but the script ends well, unlike the original")
                return shows(line)
        if not speech.has_failed(run):
            if self.swallowed and run.mode == "plain":
                return unclear("it ends well, as the original does, and nobody watches a plain run compile and launch")
            if self.pattern.search(run.stdout) or self.pattern.search(run.stderr):
                return lacks("the words are printed by a script that ends well (exit 0)")
            return lacks(speech.ending(run))
        return lacks(f"{speech.ending(run)}, without these words")

    def calibrate(self, reference: Run) -> WordsOracle:
        tuned = super().calibrate(reference)._with(swallowed=not speech.has_failed(reference))
        for said in speech.failure_words(reference):
            if said.place in self.places and self.pattern.search(said.text):
                keep = ("exception",) if said.place == "exception" else self.places
                tuned = tuned._with(places=keep)
                break
        failure = speech.uncaught(reference)
        if failure is not None and (weak := weakness(failure)):
            tuned = tuned._with(warning=weak)
        return tuned

    def asks_for(self, words: str) -> bool:
        return bool(self.pattern.search(words))


def compiler_pattern(spec: str) -> Pattern:
    """What WORDS or `compile:REGEX` ask of all that a compiler says. Raises UsageError."""
    kind = next((each for each in ("compile:", "regex:") if spec.startswith(each)), "")
    try:
        if not kind:
            return plain_pattern(spec)
        asked = re.compile(spec.removeprefix(kind))
        return GuardedPattern(asked.pattern, asked.flags)
    except re.error as error:
        raise UsageError(f"--oracle {spec}: {error}") from error


def plain_pattern(words: str) -> Pattern:
    """These words, in any case, with any white space between them. Terminals colour what they show, web pages eat
    backticks, and logs put the time and the rank before a line: none of that need be there."""
    told = _LOGGED.sub("", _COLOUR.sub("", words))
    bare = [[re.escape(part) for part in _MARKS.split(word) if part] for word in told.split()]
    spaced = rf"{_ANY_MARKS}\s+{_ANY_MARKS}".join(_ANY_MARKS.join(parts) for parts in bare if parts)
    return re.compile(spaced or r"\s+".join(map(re.escape, words.split())), re.IGNORECASE)
