"""A program from a seed: a spine, a fault in it, surroundings of which about half are used, and names of its own."""

from __future__ import annotations

import random
import textwrap
from string import Template

from whole.faults import FAULTS, Fault
from whole.spines import SPINES
from whole.surroundings import COMMON, HEAD, MAIN, PARTS

ITEMS = "parcel reading invoice sample ticket booking shipment meter lot voucher crate signal".split()
VERBS = "settle balance weigh allot grade fold tally match assess merge".split()
GROUPS = "north south east west amber indigo crimson olive alpha beta gamma delta".split()
PROFILES = "medium weekly default regional bulk draft".split()
PURPOSES = ("checks what came in overnight", "sums up a week of work", "prepares the figures for the board")
LINES = 300


def program(seed: int, lines: int = LINES) -> tuple[str, str]:
    """The text, of at least so many lines, and the name of its fault."""
    rng = random.Random(seed)
    spine, run = rng.choice(SPINES)
    fault: Fault = rng.choice(FAULTS)
    item, verb = rng.choice(ITEMS), rng.choice(VERBS)
    g1, g2, g3 = rng.sample(GROUPS, 3)
    words = {
        "item": item, "Item": item.title(), "ITEM": item.upper(), "Title": item.title() + "s",
        "verb": verb, "Verb": verb.title() + "All", "g1": g1, "g2": g2, "g3": g3,
        "profile": rng.choice(PROFILES), "purpose": rng.choice(PURPOSES), "n": rng.randrange(1, 9),
        "limit": rng.randrange(5, 12), "factor": rng.randrange(2, 5), "ceiling": rng.randrange(60, 400),
        "count": rng.randrange(9, 30), "seed": rng.randrange(1, 1000),
    }  # fmt: skip
    tops, before, behind = [fault.top] if fault.top else [], [], []
    order = rng.sample(range(len(PARTS)), len(PARTS))
    number = 0
    while True:
        text = _joined(tops, before, behind, spine, run, fault, words)
        if text.count("\n") >= lines:
            return text, fault.name
        part = PARTS[order[number % len(order)]]
        own = {**words, "n": "" if number < len(order) else f"_{number}"}
        tops.append(Template(part.text).substitute(own))
        if part.before and rng.random() < 0.6:
            before.append(Template(part.before).substitute(own))
        if part.behind and rng.random() < 0.6:
            behind.append(Template(part.behind).substitute(own))
        number += 1


def _joined(
    tops: list[str], before: list[str], behind: list[str], spine: str, run: str, fault: Fault, words: dict[str, object]
) -> str:
    rng = random.Random(str(words))
    body = textwrap.indent(Template(fault.body.strip("\n")).safe_substitute(words), " " * 8)
    inner = {
        "before": textwrap.indent("".join(before).strip("\n"), " " * 4),
        "behind": textwrap.indent("".join(behind).strip("\n"), " " * 4),
    }
    middle = [*tops]
    rng.shuffle(middle)
    at = rng.randrange(len(middle) + 1)
    middle = [COMMON, *middle[:at], spine, *middle[at:]]
    main = Template(MAIN).substitute(main=Template(run).substitute({**words, **inner}).strip("\n"))
    texts = [Template(each).safe_substitute({**words, "fault": body}).strip("\n") for each in (HEAD, *middle, main)]
    return "\n\n\n".join(texts) + "\n"
