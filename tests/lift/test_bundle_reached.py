"""Of a package only what a script reaches goes into the one file: run before and after as plain Python."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from shrinkray_gpu.lift.bundle import Bundle, bundle, bundle_reached

PACKAGE = {
    "lib/__init__.py": "import importlib\n"
    "from .ops import scale, shift\n"
    "for name in ('loud',):\n    importlib.import_module('lib.' + name)\n",
    "lib/loud.py": "print('loud')\n",
    "lib/ops/__init__.py": "from lib.ops.scaling import scale\nfrom lib.ops.shifting import *\n"
    "from .other import unused\n",
    "lib/ops/scaling.py": "import math\nfrom lib.sizes import (\n    ROOM,\n    SPARE as MORE,\n)\n\n\n"
    "def decorated(function):\n    return function\n\n\n"
    "@decorated\ndef scale(x):\n    from ..sizes import twice\n\n    return twice(x) * ROOM + MORE\n\n\n"
    "def unused(x):\n    return math.nothing\n",
    "lib/ops/shifting.py": "from lib import sizes\n\n\ndef shift(x):\n    return x + sizes.ROOM\n\n\n"
    "def other():\n    return 1\n",
    "lib/ops/other.py": "raise SystemExit('nobody needs it')\n",
    "lib/sizes.py": "try:\n    from lib.missing import ROOM\nexcept ImportError:\n    ROOM = 3\nSPARE = 1\n"
    "UNUSED = {}\n\n\ndef twice(x):\n    return 2 * x\n",
}


def made(folder: Path, script: str, **changed: str) -> Path:
    for name, text in {**PACKAGE, **changed, "main.py": script}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "main.py"


def reached(script: Path) -> Bundle | None:
    return bundle_reached(script, script.read_text(), roots=[script.parent])


def output(script: Path, cwd: Path) -> str:
    words = [sys.executable, "-B", "-S", str(script)]
    run = subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.parametrize(
    ("script", "gone"),
    [
        ("from lib import scale, shift\n\nprint(scale(2), shift(1))\n", ["unused", "loud", "other", "math"]),
        ("from lib.ops.scaling import scale as grown\nprint(grown(2))\n", ["def shift", "loud", "unused", "UNUSED"]),
        ("def f():\n    from lib.ops.scaling import decorated\n    return decorated(4)\nprint(f())\n", ["scale("]),
        ("from lib.ops import *\nprint(scale(2))\n", ["def shift", "loud"]),
        ("import lib.sizes as known\nprint(known.twice(known.ROOM))\n", ["def scale", "loud"]),
    ],
)
def test_what_a_script_does_not_reach_stays_away(tmp_path: Path, script: str, gone: list[str]) -> None:
    quiet = {"lib/loud.py": "", "lib/ops/other.py": "unused = 1\n"}
    main = made(tmp_path / "project", script, **quiet)
    before = output(main, main.parent)
    made(tmp_path / "project", script)
    found = reached(main)
    assert found is not None and not found.obstacles
    one = tmp_path / "one_file.py"
    one.write_text(found.text)
    assert output(one, tmp_path) == before
    assert not [name for name in gone if name in found.text]


def test_the_whole_has_an_obstacle_where_the_package_is_loaded_by_names_in_strings(tmp_path: Path) -> None:
    main = made(tmp_path, "from lib import scale\nprint(scale(2))\n")
    whole = bundle(main, main.read_text(), roots=[tmp_path])
    assert whole.obstacles and not whole.modules
    assert reached(main) is not None


def test_what_a_module_does_on_import_it_does_if_anything_of_it_is_needed(tmp_path: Path) -> None:
    effect = "SPARE = 1\nROOM = 3\nSEEN = []\nSEEN.append(ROOM)\nif __name__ == '__main__':\n    SEEN.append(0)\n"
    main = made(tmp_path, "from lib.sizes import SPARE\nprint(SPARE)\n", **{"lib/sizes.py": effect})
    found = reached(main)
    assert found is not None and "SEEN.append(ROOM)" in found.text and "SEEN.append(0)" not in found.text


@pytest.mark.parametrize(
    ("script", "changed"),
    [
        ("from lib.sizes import where\nprint(where())\n", {"lib/sizes.py": "def where():\n    return __file__\n"}),
        ("from lib import nowhere\n", {}),
        ("from lib.sizes import ROOM\n", {"lib/sizes.py": "ROOM = 3; SPARE = 1\n"}),
        ("from lib.sizes import ROOM\n", {"lib/sizes.py": "ROOM = (\n"}),
        ("import math\nprint(math.pi)\n", {}),
    ],
    ids=["asks where it lies", "not defined", "two in a line", "not Python", "nothing of ours"],
)
def test_where_the_text_does_not_tell_there_is_none(tmp_path: Path, script: str, changed: dict[str, str]) -> None:
    assert reached(made(tmp_path, script, **changed)) is None
