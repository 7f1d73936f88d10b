"""Rows of a ledger, checked one after another: host Python alone, with a fault three calls deep."""

import argparse
from dataclasses import dataclass, field

RATES = {
    "standard": 3,
    "reduced": 2,
}


@dataclass
class Settings:
    limit: int = 4
    kinds: list = field(default_factory=list)


class Row:
    def __init__(self, kind, amounts):
        self.kind, self.amounts = kind, amounts

    def total(self):
        return sum(self.amounts)


class Ledger:
    """What came in, by kind."""

    def __init__(self, settings):
        self.settings = settings
        self.limit = settings.limit
        self.rows = []

    def enter(self, row):
        self.rows.append(row)
        return self.rate(row.kind, row.total())

    def rate(self, kind, total):
        """What is due."""
        if total > self.limit:
            return RATES[kind] * total + self.step(self.settings.limit)
        return total

    def step(self, by):
        return by + len(self.rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--limit", type=int, default=4)
    settings = Settings(parser.parse_args([]).limit, ["standard", "zero"])
    ledger = Ledger(settings)
    for number, kind in enumerate(settings.kinds):
        print(ledger.enter(Row(kind, [number, 5, 7])))


if __name__ == "__main__":
    main()
