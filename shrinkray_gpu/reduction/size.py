"""How big a Program is: a total order, so that of two Programs one is always the better repro.

First comes what a literal zero makes infinite, and then the guard level: what may make a program undefined by itself. A
pass that drops a mask or an initialisation makes the text shorter and the repro worth less, so that counts as growth.
"""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from operator import itemgetter
from typing import NamedTuple, TypeAlias

from shrinkray_gpu.language import languages
from shrinkray_gpu.language.import_text import import_bindings
from shrinkray_gpu.language.tensors import FACTORIES, SIZE_FIRST, UNINITIALISED
from shrinkray_gpu.reduction.native.code import amount, is_code


class Size(NamedTuple):
    """Compared from left to right. `literals` is in thousandths of a bit: whole numbers add up alike in any order."""

    infinite: int
    """Ahead of the guards, so that no edit pays with an unmasked load for a division by zero."""
    guards: int
    tokens: int
    loops: int
    literals: int
    characters: int


Lexeme: TypeAlias = tuple[str, str]
"""Kind and text."""

LEXEME = re.compile(
    r"""
    (?P<skip>\#[^\n]*|\\\n)
  | (?P<fstring>(?:[fFtT][rR]?|[rR][fFtT])(?:'{3}(?:\\.|[^\\])*?'{3}|"{3}(?:\\.|[^\\])*?"{3}
        |'(?:\\.|[^\\'\n])*'|"(?:\\.|[^\\"\n])*"))
  | (?P<string>[rRbBuU]{0,2}(?:'{3}(?:\\.|[^\\])*?'{3}|"{3}(?:\\.|[^\\])*?"{3}
        |'(?:\\.|[^\\'\n])*'|"(?:\\.|[^\\"\n])*"))
  | (?P<number>0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?[\d_]+)?[jJ]?)
  | (?P<name>\w+)
  | (?P<operator>\*\*=|//=|>>=|<<=|\.\.\.|->|:=|[-+*/%&|^@=!<>]=|\*\*|//|>>|<<|\S)
    """,
    re.VERBOSE | re.DOTALL,
)
"""One more than Python's own tokenizer would need: the same counts under every Python version, and for text that does
not parse. Brackets inside the fields of an f-string are counted with the rest of its field."""
_FIELD = re.compile(r"\{\{|\}\}|\{([^{}]*)")


_STRINGS = frozenset({"string", "fstring"})
_QUOTED = re.compile(r"(?P<prefix>\w*)(?P<quote>'{3}|\"{3}|['\"])(?P<body>.*)(?P=quote)", re.DOTALL)


def tokens(text: str) -> int:
    """Tokens of Python source; comments, newlines and indentation are none. Inside an f-string each token counts, and
    in a string that is CUDA C++ each token of that."""
    return measure(text).tokens


def lines(text: str) -> int:
    """Lines that are not blank."""
    return sum(1 for line in text.split("\n") if line.strip())


def measure(text: str) -> Size:
    """The size of a Python source text. Total: text that does not parse has a size too."""
    return together([part_size(text)], len(text))


class PartSize(NamedTuple):
    """What of the size can be told of a stretch of whole statements; the guard level takes all of a program."""

    tokens: int
    loops: int
    literals: int
    exposure: PartExposure


def part_size(text: str) -> PartSize:
    """What the text of some statements adds to the size of its program."""
    lexed = list(_lex(text))
    loops = literals = count = 0
    for lexeme in lexed:
        count += _weight(lexeme)
        kind, word = lexeme
        if kind in _STRINGS and (source := _source(word)):
            more = amount(source)
            count, loops, literals = count + more.tokens, loops + more.loops, literals + more.literals
        elif kind == "number":
            literals += _bits(word)
        elif word == "for" or word == "while":
            loops += 1
    return PartSize(count, loops, literals, _part_exposure([word for _, word in lexed], text))


def together(parts: Sequence[PartSize], characters: int) -> Size:
    """The size of a text of so many characters that these parts make up."""
    missing = [(lack, points) for _, lack, points in _missing_guards([part.exposure for part in parts])]
    return Size(
        sum(points for lack, points in missing if lack in _INFINITE),
        sum(points for lack, points in missing if lack not in _INFINITE),
        sum(part.tokens for part in parts),
        sum(part.loops for part in parts),
        sum(part.literals for part in parts),
        characters,
    )


def _lex(text: str) -> Iterator[Lexeme]:
    return ((m.lastgroup or "", m.group()) for m in LEXEME.finditer(text) if m.lastgroup != "skip")


def _source(word: str) -> str:
    """The C++ that a string literal holds, near enough to count it; empty where it holds something else."""
    if ";" not in word and "__" not in word and "#" not in word:
        return ""
    found = _QUOTED.match(word)
    if found is None:
        return ""
    body = found["body"]
    if "r" not in found["prefix"].lower():
        body = body.replace("\\n", "\n").replace('\\"', '"')
    return body if is_code(body) else ""


def _weight(lexeme: Lexeme) -> int:
    if lexeme[0] != "fstring":
        return 1
    return 1 + sum(tokens(field[1]) for field in _FIELD.finditer(lexeme[1]) if field[1])


def _bits(word: str) -> int:
    """log2(1 + n) in thousandths; a float literal weighs nothing."""
    try:
        value = int(word, 0)
    except ValueError:
        return 0
    # log2 of an int that no float can hold is out of reach of math.log2(1 + n) only beyond 2**1023
    return round(1000 * math.log2(1 + value)) if value.bit_length() < 1000 else 1000 * value.bit_length()


_ACCESSES = frozenset({"load", "store"})
_WATCHED = FACTORIES | _ACCESSES
_PLACES = {name: languages.guard_places(name) for name in sorted(_ACCESSES)}
_UNMASKED, _NO_OTHER = 2, 1
_TELLING = frozenset({"(", "=", "+=", "-="})
"""Words of which the one before says what is called or assigned."""
_GOES_ON = frozenset("(,.=[{+-*/%&|^@<>~!")
"""The words before a name that begins no statement end like that."""
_DIVIDES = frozenset({"/", "//", "%", "/=", "//=", "%="})
_ZERO = re.compile(r"0[0_]*(?:\.0*)?|\.0+")
_ARITHMETIC = frozenset("()+-*/")
_POLES = frozenset({"log", "log2", "log10", "rsqrt", "reciprocal"})
"""Functions that are infinite at zero."""
_DEEPER = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


class Lack(enum.Enum):
    """What is missing where a program may be undefined by itself."""

    LOAD_MASK = "tl.load without a mask"
    STORE_MASK = "tl.store without a mask"
    OTHER = "tl.load without other="
    VALUES = "a tensor that starts uninitialised (torch.empty and its like)"
    ELEMENTS = "a tensor without elements"
    DIVISOR = "a division by a literal zero"
    POLE = "a logarithm or a reciprocal of a literal zero"


_INFINITE = frozenset({Lack.DIVISOR, Lack.POLE})


class Exposure(NamedTuple):
    """One place that lacks a guard, and what it adds to the guard level."""

    line: int
    lack: Lack
    points: int


def exposures(text: str) -> list[Exposure]:
    """The places whose points add up to what is infinite in this text and its guard level, in its order."""
    matches = [m for m in LEXEME.finditer(text) if m.lastgroup != "skip"]
    found = _missing_guards([_part_exposure([m.group() for m in matches], text)])
    return [Exposure(text.count("\n", 0, matches[at].start()) + 1, lack, points) for at, lack, points in found]


class UnguardedAccess(NamedTuple):
    """A load or store through a computed pointer that lacks a guard, if `owner` names a kernel language."""

    at: int
    lack: Lack
    owner: str
    """The word before the dot, or the called word itself where there is no dot."""
    pointer: str
    """The name that must be one of a computed pointer; empty where the pointer is computed on the spot."""
    function: str
    """The function that it is in, as far as the words tell: the last one that was defined before it."""


class PartExposure(NamedTuple):
    """What a text lacks, by the index of its word, and what of it hangs on the rest of the program."""

    sure: tuple[tuple[int, Lack, int], ...]
    accesses: tuple[UnguardedAccess, ...]
    imported: Mapping[str, str]
    """What imports bind, with what it stands for."""
    computed: frozenset[str]
    """Names that are assigned to."""
    called: frozenset[str]
    """Names of what is called, and not launched: a helper may be handed a computed pointer."""


_POINTS = {Lack.LOAD_MASK: _UNMASKED, Lack.STORE_MASK: _UNMASKED, Lack.OTHER: _NO_OTHER}


def _missing_guards(parts: Sequence[PartExposure]) -> Iterator[tuple[int, Lack, int]]:
    """What the program that these texts make up lacks, with its points."""
    owners = _owners({name: place for part in parts for name, place in part.imported.items()})
    for part in parts:
        found = [*part.sure]
        for at, lack, owner, pointer, function in part.accesses:
            if owner in owners and (
                not pointer or any(pointer in other.computed or function in other.called for other in parts)
            ):
                found.append((at, lack, _POINTS[lack]))
        yield from sorted(found, key=itemgetter(0))


def _owners(imported: Mapping[str, str]) -> frozenset[str]:
    """The words that make `load` and `store` accesses of a kernel language: before the dot, or imported themselves."""
    alone = {word for word in _ACCESSES if languages.word(imported.get(word, "")) is not None}
    return frozenset({*languages.modules(imported, languages.USUAL), *languages.LAST_NAMES, *alone})


def _part_exposure(words: Sequence[str], text: str) -> PartExposure:
    """What may be undefined: two points for a load or store through a computed pointer without mask, one for a masked
    load whose other lanes hold anything (no `other=`), one for a tensor that starts with what the memory held, one for
    a tensor made without elements: its pointer is null, and a kernel that only a mask keeps off it is a poor repro. Two
    for a division by a literal zero, and for what is infinite there: what comes of it shows any fault that hangs on a
    value.

    Methods of descriptors are not counted, the hardware clips these; nor is a load of a bare pointer parameter (but a
    helper's, which may be handed any), or of that plus zeros, nor the memory that
    `lambda size, align, stream: torch.empty(size, ...)` hands to Triton, which nobody reads unwritten.
    """
    sure: list[tuple[int, Lack, int]] = []
    accesses: list[UnguardedAccess] = []
    computed: set[str] = set()
    called: set[str] = set()
    tuples: list[range] = []
    function = ""
    for at, (word, after) in enumerate(zip(words, words[1:])):
        if after not in _TELLING:
            if word in _DIVIDES and _ZERO.fullmatch(after) and words[at - 1][-1] not in "'\"":
                sure.append((at, Lack.DIVISOR, 2))
            continue
        if word in _DIVIDES and after == "(" and _is_zero(words, at + 1):
            sure.append((at, Lack.DIVISOR, 2))
            continue
        before = words[at - 1] if at else ""
        if after != "(":
            computed.add(word)
            if before == "," or word == ")":
                tuples.append(_tuple_before(words, at + 1))
            continue
        if before == "def":
            function = word
        elif before != ".":
            called.add(word)
        if word in _POLES and words[at + 3 : at + 4] == [")"] and _ZERO.fullmatch(words[at + 2]):
            sure.append((at, Lack.POLE, 2))
        if word not in _WATCHED:
            continue
        if words[at - 2 : at] == ["torch", "."] and _without_elements(word, _arguments(words, at + 2)):
            sure.append((at, Lack.ELEMENTS, 1))
        if word in UNINITIALISED and not _allocates(words, at):
            sure.append((at, Lack.VALUES, 1))
        elif word in _ACCESSES and before != "def" and (found := _lack(word, _arguments(words, at + 2))) is not None:
            owner = words[at - 2] if at >= 2 and before == "." else word
            accesses.append(UnguardedAccess(at, found[0], owner, found[1], function))
    if any(tuples):
        depths = [*accumulate(_DEEPER.get(word, 0) for word in words)]
        computed.update(words[name] for names in tuples for name in names if depths[names.stop] == 0)
    return PartExposure(tuple(sure), tuple(accesses), import_bindings(text), frozenset(computed), frozenset(called))


def _is_zero(words: Sequence[str], opening: int) -> bool:
    """Whether a bracket holds nothing but numbers that come to zero: `(0.0 / (16 - 1))`."""
    end = opening
    while end < len(words) and (words[end] in _ARITHMETIC or words[end][0] in ".0123456789"):
        end += 1
    depths = accumulate(_DEEPER.get(word, 0) for word in words[opening:end])
    closing = next((at for at, depth in enumerate(depths, opening) if depth == 0), None)
    if closing is None:
        return False
    try:
        return bool(eval(" ".join(words[opening : closing + 1])) == 0)  # numbers and signs only
    except (SyntaxError, TypeError, ArithmeticError):
        return False


def _tuple_before(words: Sequence[str], equals: int) -> range:
    """Where the names are of a tuple that is assigned: `p, inside = x + offsets, offsets < n`. Empty for most keyword
    arguments, `f(x + p, mask=m)`; the rest of them, as behind the colon of a lambda, are those inside brackets."""
    in_brackets = words[equals - 1] == ")"
    first = equals - 1 - in_brackets
    while first >= 2 and words[first - 1] == "," and words[first - 2].isidentifier():
        first -= 2
    before = words[first - 1] if first else ";"
    may_begin = before == "(" if in_brackets else before[-1] not in _GOES_ON
    return range(first if may_begin else equals, equals, 2)


def _without_elements(factory: str, arguments: Sequence[Sequence[str]]) -> bool:
    given = [argument for argument in arguments if argument[1:2] != ["="]]
    if factory == "tensor":
        return bool(given) and not set(given[0]) - set("[](),")
    if factory == "arange":  # with two numbers the first is where it starts
        return given == [["0"]] or (len(given) > 1 and given[0] == given[1])
    sizes = [argument[2:] for argument in arguments if list(argument[:2]) == ["size", "="]]
    if factory in SIZE_FIRST:
        given = given[:1]
    elif factory == "randint":  # before its size are what it begins and ends with
        given = [argument for argument in given if argument[0] in "(["]
    return any(["0"] in (_arguments(size, 1) if size[0] in "([" else [size]) for size in (*given, *sizes) if size)


def _allocates(words: Sequence[str], at: int) -> bool:
    """Whether the call at `at` is the body of an allocator: it makes what the lambda's first parameter says."""
    begin = max(0, at - 10)
    before = list(words[begin:at])
    return "lambda" in before and words[begin + before.index("lambda") + 1] == words[at + 2] and ":" in before


def _arguments(words: Sequence[str], at: int) -> list[list[str]]:
    """The words of each argument of the call whose bracket opens just before."""
    found: list[list[str]] = [[]]
    depth = 0
    for word in words[at:]:
        if word in ")]}":
            depth -= 1
            if depth < 0:
                break
        elif word in "([{":
            depth += 1
        if word == "," and depth == 0:
            found.append([])
        else:
            found[-1].append(word)
    return [argument for argument in found if argument]


def _of_one_element(pointer: Sequence[str]) -> bool:
    """Whether it is `p + tl.zeros(...)`: what `p` points to, many times."""
    depth = 0
    for at, word in enumerate(pointer):
        depth += (word in "([{") - (word in ")]}")
        if at >= 5 and depth == 0:
            return at == len(pointer) - 1 and pointer[1] == "+" and list(pointer[3:6]) == [".", "zeros", "("]
    return False


def _lack(word: str, arguments: Sequence[Sequence[str]]) -> tuple[Lack, str] | None:
    """What a load or store lacks if its pointer is a computed one, and the name that tells (see `UnguardedAccess`)."""
    named = {argument[0] for argument in arguments if argument[1:2] == ["="]}
    given = [argument for argument in arguments if argument[1:2] != ["="]]
    pointer = given[0] if given else next((each[2:] for each in arguments if each[:2] == ["pointer", "="]), [])
    if "boundary_check" in named or not pointer:
        return None
    name = pointer[0] if len(pointer) == 1 or _of_one_element(pointer) else ""
    mask_at, other_at = _PLACES[word]
    if "mask" not in named and len(given) <= mask_at:
        return (Lack.LOAD_MASK if word == "load" else Lack.STORE_MASK), name
    return (Lack.OTHER, name) if other_at and "other" not in named and len(given) <= other_at else None
