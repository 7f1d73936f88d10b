"""Which of several scripts shows the fault: the launches of a capsule, of which one failed, and nobody knows which."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

from shrinkray_gpu.errors import NotReproduced, UsageError
from shrinkray_gpu.job.reduce import check
from shrinkray_gpu.lift.from_capsule.capsule import Capsule, Suspect
from shrinkray_gpu.options import Options, Say


def shown_by(capsule: Capsule, launch: int | None, options: Options, say: Say) -> tuple[Suspect, str]:
    """The launch that shows the fault by itself, and the script of it that does.

    Raises NotReproduced where none does, UsageError where none can be written down or there is no launch of that
    number."""
    chosen = _chosen(capsule, launch)
    if not any(each.scripts for each in chosen):
        why = "; ".join(dict.fromkeys(f"{each.kernel}: {each.why_none}" for each in chosen[:3]))
        raise UsageError(f"{capsule.path.name}: no launch can be made a script ({why})")
    with tempfile.TemporaryDirectory(prefix="shrink-") as folder:
        for suspect, text in _in_turn(chosen):
            file = Path(folder) / f"{capsule.path.stem}_launch{suspect.number}.py"
            file.write_text(text, encoding="utf-8")
            say(f"launch {suspect.number} of {capsule.seen}, {suspect.kernel}:")
            try:
                check(file, options, say=say)
            except NotReproduced as error:
                say(str(error).splitlines()[0])
                continue
            return suspect, text
    raise NotReproduced(f"no launch of {capsule.path.name} shows {capsule.error!r} by itself. {_next(capsule, chosen)}")


def _chosen(capsule: Capsule, launch: int | None) -> Sequence[Suspect]:
    if launch is None:
        return capsule.likely
    found = [each for each in capsule.suspects if each.number == launch]
    if not found:
        known = ", ".join(f"{each.number} ({each.kernel})" for each in capsule.suspects[:30])
        raise UsageError(f"--launch {launch}: {capsule.path.name} has no launch of that number. It holds {known}")
    return found


def _in_turn(suspects: Sequence[Suspect]) -> Iterator[tuple[Suspect, str]]:
    """The likeliest script of each before the second one of any."""
    for row in zip_longest(*([(each, text) for text in each.scripts] for each in suspects)):
        yield from (pair for pair in row if pair is not None)


def _next(capsule: Capsule, chosen: Sequence[Suspect]) -> str:
    if capsule.recorded:
        return "It may hang on what an earlier launch wrote: reduce the program itself"
    needs = list(dict.fromkeys(f"{name} of {each.kernel}" for each in chosen for name in each.needs_contents))
    what = f"what {', '.join(needs[:4])} held is not known" if needs else "what its tensors held is not known"
    again = f"SHRINKRAY_GPU=record SHRINKRAY_GPU_CAPSULE={capsule.path.name} python -m shrinkray_gpu.capture PROGRAM"
    return f"It may hang on contents ({what}). To record them, run the program once more: {again}"
