"""Surroundings: what else stands in such a file. Each part has definitions, and what `main` does with them, if it does.

`$n` is a number of its own, so that a part may stand in a file more than once.
"""

from __future__ import annotations

from typing import NamedTuple

HEAD = '''
"""$Title: $purpose.

    python $item.py --profile $profile --count 12

Written for a nightly job; the numbers are made up.
"""

import argparse
import collections
import functools
import heapq
import itertools
import json
import math
import os
import re
import sys
import textwrap
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, Dict, List, Optional

VERSION = "$n.4.1"
DEBUG = os.environ.get("${ITEM}_DEBUG") == "1"
DEFAULT_PROFILE = "$profile"

PROFILES = {
    "tiny": {"limit": 3, "factor": 1, "ceiling": 40, "strict": False, "steps": ["drop-empty"]},
    "$profile": {
        "limit": $limit,
        "factor": $factor,
        "ceiling": $ceiling,
        "strict": True,
        "steps": ["drop-empty", "rescale", "clip", "$verb", "rank"],
    },
    "large": {"limit": 64, "factor": 5, "ceiling": 4000, "strict": True, "steps": ["rescale", "$verb"]},
    "nightly": {"limit": 128, "factor": 8, "ceiling": 65536, "strict": False, "steps": ["clip", "rank"]},
}
'''
COMMON = '''
@dataclass
class Settings:
    """All that a run needs to know."""

    profile: str
    count: int
    seed: int
    limit: int
    factor: int
    ceiling: int
    strict: bool
    steps: List[str] = field(default_factory=list)
    verbose: bool = False
    output: Optional[str] = None

    @classmethod
    def from_arguments(cls, arguments):
        chosen = PROFILES[arguments.profile]
        settings = cls(
            profile=arguments.profile,
            count=arguments.count,
            seed=arguments.seed,
            verbose=arguments.verbose,
            output=arguments.output,
            **chosen,
        )
        if arguments.limit is not None:
            settings.limit = arguments.limit
        settings.check()
        return settings

    def check(self):
        if self.count <= 0:
            raise SystemExit("--count must be positive")
        if self.factor < 1 or self.ceiling < self.factor:
            raise SystemExit(f"profile {self.profile} is broken")
        for name in self.steps:
            if not re.fullmatch(r"[a-z-]+", name):
                raise SystemExit(f"no such step: {name}")


class Report:
    """Collects what there is to say, and says it at the end."""

    def __init__(self, verbose=False):
        self.verbose = verbose
        self.notes = []
        self.counts = collections.Counter()
        self.largest = {}

    def note(self, text):
        self.notes.append(text)
        if self.verbose:
            print(f"[{len(self.notes):3}] {text}", file=sys.stderr)

    def count(self, kind, value=1):
        self.counts[kind] += 1
        if isinstance(value, (int, float)):
            self.largest[kind] = max(value, self.largest.get(kind, value))

    def summary(self):
        lines = [f"{kind:12} {number:4}" for kind, number in sorted(self.counts.items())]
        return "\\n".join([*lines, f"{len(self.notes)} notes"])


class Source:
    """Numbers that look random, and are the same in every run."""

    def __init__(self, seed):
        self.state = seed * 2654435761 % 4294967296 or 1

    def next(self):
        self.state = (1103515245 * self.state + 12345) % 2147483648
        return self.state

    def below(self, top):
        return (self.next() >> 8) % max(1, top)


@contextmanager
def stage(report, name):
    report.note(f"begin {name}")
    try:
        yield
    finally:
        report.note(f"end {name}")


def parse_arguments(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--profile", choices=sorted(PROFILES), default=DEFAULT_PROFILE)
    parser.add_argument("--count", type=int, default=$count, help="how many to make")
    parser.add_argument("--seed", type=int, default=$seed)
    parser.add_argument("--limit", type=int, help="instead of the profile's")
    parser.add_argument("--output", help="write the report there")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--version", action="version", version=VERSION)
    return parser.parse_args(words)
'''
MAIN = """
def main(words=None):
    arguments = parse_arguments(words)
    settings = Settings.from_arguments(arguments)
    report = Report(settings.verbose or DEBUG)
$main
    print(report.summary())
    if settings.output:
        with open(settings.output, "w") as file:
            json.dump({"settings": asdict(settings), "counts": dict(report.counts)}, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
"""


class Part(NamedTuple):
    text: str
    before: str = ""
    """What `main` does with it before the fault; empty where nothing can use it."""
    behind: str = ""


PARTS = (
    Part(
        '''
def chunked$n(values, size):
    """Lists of at most `size` values each."""
    chunk = []
    for value in values:
        chunk.append(value)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
''',
        """
chunks$n = list(chunked$n(range(settings.count), 4))
report.note(f"{len(chunks$n)} chunks")
""",
    ),
    Part(
        '''
def quantile$n(values, share):
    """The value below which such a share of the values lies."""
    ordered = sorted(values)
    if not ordered:
        return None
    place = share * (len(ordered) - 1)
    low, high = math.floor(place), math.ceil(place)
    if low == high:
        return ordered[low]
    return ordered[low] * (high - place) + ordered[high] * (place - low)


def five_numbers$n(values):
    return {share: quantile$n(values, share) for share in (0, 0.25, 0.5, 0.75, 1)}
''',
        """
sizes$n = [settings.factor * number % 17 for number in range(settings.count)]
report.note(f"sizes: {five_numbers$n(sizes$n)}")
""",
    ),
    Part(
        '''
class Matrix$n:
    """A small dense matrix, row by row."""

    def __init__(self, rows):
        self.rows = [list(row) for row in rows]
        self.shape = (len(self.rows), len(self.rows[0]) if self.rows else 0)

    @classmethod
    def identity(cls, size):
        return cls([[int(row == column) for column in range(size)] for row in range(size)])

    def __matmul__(self, other):
        columns = list(zip(*other.rows))
        return Matrix$n([[sum(a * b for a, b in zip(row, column)) for column in columns] for row in self.rows])

    def transposed(self):
        return Matrix$n(zip(*self.rows))

    def trace(self):
        return sum(self.rows[at][at] for at in range(min(self.shape)))
''',
        """
mix$n = Matrix$n([[1, settings.factor], [0, 1]])
for _ in range(3):
    mix$n = mix$n @ mix$n.transposed()
report.note(f"trace {mix$n.trace()}")
""",
    ),
    Part(
        """
@functools.lru_cache(maxsize=None)
def paths$n(rows, columns):
    if rows == 0 or columns == 0:
        return 1
    return paths$n(rows - 1, columns) + paths$n(rows, columns - 1)
""",
        """
report.count("paths", paths$n(settings.factor + 2, 5))
""",
    ),
    Part(
        '''
def table$n(rows, heads):
    """Text in columns."""
    cells = [[str(cell) for cell in row] for row in [heads, *rows]]
    widths = [max(len(row[at]) for row in cells) for at in range(len(heads))]
    lines = []
    for row in cells:
        lines.append("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\\n".join(lines)
''',
        "",
        """
print(table$n(sorted(report.counts.items()), ["kind", "count"]))
""",
    ),
    Part(
        '''
class Graph$n:
    """Which step needs which."""

    def __init__(self):
        self.edges = collections.defaultdict(set)

    def needs(self, later, *earlier):
        for each in earlier:
            self.edges[later].add(each)
            self.edges.setdefault(each, set())
        return self

    def order(self):
        done, result = set(), []
        def visit(node, around=()):
            if node in around:
                raise RecursionError(f"{node} needs itself")
            if node not in done:
                for each in sorted(self.edges[node]):
                    visit(each, (*around, node))
                done.add(node)
                result.append(node)
        for node in sorted(self.edges):
            visit(node)
        return result
''',
        """
graph$n = Graph$n().needs("rank", "clip").needs("clip", "rescale", "drop-empty")
report.note(" ".join(graph$n.order()))
""",
    ),
    Part(
        '''
def retried$n(times=3, wait=0.0, on=(OSError,)):
    """Call it again where it fails."""
    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            for attempt in range(1, times + 1):
                try:
                    return function(*args, **kwargs)
                except on:
                    if attempt == times:
                        raise
                    time.sleep(wait * attempt)
        return wrapper
    return decorate


@retried$n(times=2)
def stamp$n(settings):
    text = json.dumps([settings.profile, settings.count, settings.limit])
    return sum(ord(character) * (at + 1) for at, character in enumerate(text)) % 9973
''',
        """
report.note(f"stamp {stamp$n(settings)}")
""",
    ),
    Part(
        '''
class History$n:
    """The last few values of a series, and their mean."""

    def __init__(self, length=8):
        self.length = length
        self.values = collections.deque(maxlen=length)
        self.total = 0.0

    def push(self, value):
        if len(self.values) == self.length:
            self.total -= self.values[0]
        self.values.append(value)
        self.total += value
        return self.mean

    @property
    def mean(self):
        return self.total / len(self.values) if self.values else 0.0

    def __len__(self):
        return len(self.values)
''',
        """
history$n = History$n(settings.factor + 4)
for number in range(settings.count):
    history$n.push(number * number % 11)
report.note(f"mean {history$n.mean:.2f} of {len(history$n)}")
""",
    ),
    Part(
        '''
UNITS$n = {"B": 1, "KiB": 1024, "MiB": 1024 ** 2, "GiB": 1024 ** 3}


def human$n(count):
    """Bytes for people."""
    for unit, size in sorted(UNITS$n.items(), key=lambda pair: -pair[1]):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return "0 B"
''',
        """
report.note("about " + human$n(settings.count * settings.ceiling * 8))
""",
    ),
    Part(
        '''
def merged$n(base, *more):
    """Tables laid over each other; inner tables, too."""
    result = dict(base)
    for table in more:
        for key, value in table.items():
            if isinstance(value, dict) and isinstance(result.get(key), dict):
                result[key] = merged$n(result[key], value)
            else:
                result[key] = value
    return result
''',
        """
options$n = merged$n({"io": {"threads": 2}}, {"io": {"retries": settings.factor}, "mode": settings.profile})
report.note(json.dumps(options$n, sort_keys=True))
""",
    ),
    Part(
        '''
class JsonWriter$n:
    """Writes rows as lines of JSON."""

    suffix = ".jsonl"

    def __init__(self, path, indent=None):
        self.path = path + self.suffix
        self.indent = indent
        self.rows = 0

    def __enter__(self):
        self.file = open(self.path, "a")
        return self

    def __exit__(self, kind, error, trace):
        self.file.close()

    def row(self, **values):
        self.file.write(json.dumps(values, indent=self.indent) + "\\n")
        self.rows += 1


class CsvWriter$n(JsonWriter$n):
    suffix = ".csv"

    def row(self, **values):
        self.file.write(",".join(str(values[key]) for key in sorted(values)) + "\\n")
        self.rows += 1


WRITERS$n = {"json": JsonWriter$n, "csv": CsvWriter$n}
''',
    ),
    Part(
        '''
def benchmark$n(function, *arguments, repeat=5):
    """Seconds of the fastest of some runs."""
    best = math.inf
    for _ in range(repeat):
        begun = time.perf_counter()
        function(*arguments)
        best = min(best, time.perf_counter() - begun)
    return best


def compare$n(functions, sizes=(10, 100, 1000)):
    for function in functions:
        for size in sizes:
            print(function.__name__, size, f"{benchmark$n(function, list(range(size))):.6f}")
''',
    ),
    Part(
        '''
def explain$n(settings, width=72):
    """What a person may want to know of the settings."""
    text = f"""
        Profile {settings.profile} makes {settings.count} entries with seed {settings.seed}. Values go up to
        {settings.ceiling}, and are multiplied by {settings.factor}.
    """
    return textwrap.fill(" ".join(text.split()), width=width)
''',
        """
report.note(explain$n(settings))
""",
    ),
    Part(
        """
def neighbours$n(cells, row, column):
    for down, right in itertools.product((-1, 0, 1), repeat=2):
        if (down, right) != (0, 0):
            yield cells.get((row + down, column + right), 0)


def life$n(cells, rounds):
    for _ in range(rounds):
        near = {(row + a, column + b) for row, column in cells for a in (-1, 0, 1) for b in (-1, 0, 1)}
        after = {}
        for row, column in near:
            count = sum(neighbours$n(cells, row, column))
            if count == 3 or (count == 2 and cells.get((row, column))):
                after[row, column] = 1
        cells = after
    return cells
""",
        """
cells$n = life$n({(0, 1): 1, (1, 2): 1, (2, 0): 1, (2, 1): 1, (2, 2): 1}, settings.factor)
report.count("cells", len(cells$n))
""",
    ),
    Part(
        '''
class Legacy$n:
    """The format of version 2, which a few files still have."""

    MAGIC = b"\\x00$g1\\x01"
    FIELDS = (("key", 16), ("group", 8), ("count", 4))

    def __init__(self, data=b""):
        self.data = data
        self.offset = 0

    def read(self, size):
        part = self.data[self.offset:self.offset + size]
        if len(part) < size:
            raise EOFError(f"{size} bytes wanted, {len(part)} there")
        self.offset += size
        return part

    def header(self):
        if self.read(len(self.MAGIC)) != self.MAGIC:
            raise ValueError("not of version 2")
        return {name: self.read(size).rstrip(b"\\x00").decode() for name, size in self.FIELDS}

    def __iter__(self):
        while self.offset < len(self.data):
            yield self.header()
''',
    ),
    Part(
        '''
def checked$n(settings):
    """Problems that are worth a word, and no error."""
    problems = []
    if settings.limit > settings.ceiling:
        problems.append("the limit is above the ceiling")
    if settings.strict and settings.count > 100:
        problems.append("strict runs of more than 100 take long")
    if not settings.steps:
        problems.append("there are no steps")
    elif len(set(settings.steps)) < len(settings.steps):
        problems.append("a step is there twice")
    return problems
''',
        """
for problem in checked$n(settings):
    report.note("warning: " + problem)
""",
    ),
)
