"""Jobs on a machine with several GPUs: each gets one GPU and its share of the cores, the next begins where one is free.

    python3 tests/gpu/beside.py PLAN --out FOLDER --until 1400

PLAN has a line for each job, in the order of their importance: a name, the seconds after which it is ended, a command
for bash. What would not end before --until is passed over. Lines may be added while others are at work: it stays until
then, so that it can be started as a daemon and looked at by short commands (a lent machine runs none for long). In
FOLDER are each job's output, its own folder ($OUT), and `log`: what began and ended when, on which GPU.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

MARK = "BESIDE_JOB"
"""In the environment of all that a job starts, by which it is found again: lanes are in sessions of their own."""


class Jobs:
    """The lines of the plan, taken one after another by whoever is free."""

    def __init__(self, plan: Path, out: Path, until: float) -> None:
        self.plan, self.out, self.began, self.until = plan, out, time.monotonic(), until
        self.taken = 0
        self.lock = threading.Lock()

    def next(self) -> tuple[str, float, str] | None:
        """Name, seconds, command; None if there is none at present."""
        with self.lock:
            lines = [line for line in self.plan.read_text().splitlines() if line.strip() and line[0] != "#"]
            while self.taken < len(lines):
                name, seconds, command = lines[self.taken].split(maxsplit=2)
                self.taken += 1
                if self.at() + float(seconds) <= self.until:
                    return name, float(seconds), command
                self.say(f"{name} would not end in time")
            return None

    def at(self) -> float:
        return time.monotonic() - self.began

    def say(self, text: str) -> None:
        with (self.out / "log").open("a") as log:
            print(f"{self.at():6.0f} s  {text}", file=log)


def serve(jobs: Jobs, gpu: int, cores: list[int]) -> None:
    """One GPU's jobs, until the time is over."""
    temporary = Path(f"/tmp/gpu{gpu}")  # short: compute-sanitizer's sockets are in there
    temporary.mkdir(exist_ok=True)
    while jobs.at() < jobs.until:
        job = jobs.next()
        if job is None:
            time.sleep(1)
            continue
        name, seconds, command = job
        own = jobs.out / name
        own.mkdir(exist_ok=True)
        given = {MARK: name, "CUDA_VISIBLE_DEVICES": str(gpu), "OUT": str(own), "TMPDIR": str(temporary)}
        jobs.say(f"{name} began on GPU {gpu}")
        with (jobs.out / f"{name}.txt").open("w") as said:
            process = subprocess.Popen(
                ["bash", "-c", command], stdout=said, stderr=said, stdin=subprocess.DEVNULL,
                env={**os.environ, **given}, preexec_fn=lambda: os.sched_setaffinity(0, cores),
            )  # fmt: skip
            try:
                ended = str(process.wait(seconds))
            except subprocess.TimeoutExpired:
                ended = "its time was over"
            end(name)
            process.wait()
        jobs.say(f"{name} ended: {ended}")


def end(name: str) -> None:
    """End all that the job left."""
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdecimal() and f"{MARK}={name}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                os.kill(int(folder.name), signal.SIGKILL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("plan", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--until", type=float, required=True, help="seconds")
    parser.add_argument("--gpus", type=int, help="default: as many as nvidia-smi lists")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    count = given.gpus or subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True).stdout.count("GPU ")
    if not count:
        sys.exit("nvidia-smi lists no GPU: run this where there is one, or give --gpus")
    cores = sorted(os.sched_getaffinity(0))
    share = len(cores) // count
    jobs = Jobs(given.plan, given.out.absolute(), given.until)
    slots = [
        threading.Thread(target=serve, args=(jobs, gpu, cores[gpu * share : (gpu + 1) * share])) for gpu in range(count)
    ]
    for slot in slots:
        slot.start()
    for slot in slots:
        slot.join()


if __name__ == "__main__":
    main()
