"""The instruments, cheap to dear: each one a look at the same program, and what it has to say.

What is missing is named, with the way to get it. A new instrument is one file with an Instrument, and its line in
INSTRUMENTS: `examine` asks it, the card and the issue show what it said, the artifacts keep its text.
"""

from shrinkray_gpu.evidence.instruments import code, core_dump, sanitizers, static_rules
from shrinkray_gpu.evidence.instruments.cold_run import RUN
from shrinkray_gpu.evidence.instruments.instrument import Cost, Instrument

INSTRUMENTS: tuple[Instrument, ...] = (
    static_rules.INSTRUMENT,
    code.INSTRUMENT,
    core_dump.INSTRUMENT,
    *sanitizers.INSTRUMENTS,
)


def of_cost(*costs: Cost) -> frozenset[str]:
    """The names of those that cost this much."""
    return frozenset(one.name for one in INSTRUMENTS if one.cost in costs)


QUICK = of_cost(Cost.CHECKPOINT)
"""For checkpoints: on a GPU two runs, on the virtual one a single run."""
USUAL = of_cost(Cost.CHECKPOINT, Cost.PERSON)
INTERMITTENT = of_cost(Cost.INTERMITTENT)
ORDER = (RUN, *(one.name for one in INSTRUMENTS))
