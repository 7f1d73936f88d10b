"""A program with some of its values changed: what `shrink ir` and `shrink sweep` run.

settings.py             what the user types: NAME=VALUE, NAME=VALUE,VALUE
knob_places.py          where a program gives a name its value, and the text with another one
configured.py           the program, its arguments, environment and knobs with settings made
configuration_lanes.py  such programs as cells, run in fresh lanes of one interpreter
"""

from shrinkray_gpu.questions.varying.configuration_lanes import ConfigurationCell, RunPlace, RunTerms, own_folders
from shrinkray_gpu.questions.varying.configured import ConfiguredProgram, UserScript, configure, program_at
from shrinkray_gpu.questions.varying.settings import Axis, Setting, axis, combinations

__all__ = [
    "Axis",
    "ConfigurationCell",
    "ConfiguredProgram",
    "RunPlace",
    "RunTerms",
    "UserScript",
    "Setting",
    "axis",
    "combinations",
    "configure",
    "own_folders",
    "program_at",
]
