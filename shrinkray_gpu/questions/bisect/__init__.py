"""The release in which a fault began, or ended, for a fault that may show in some runs only.

history.py       the releases between the ends, from the good one to the bad one
release_runs.py  one run of the program with one release, as an answer
answer_log.py    what was answered, on disk as it comes
bisect.py        the search: `corpus/first_bad.py` chooses, a release is run, and its answer is written and told
pair.py          two such searches, where a fault may need two packages
git_script.py    a script for `git bisect run`, for what lies between two releases
"""

from shrinkray_gpu.questions.bisect.bisect import Bisection, bisect_program
from shrinkray_gpu.questions.bisect.history import ReleaseHistory, history_of
from shrinkray_gpu.questions.bisect.release_runs import Bisected

__all__ = ["Bisected", "Bisection", "ReleaseHistory", "bisect_program", "history_of"]
