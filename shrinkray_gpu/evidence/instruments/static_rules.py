"""The static rules: asked of the run itself on the virtual GPU, of a run there beside a real one."""

from __future__ import annotations

import re
from dataclasses import replace

from shrinkray_gpu.device import gpus
from shrinkray_gpu.evidence.instruments.instrument import WANTS, Cost, Instrument, Observation, Subject, watched
from shrinkray_gpu.evidence.sights import Sight
from shrinkray_gpu.oracle import speech
from shrinkray_gpu.runner.inside.launches.launch_log import INTERPRETED
from shrinkray_gpu.runner.inside.static import rules
from shrinkray_gpu.runner.run import Launch, Run

STATIC = "static rule"
_PLACE = re.compile(r", at (.+?):(\d+):(\d+)$")


def look(subject: Subject, run: Run | None) -> Observation:
    """`run` is the program's own, None if that goes on: it is read only where it was on the virtual GPU."""
    arch = subject.setup.arch or (gpus.capability() if subject.gpu else None)
    if arch is None:
        return Observation.missing(STATIC, "needs to know the GPU: name one by --arch, such as sm_90")
    seconds = 0.0
    if run is None or subject.setup.arch is None:
        wants = (*WANTS, *(each for each in subject.script.wants if each.startswith((rules.ASKED, INTERPRETED))))
        script = replace(subject.script, asserts=False, wants=wants, sanitizer="", twins=())
        run, seconds = watched(subject, script, replace(subject.setup, arch=arch, warm=False, reuse=False))
    broken = next((launch for launch in run.launches if launch.fault), None)
    if broken is None:
        ended = f", and {speech.ending(run)} there" if subject.setup.arch is None and speech.has_failed(run) else ""
        return Observation.present(STATIC, f"none of {len(run.launches)} launches breaks it{ended}", seconds)
    return observation(broken, seconds)


def observation(broken: Launch, seconds: float = 0.0) -> Observation:
    """What the rule says of a launch that breaks it."""
    rule, reason = rules.of_fault(broken.fault)
    at = _PLACE.search(reason)
    family = next((family for words, family in rule.instructions if words in reason), "")
    sight = Sight(broken.kernel, family=family)
    if at is not None:
        sight = replace(sight, file=at.group(1), line=int(at.group(2)), column=int(at.group(3)))
    told = _PLACE.sub("", reason).partition(": ")[2] or reason
    return Observation.present(
        STATIC,
        broken.fault,
        seconds,
        sights=(sight,),
        address=(f"the access ({STATIC} {rule.name}): {told}, where {rule.wanted}",),
        predicts=rule.code,
    )


INSTRUMENT = Instrument(STATIC, Cost.CHECKPOINT, look)
