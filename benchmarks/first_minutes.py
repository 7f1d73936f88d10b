"""The first minutes of a stranger, timed: `python -m benchmarks.first_minutes --torch PYTHON [--with uv]`.

An empty home and an empty folder: no cache of anybody's, no checkout beside it, nothing of ours in the interpreter that
runs the program. Then what README.md says: an installation, and its three steps. Each step must leave what README.md
promises of it, or this fails. It writes `docs/first_minutes.md` and `benchmarks/results/first_minutes.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CASE = ROOT / "corpus" / "tma_misaligned" / "failing.py"
PAGE = ROOT / "docs" / "first_minutes.md"
RESULT = ROOT / "benchmarks" / "results" / "first_minutes.json"
INSTALL = {
    "pip": "python3 -m venv ~/shrink && ~/shrink/bin/pip install --quiet CHECKOUT",
    "uv": "uv tool install --quiet CHECKOUT",
    "pipx": "pipx install --quiet CHECKOUT",
}
REDUCE = 'shrink my_kernel.py --oracle "misaligned address"'
EXPLAIN = "shrink explain my_kernel.py"
KEEP = "shrink corpus add my_kernel.shrink --to cases --name my_kernel"
REPLAY = "shrink replay cases"
SHOWN = 30
"""Lines of what a command prints that the page shows."""


@dataclass(frozen=True)
class Step:
    """One command of the stranger's, `seconds` by the clock."""

    command: str
    seconds: float
    printed: str


class Stranger:
    """A home, a folder with a program, and an interpreter with torch and Triton in which nothing is ours."""

    def __init__(self, machine: Path, torch: Path) -> None:
        self.home, self.folder = machine / "home", machine / "work"
        self.home.mkdir(), self.folder.mkdir()
        shutil.copyfile(CASE, self.folder / "my_kernel.py")
        packages = Path(said(torch, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"))
        said(torch, "-m", "venv", "--without-pip", machine / "env")
        (own,) = (machine / "env" / "lib").glob("python*/site-packages")
        for package in packages.iterdir():
            if "shrinkray_gpu" not in package.name:
                (own / package.name).symlink_to(package)
        bins = (self.home / ".local" / "bin", self.home / "shrink" / "bin", machine / "env" / "bin")
        self.environment = {
            "HOME": str(self.home),
            "PATH": os.pathsep.join([*map(str, bins), os.environ["PATH"]]),
            "VIRTUAL_ENV": str(machine / "env"),  # as after `source env/bin/activate`
            "LANG": "C.UTF-8",
            **{name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_INDEX", "SSL_"))},
        }

    def types(self, command: str, *, path: str = "") -> Step:
        """Raises SystemExit where the command fails. `path`: in front of what it finds."""
        environment = {**self.environment, "PATH": path + self.environment["PATH"]}
        began = time.monotonic()
        done = subprocess.run(
            ["bash", "-c", command.replace("CHECKOUT", str(ROOT))],
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        step = Step(command, time.monotonic() - began, done.stdout)
        print(f"{step.seconds:6.1f} s  {command}", flush=True)
        if done.returncode:
            sys.exit(f"exit code {done.returncode}:\n{done.stdout}")
        return step


def said(*command: object) -> str:
    return subprocess.run([*map(str, command)], check=True, capture_output=True, text=True).stdout.strip()


def first_minutes(torch: Path, how: str, gpu: bool) -> tuple[list[Step], list[str]]:
    """The steps, and the lines of the repro. Raises SystemExit where a step does not leave what it should."""
    arch = "" if gpu else " --arch sm_90"
    with tempfile.TemporaryDirectory(prefix="stranger-") as machine:
        stranger = Stranger(Path(machine), torch)
        nothing = subprocess.run(
            [Path(machine, "env", "bin", "python"), "-c", "import shrinkray_gpu"], capture_output=True, cwd=machine
        )
        if not nothing.returncode or shutil.which("shrink", path=stranger.environment["PATH"]):
            sys.exit("this machine has the tool already: take an interpreter without it, and a PATH without it")
        steps = [stranger.types(INSTALL[how])]
        steps.append(stranger.types(REDUCE + arch))
        repro, folder = stranger.folder / "repro_my_kernel.py", stranger.folder / "my_kernel.shrink"
        issue, page = (folder / "ISSUE.md").read_text(), (folder / "report.html").read_text()
        text = repro.read_text()
        if text not in issue or "<h1>" not in page or "kernel[" not in text:
            sys.exit("the reduction left no repro with its report")
        steps.append(stranger.types(EXPLAIN + arch))
        if "verdict" not in steps[-1].printed:
            sys.exit(f"explain says no verdict:\n{steps[-1].printed}")
        steps += [stranger.types(KEEP), stranger.types(REPLAY + arch)]
        if "my_kernel" not in steps[-1].printed:
            sys.exit(f"the case was not replayed:\n{steps[-1].printed}")
        return steps, text.splitlines()


def page_of(steps: list[Step], repro: list[str], where: str) -> str:
    rows = "\n".join(f"| `{step.command.replace('CHECKOUT', '.')}` | {step.seconds:.0f} s |" for step in steps)
    screens = "\n".join(
        f"## {title}\n\n```\n$ {step.command}\n{tail(step.printed)}\n```\n"
        for title, step in zip(("Reduce", "Explain", "Keep", "Replay"), steps[1:])
    )
    total = sum(step.seconds for step in steps)
    return f"""# The first minutes

This page shows what a new user sees. `python -m benchmarks.first_minutes` begins with an empty home directory, an empty
folder, and an interpreter that has torch and Triton but nothing of ours. It installs the tool and runs the commands of
the README's three steps. It fails if a step leaves less than the README promises.

{where}

| command | time |
| --- | --- |
{rows}
| total | {total:.0f} s |

The reduction left `repro_my_kernel.py` with {len(repro)} lines, ISSUE.md and report.html. These are the last lines that
each command printed.

{screens}"""


def tail(printed: str) -> str:
    """The last lines, without the temporary folder's name."""
    plain = re.sub(r"[^\s'\"]*/stranger-\w+/(work/)?", "", re.sub(r"\x1b\[[0-9;]*m", "", printed))
    return "\n".join(line.rstrip() for line in plain.strip().splitlines()[-SHOWN:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--torch", type=Path, required=True, help="an interpreter that has torch and Triton")
    parser.add_argument("--with", dest="how", choices=tuple(INSTALL), default="pip")
    parser.add_argument("--gpu", action="store_true", help="on this machine's GPU, without --arch")
    parser.add_argument("--no-page", action="store_true", help="time it, and write nothing")
    given = parser.parse_args()
    steps, repro = first_minutes(given.torch.absolute(), given.how, given.gpu)
    names = "'torch', torch.__version__, 'and Triton', triton.__version__"
    about = said(given.torch, "-c", f"import torch, triton; print({names})")
    cores = len(os.sched_getaffinity(0))
    load = os.getloadavg()[1]
    where = f"Measured on {cores} cores, {'on the GPU' if given.gpu else 'without a GPU'}, with {about}. "
    where += f"The load average over five minutes was {load:.1f}."
    print(where)
    if given.no_page:
        return
    PAGE.write_text(page_of(steps, repro, where))
    rows = [{**asdict(step), "printed": tail(step.printed)} for step in steps]
    record = {"where": where, "install": given.how, "steps": rows, "repro": repro}
    RESULT.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
