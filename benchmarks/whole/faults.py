"""Faults: statements of a method with `label`, `values` and `self.limit`, and what they need at the top of the file.

Some hang on a number alone. Others need a class, a function, a generator or a loop to show at all, so that no constant
folding leaves nothing of them.
"""

from __future__ import annotations

from typing import NamedTuple


class Fault(NamedTuple):
    name: str
    body: str
    top: str = ""


FAULTS = (
    Fault(
        "window",
        """
width = self.limit + len(label)
smoothed = []
for start in range(0, len(values), 2):
    part = values[start:start + width]
    if len(part) < width:
        raise ValueError(f"window of {width} leaves the series of {len(values)}")
    smoothed.append(sum(part) / width)
return max(smoothed)
""",
    ),
    Fault(
        "unbalanced",
        """
odd = sum(v for v in values if v % 2)
even = sum(v for v in values if v % 2 == 0)
gap = abs(odd - even) + self.limit
assert gap == 0, f"unbalanced: {odd} odd, {even} even"
return gap
""",
    ),
    Fault(
        "changing",
        """
places = {value: at for at, value in enumerate(values)}
for value in places:
    if value + self.limit not in places:
        places[value + self.limit] = label
return len(places)
""",
    ),
    Fault(
        "misspelt",
        """
totals = Tally(label)
for value in values:
    totals.add(value)
if totals.amount > self.limit:
    return totals.amuont
return totals.amount
""",
        '''
class Tally:
    """A named sum."""

    def __init__(self, name):
        self.name = name
        self.amount = 0

    def add(self, value):
        self.amount += value
''',
    ),
    Fault(
        "argument",
        """
spans = []
for value in values:
    spans.append(Span(label, value))
return sum(span.length() for span in spans) + self.limit
""",
        '''
@dataclass
class Span:
    """From one place to another."""

    label: str
    first: int
    last: int

    def length(self):
        return self.last - self.first
''',
    ),
    Fault(
        "unbound",
        """
for value in values:
    if value > self.limit * 100000:
        best = value
        break
return best + len(label)
""",
    ),
    Fault(
        "ring",
        """
ring = [0] * max(2, self.limit)
for at, value in enumerate(values):
    ring[at % len(ring)] += value
return ring[len(label) + self.limit]
""",
    ),
    Fault(
        "rate",
        """
kind = f"class-{sum(values) % 5 + len(values)}"
rate = RATES["standard"] if not values else RATES[kind]
return rate * sum(values) + self.limit
""",
        """
RATES = {
    "standard": 3,
    "reduced": 2,
    "free": 0,
    "class-1": 5,
}
""",
    ),
    Fault(
        "division",
        """
centre = sum(values) / len(values)
spread = sum(values) - sum(sorted(values, reverse=True))
return [(value - centre) / spread for value in values]
""",
    ),
    Fault(
        "nothing",
        """
found = first_above(values, self.limit * 100000)
return found + len(label)
""",
        """
def first_above(values, least):
    for value in values:
        if value > least:
            return value
""",
    ),
    Fault(
        "exhausted",
        """
pairs = list(pairwise(iter(values + [self.limit] * (1 - len(values) % 2))))
return len(pairs)
""",
        '''
def pairwise(numbers):
    """Two at a time."""
    while True:
        first = next(numbers)
        yield first, next(numbers)
''',
    ),
    Fault(
        "own",
        """
try:
    weights = [self.limit // (value - value) for value in values]
except ZeroDivisionError as error:
    raise SettlementError(f"cannot settle {len(values)} values") from error
return weights
""",
        '''
class SettlementError(Exception):
    """What a caller is meant to catch."""
''',
    ),
    Fault(
        "twice",
        """
for value in [*values, values[0]]:
    LEDGER.enter(label, value)
return LEDGER.total() + self.limit
""",
        '''
class Row:
    """One line of the ledger."""

    def __init__(self, number, name, amount):
        self.number, self.name, self.amount = number, name, amount


class Ledger:
    def __init__(self):
        self.rows = []

    def enter(self, name, amount):
        for row in self.rows:
            if row.name == name and row.amount == amount:
                raise LookupError(f"row {row.number} has it already")
        self.rows.append(Row(len(self.rows) + 1, name, amount))

    def total(self):
        return sum(row.amount for row in self.rows)


LEDGER = Ledger()
''',
    ),
    Fault(
        "constructor",
        """
found = [Range(label, value, value + self.limit) for value in values]
found.append(Range(label, max(values), min(values)))
return [each.middle for each in found]
""",
        '''
class Range:
    """From a first number to a last one."""

    known = {}

    def __init__(self, label, first, last):
        self.label = label
        self.first, self.last = first, last
        if self.last <= self.first:
            raise ValueError(f"empty range of {self.label[:3]}")
        self.middle = (self.first + self.last) / 2
        Range.known[label] = self
''',
    ),
    Fault(
        "chain",
        """
head = None
for value in values:
    head = Link(value, head)
head.rest.rest.rest = head
return weigh_links(head, self.limit)
""",
        '''
class Link:
    def __init__(self, value, rest):
        self.value, self.rest = value, rest
        self.marked = False


def weigh_links(link, limit):
    """The sum of a chain, which must not bite its tail."""
    total = 0
    while link is not None:
        if link.marked:
            raise RuntimeError("the chain bites its tail")
        link.marked = True
        total += min(link.value, limit)
        link = link.rest
    return total
''',
    ),
    Fault(
        "work",
        """
work = Work(label, values, Bounds(0, self.limit))
return work.spread(work.bounds)
""",
        '''
class Bounds:
    def __init__(self, low, high):
        self.low, self.high = low, high

    def width(self):
        return self.high - self.low


class Work:
    """What is to be done, and within which bounds."""

    def __init__(self, label, values, bounds):
        self.label, self.values, self.bounds = label, values, bounds
        self.done = []

    def spread(self, bounds):
        for value in self.values:
            place = (value - bounds.low) // bounds.width()
            self.done.append(self.slot(place, bounds))
        return self.done

    def slot(self, place, bounds):
        if place >= bounds.width():
            raise OverflowError(f"slot {bounds.high} of {self.label[:2]} is full")
        return place * 2
''',
    ),
    Fault(
        "state",
        """
kind = label[:4]
TOTALS.setdefault(kind, Total(kind)).grow(sum(values))
for other in list(TOTALS.values()):
    if other.kind != kind and other.amount > self.limit:
        raise PermissionError(f"{other.kind} was before {kind}")
if len(values) > 2:
    TOTALS["base"] = Total("base")
    TOTALS["base"].grow(self.limit + 1)
    return self.${verb}(label, values[1:])
return kind
""",
        """
class Total:
    def __init__(self, kind):
        self.kind, self.amount = kind, 0

    def grow(self, by):
        self.amount += abs(by)


TOTALS = {}
""",
    ),
    Fault(
        "prepared",
        """
check = CHECKS[len(CHECKS) - 1]
if not check(values):
    raise ValueError(f"{check.__name__} fails for {len(values)} values")
return check
""",
        """
CHECKS = []


def check_for(least):
    def is_long(values):
        return len(values) > least
    CHECKS.append(is_long)
    return is_long


check_for(2)
for size in (10, 100):
    check_for(size)
""",
    ),
)
