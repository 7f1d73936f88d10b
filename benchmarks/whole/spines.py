"""Spines: what a program does from `main` down to the method that fails. `$fault` stands in there.

Each has `values` (a list of whole numbers), `label` (a string) and `self.limit` at the fault. `$before`, `$behind` and
`$helpers` are filled with what the surroundings use.
"""

from __future__ import annotations

PIPELINE = '''
STEPS = {}


def step(name, *, enabled=True):
    """Put a step into the table of steps."""
    def put(cls):
        cls.name = name
        cls.enabled = enabled
        STEPS[name] = cls
        return cls
    return put


@dataclass
class ${Item}:
    key: str
    group: str
    values: List[int] = field(default_factory=list)
    weight: float = 1.0

    def total(self):
        return sum(self.values)

    def scaled(self, factor):
        return ${Item}(self.key, self.group, [v * factor for v in self.values], self.weight)


class Step:
    """What every step has: its settings, and a count of what went through."""

    name = "?"

    def __init__(self, settings, report):
        self.settings = settings
        self.report = report
        self.limit = settings.limit
        self.seen = 0

    def run(self, items):
        result = []
        for item in items:
            self.seen += 1
            done = self.apply(item)
            if done is not None:
                result.append(done)
        self.report.note(f"{self.name}: {self.seen} in, {len(result)} out")
        return result

    def apply(self, item):
        raise NotImplementedError


@step("drop-empty")
class DropEmpty(Step):
    def apply(self, item):
        return item if item.values else None


@step("rescale")
class Rescale(Step):
    def __init__(self, settings, report):
        super().__init__(settings, report)
        self.factor = max(1, settings.factor)

    def apply(self, item):
        return item.scaled(self.factor)


@step("clip")
class Clip(Step):
    def apply(self, item):
        top = self.settings.ceiling
        item.values = [min(v, top) for v in item.values]
        return item


@step("$verb")
class ${Verb}(Step):
    """The one that the others prepare for."""

    def __init__(self, settings, report):
        super().__init__(settings, report)
        self.cache = {}
        self.strict = settings.strict

    def apply(self, item):
        key = (item.group, len(item.values))
        if key in self.cache and not self.strict:
            return self.cache[key]
        outcome = self.${verb}(f"{item.group}:{item.key}", item.values)
        self.cache[key] = item
        self.report.count(item.group, outcome)
        return item

    def ${verb}(self, label, values):
$fault


@step("rank", enabled=False)
class Rank(Step):
    def apply(self, item):
        item.weight = item.total() / (1 + self.seen)
        return item


class Pipeline:
    def __init__(self, settings, report):
        self.settings = settings
        self.report = report
        self.steps = [STEPS[name](settings, report) for name in settings.steps if STEPS[name].enabled]

    def run(self, items):
        for each in self.steps:
            try:
                items = each.run(items)
            except NotImplementedError as error:
                self.report.note(f"skipped {each.name}: {error}")
            if not items:
                self.report.note("nothing left")
                break
        return items


def make_items(settings):
    """Items as they would be read from a file, but made up."""
    source = Source(settings.seed)
    groups = ["$g1", "$g2", "$g3"]
    items = []
    for number in range(settings.count):
        size = 3 + source.below(5)
        values = [source.below(settings.ceiling) for _ in range(size)]
        items.append(${Item}(f"$item{number}", groups[number % len(groups)], values))
    return items
'''
PIPELINE_MAIN = """
    items = make_items(settings)
$before
    pipeline = Pipeline(settings, report)
    with stage(report, "pipeline"):
        items = pipeline.run(items)
$behind
    for item in sorted(items, key=lambda each: each.weight):
        print(item.key, item.group, item.total())
"""

EVENTS = '''
class ${Item}:
    """Something that happens at a time, to an account."""

    __slots__ = ("at", "kind", "name", "amount")

    def __init__(self, at, kind, name, amount=0):
        self.at, self.kind, self.name, self.amount = at, kind, name, amount

    def __lt__(self, other):
        return (self.at, self.name) < (other.at, other.name)

    def __repr__(self):
        return f"${Item}({self.at}, {self.kind!r}, {self.name!r}, {self.amount})"


class Account:
    def __init__(self, name, opening=0):
        self.name = name
        self.balance = opening
        self.history = []

    def move(self, amount, reason):
        self.balance += amount
        self.history.append((amount, reason))
        return self.balance

    @property
    def amounts(self):
        return [amount for amount, _ in self.history]


class Clock:
    def __init__(self, start=0, tick=1):
        self.now = start
        self.tick = tick

    def advance(self, to):
        if to < self.now:
            raise SystemError("the clock went back")
        self.now = to
        return self.now // self.tick


class Simulation:
    """Takes events in the order of time, and gives each to the method for its kind."""

    def __init__(self, settings, report):
        self.settings, self.report = settings, report
        self.limit = settings.limit
        self.queue = []
        self.accounts = {}
        self.clock = Clock(tick=settings.factor)
        self.rejected = 0

    def post(self, event):
        heapq.heappush(self.queue, event)

    def account(self, name):
        if name not in self.accounts:
            self.accounts[name] = Account(name, opening=self.settings.factor)
        return self.accounts[name]

    def run(self):
        handled = 0
        while self.queue:
            event = heapq.heappop(self.queue)
            self.clock.advance(event.at)
            handler = getattr(self, "on_" + event.kind, self.on_unknown)
            handler(event)
            handled += 1
            if handled % 8 == 0:
                self.report.note(f"{handled} handled, {len(self.queue)} to go")
        return handled

    def on_unknown(self, event):
        self.rejected += 1
        self.report.note(f"rejected {event!r}")

    def on_open(self, event):
        account = self.account(event.name)
        account.move(event.amount, "opened")
        self.report.count("open", account.balance)

    def on_pay(self, event):
        account = self.account(event.name)
        if event.amount > self.settings.ceiling:
            self.on_unknown(event)
            return
        account.move(event.amount, "paid")
        self.report.count("pay", account.balance)

    def on_fee(self, event):
        account = self.account(event.name)
        fee = min(self.settings.factor, abs(account.balance))
        account.move(-fee, "fee")

    def on_${verb}(self, event):
        account = self.account(event.name)
        if len(account.history) < 2:
            self.post(${Item}(event.at + 5, "${verb}", event.name))
            return
        self.report.note(f"${verb} {account.name}")
        self.${verb}(f"{event.kind}/{account.name}", account.amounts)

    def ${verb}(self, label, values):
$fault

    def on_close(self, event):
        account = self.accounts.pop(event.name, None)
        if account is not None and account.balance:
            self.report.note(f"{account.name} closed with {account.balance}")


def schedule(simulation, settings):
    """A day of events."""
    source = Source(settings.seed)
    names = ["$g1", "$g2", "$g3"]
    for number, name in enumerate(names):
        simulation.post(${Item}(number, "open", name, source.below(settings.ceiling)))
    for number in range(settings.count):
        name = names[source.below(len(names))]
        kind = ("pay", "fee", "pay", "audit")[source.below(4)]
        simulation.post(${Item}(10 + number, kind, name, source.below(settings.ceiling)))
    simulation.post(${Item}(10 + settings.count // 2, "${verb}", names[settings.seed % 3]))
    for name in names:
        simulation.post(${Item}(1000, "close", name))
'''
EVENTS_MAIN = """
    simulation = Simulation(settings, report)
    schedule(simulation, settings)
$before
    with stage(report, "simulation"):
        handled = simulation.run()
$behind
    print("handled", handled, "rejected", simulation.rejected)
    for name in sorted(simulation.accounts):
        print(name, simulation.accounts[name].balance)
"""

FORMULAS = '''
TOKEN = re.compile(r"\\s*(?:(\\d+)|([a-z_]+)|(.))")
PRIORITY = {"+": 1, "-": 1, "*": 2, "/": 2, "%": 2}


class Node:
    """A node of a formula."""

    def value(self, sheet):
        raise NotImplementedError

    def names(self):
        return set()


class Number(Node):
    def __init__(self, number):
        self.number = number

    def value(self, sheet):
        return self.number


class Name(Node):
    def __init__(self, name):
        self.name = name

    def value(self, sheet):
        return sheet.lookup(self.name)

    def names(self):
        return {self.name}


class Operation(Node):
    def __init__(self, sign, left, right):
        self.sign, self.left, self.right = sign, left, right

    def value(self, sheet):
        left, right = self.left.value(sheet), self.right.value(sheet)
        if self.sign == "+":
            return left + right
        if self.sign == "-":
            return left - right
        if self.sign == "*":
            return left * right
        if self.sign == "%":
            return left % right if right else 0
        return left // right if right else 0

    def names(self):
        return self.left.names() | self.right.names()


class ${Verb}(Node):
    """`$verb(a, b, ...)`: over all its arguments."""

    def __init__(self, arguments, limit):
        self.arguments = arguments
        self.limit = limit

    def value(self, sheet):
        values = [each.value(sheet) for each in self.arguments]
        sheet.calls += 1
        return self.${verb}(f"{sheet.name}.{sheet.calls}", values)

    def names(self):
        return set().union(*(each.names() for each in self.arguments))

    def ${verb}(self, label, values):
$fault


class Parser:
    def __init__(self, text, settings):
        self.tokens = [next(part for part in found if part) for found in TOKEN.findall(text) if any(found)]
        self.settings = settings
        self.at = 0

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def take(self):
        token = self.peek()
        self.at += 1
        return token

    def formula(self, least=1):
        left = self.atom()
        while PRIORITY.get(self.peek(), 0) >= least:
            sign = self.take()
            right = self.formula(PRIORITY[sign] + 1)
            left = Operation(sign, left, right)
        return left

    def atom(self):
        token = self.take()
        if token == "(":
            inner = self.formula()
            self.take()
            return inner
        if token.isdigit():
            return Number(int(token))
        if self.peek() == "(":
            self.take()
            arguments = [self.formula()]
            while self.peek() == ",":
                self.take()
                arguments.append(self.formula())
            self.take()
            if token != "${verb}":
                raise SyntaxError(f"no such function: {token}")
            return ${Verb}(arguments, self.settings.limit)
        return Name(token)


class ${Item}:
    """A sheet of named formulas that refer to each other."""

    def __init__(self, name, settings, report):
        self.name, self.settings, self.report = name, settings, report
        self.cells, self.known = {}, {}
        self.calls = 0

    def load(self, lines):
        for line in lines:
            name, _, text = line.partition("=")
            if text.strip():
                self.cells[name.strip()] = Parser(text.strip(), self.settings).formula()
        self.report.note(f"{len(self.cells)} cells")

    def lookup(self, name):
        if name not in self.known:
            cell = self.cells.get(name)
            self.known[name] = cell.value(self) if cell is not None else self.settings.factor
            self.report.count("cell", self.known[name])
        return self.known[name]

    def order(self):
        return sorted(self.cells, key=lambda name: (len(self.cells[name].names()), name))


FORMULA_LINES = """
width = 4 * (3 + 2)
height = width - 7 % 4
$g1 = width * height / 10
$g2 = $g1 + missing * 2
$g3 = ${verb}($g1, $g2 - height, width, 3 * (2 + height))
total = $g1 + $g2 + $g3
""".strip().splitlines()
'''
FORMULAS_MAIN = """
    sheet = ${Item}("$item", settings, report)
    sheet.load(FORMULA_LINES)
$before
    with stage(report, "sheet"):
        for name in sheet.order():
            report.note(f"{name} is {sheet.lookup(name)}")
$behind
    print({name: sheet.known[name] for name in sorted(sheet.known)})
"""

SPINES = ((PIPELINE, PIPELINE_MAIN), (EVENTS, EVENTS_MAIN), (FORMULAS, FORMULAS_MAIN))
