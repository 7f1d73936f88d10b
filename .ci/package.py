"""Builds sdist and wheel, and installs the wheel as a user does: `make package`, about a minute.

    python .ci/package.py [torch==VERSION triton==VERSION]

1. The wheel is built of the sdist. `twine check` takes both.
2. The wheel goes into an empty environment. `shrink` is there, and under the package's own name; it tells its words; it
   checks the demo's program, whose interpreter it finds by itself in .venv beside the checkout (or, without one, the
   interpreter that runs this script).
3. The wheel goes into an environment with old releases: numpy, what shrink needs, and what is named on the command
   line, without the libraries that it needs in turn. `pip freeze` tells afterwards what it told before, and more. With
   these releases shrink starts.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "build" / "dist"
TOOLS = ("build>=1.2", "hatchling>=1.27", "twine>=6.1")
CASE = ROOT / "corpus" / "tma_misaligned" / "failing.py"
OLD = ("click==8.1.3", "jinja2==3.1.2", "markupsafe==2.1.3", "packaging==23.0", "pygments==2.15.0", "tqdm==4.64.1")
"""What shrink needs, in releases of years ago, which are enough for it."""
Pip = tuple["Path | str", ...]
"""The command of one pip, which installs into any environment."""
NUMPY = {(3, 10): "1.26.4", (3, 11): "1.26.4", (3, 12): "1.26.4", (3, 13): "2.1.3"}
"""The oldest that is built for each Python; a newer Python gets the newest."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("heavy", nargs="*", metavar="NAME==VERSION")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="shrink-package-") as made:
        folder = Path(made)
        venv.create(folder / "tools", with_pip=True)
        tools = folder / "tools" / "bin" / "python"
        pip = (tools, "-m", "pip", "--disable-pip-version-check")
        said(*pip, "install", "--quiet", *TOOLS)
        shutil.rmtree(DIST, ignore_errors=True)
        said(tools, "-m", "build", "--no-isolation", "--outdir", DIST, ROOT)
        said(tools, "-m", "twine", "check", "--strict", *sorted(DIST.iterdir()))
        (wheel,) = DIST.glob("*.whl")
        installed(environment(folder / "empty", pip, wheel))
        beside_others(folder / "old", pip, wheel, given.heavy)


def installed(python: Path) -> None:
    """Raises SystemExit unless the wheel works, in an environment that has nothing else."""
    for name in ("shrink", "shrinkray-gpu"):
        assert said(python.parent / name, "--version").startswith("shrink, version ")
    assert "oracle" in said(python.parent / "shrink", "help", "words")
    own = ROOT / ".venv" / "bin" / "python"
    named = [] if own.exists() else ["--python", sys.executable]
    checked = [python.parent / "shrink", "check", CASE, "--arch", "sm_90", "--oracle", "misaligned address", *named]
    told = said(*checked)
    assert "shows 'misaligned address'" in told, told
    assert named or f"python: {own}, found beside failing.py or above" in told, told
    print("the wheel checks the demo's program", flush=True)


def beside_others(folder: Path, pip: Pip, wheel: Path, heavy: list[str]) -> None:
    """Raises SystemExit where installing us touches what was there before."""
    numpy = NUMPY.get(sys.version_info[:2])
    pins = [*OLD, f"numpy=={numpy}" if numpy else "numpy"]
    python = environment(folder, pip, *pins)
    if heavy:
        said(*pip, "--python", python, "install", "--quiet", "--no-deps", *heavy)
    before = frozen(python, pip)
    said(*pip, "--python", python, "install", "--quiet", wheel)
    after = frozen(python, pip)
    assert before <= after, f"changed: {sorted(before - after)}, to {sorted(after - before)}"
    new = sorted(line.partition("==")[0].partition(" ")[0] for line in after - before)
    assert "oracle" in said(python.parent / "shrink", "help", "words")
    print(f"beside {', '.join([*pins, *heavy])}: nothing changed; new: {', '.join(new)}", flush=True)
    assert "numpy" not in new and "matplotlib" not in new


def environment(folder: Path, pip: Pip, *packages: str | Path) -> Path:
    """The interpreter of a fresh environment with these, and with nothing else."""
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    said(*pip, "--python", python, "install", "--quiet", *packages)
    return python


def frozen(python: Path, pip: Pip) -> set[str]:
    return set(said(*pip, "--python", python, "freeze", "--all").splitlines())


def said(*words: str | Path) -> str:
    """What a command says, on both streams. It sees none of this checkout but what is named."""
    hidden = ("PYTHONPATH", "VIRTUAL_ENV", "CONDA_PREFIX")
    variables = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run([*map(str, words)], stdout=-1, stderr=-2, text=True, cwd="/", env=variables, timeout=300)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


if __name__ == "__main__":
    main()
