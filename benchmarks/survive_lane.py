"""The lane of `survive.py`: faulting launches, each in a forked child (`fresh`) or all in this process (`survived`).

    python survive_lane.py fresh|survived|fresh_crowd|survived_crowd TRIES OUT.json SECONDS

Under the sanitizer its log's name is in SURVIVE_LOG. OUT is written anew after each kind, so that a kill loses little.
In a crowd each try has a new kernel, and all lanes start together, when SURVIVE_CROWD of them have left their mark
beside OUT.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import triton
import triton.language as tl

WORDS = 1 << 16
FAR = 1 << 40
PATIENCE = 0.5
"""Seconds to wait for a record."""


@triton.jit(do_not_specialize=["by"])
def poke(x, by, VALUE: tl.constexpr):
    """Store at so many bytes behind x; another VALUE is another kernel."""
    tl.store((x.to(tl.int64) + by).to(tl.pointer_type(tl.int32)), VALUE)


KINDS: dict[str, Callable[[int], int]] = {
    "misaligned": lambda number: 2 + 4 * number,
    "illegal": lambda number: FAR + 4096 * number,
    "near": lambda number: 4 * WORDS + 4 * number,
}
"""Where the faulting launch of this number goes, in bytes behind the tensor's start."""


class Log:
    """What the sanitizer has written since it was asked last."""

    def __init__(self, path: str) -> None:
        self._path, self._at = Path(path), 0

    def more(self) -> str:
        if not self._path.exists():
            return ""
        with self._path.open(errors="replace") as log:
            log.seek(self._at)
            text = log.read()
            self._at = log.tell()
        return text

    def waited_for(self, word: str) -> float | None:
        """Seconds until the word was in the log; None if it did not come."""
        begun, text = time.monotonic(), ""
        while word not in (text := text + self.more()):
            if time.monotonic() - begun > PATIENCE:
                return None
            time.sleep(0.001)
        return time.monotonic() - begun


def launched(x: torch.Tensor, by: int, value: int) -> str:
    """The error that the host sees, if any."""
    try:
        poke[(1,)](x, by, value, num_warps=1)
        torch.cuda.synchronize()
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:200]
    return ""


def survived(tries: int, until: float, save: Callable[[dict[str, Any]], None]) -> None:
    log = Log(os.environ["SURVIVE_LOG"])
    x = torch.zeros(WORDS, dtype=torch.int32, device="cuda")
    told: dict[str, Any] = {"kinds": {}, "first launch": launched(x, 0, 1), "memory before": _memory()}
    for name in ("misaligned", "illegal", "misaligned, new kernel", "illegal, new kernel", "near"):
        where, new = KINDS[name.partition(",")[0]], name.endswith("new kernel")
        kind: dict[str, Any] = {"seconds": [], "record after": [], "clean seconds": [], "wrong": 0, "false records": 0}
        kind["errors"] = []
        told["kinds"][name] = kind
        for number in range(tries):
            if time.monotonic() > until:
                break
            value = (len(told["kinds"]) << 16) + number if new else 7
            log.more()
            begun = time.monotonic()
            error = launched(x, where(number), value)
            kind["seconds"].append(time.monotonic() - begun)
            kind["record after"].append(log.waited_for(f"{x.data_ptr() + where(number):x}"))
            kind["errors"] += [error] if error else []
            begun = time.monotonic()
            error = launched(x, 4 * number, 9)
            kind["clean seconds"].append(time.monotonic() - begun)
            kind["errors"] += [error] if error else []
            time.sleep(0.02)  # for a record that should not come
            kind["false records"] += "Invalid" in log.more()
            kind["wrong"] += not error and int(x[number]) != 9
            x.zero_()
        save(told)
    told["memory after"] = _memory()
    told["context at the end"] = launched(x, 0, 3) or "no error"
    save(told)


def fresh(tries: int, until: float, save: Callable[[dict[str, Any]], None]) -> None:
    """Without CUDA in this process: each child makes its context, and the first one compiles for all."""
    told: dict[str, Any] = {"kinds": {}}
    for name in ("clean", "misaligned", "illegal"):
        seconds: list[float] = []
        ended: list[int] = []
        told["kinds"][name] = {"seconds": seconds, "ended": ended}
        for number in range(min(tries, 8) + 1):
            if time.monotonic() > until:
                break
            begun = time.monotonic()
            child = os.fork()
            if not child:
                x = torch.zeros(WORDS, dtype=torch.int32, device="cuda")
                os._exit(bool(launched(x, KINDS[name](number) if name in KINDS else 0, 7)))
            status = os.waitpid(child, 0)[1]
            if number:  # the first of a kind may compile
                seconds.append(time.monotonic() - begun)
                ended.append(os.waitstatus_to_exitcode(status))
        save(told)


def survived_crowd(tries: int, until: float, save: Callable[[dict[str, Any]], None]) -> None:
    log = Log(os.environ["SURVIVE_LOG"])
    x = torch.zeros(WORDS, dtype=torch.int32, device="cuda")
    launched(x, 0, 1)

    def one(value: int) -> str:
        where = KINDS["illegal"](value)
        log.more()
        error = launched(x, where, value)
        return error or ("" if log.waited_for(f"{x.data_ptr() + where:x}") is not None else "no record")

    _crowd(tries, until, save, one)


def fresh_crowd(tries: int, until: float, save: Callable[[dict[str, Any]], None]) -> None:
    def one(value: int) -> str:
        child = os.fork()
        if not child:
            x = torch.zeros(WORDS, dtype=torch.int32, device="cuda")
            os._exit(bool(launched(x, KINDS["illegal"](value), value)))
        return "" if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1 else "no error"

    _crowd(tries, until, save, one)


def _crowd(tries: int, until: float, save: Callable[[dict[str, Any]], None], one: Callable[[int], str]) -> None:
    out = Path(sys.argv[3])
    out.with_suffix(".ready").touch()
    while len(list(out.parent.glob("*.ready"))) < int(os.environ["SURVIVE_CROWD"]) and time.monotonic() < until:
        time.sleep(0.01)
    first = os.getpid() << 12  # no two lanes have a kernel in common, nor a cache to find it in
    begun = time.monotonic()
    wrong: list[str] = []
    done = 0
    while done < tries and time.monotonic() < until:
        wrong += filter(None, [one((first + done) & 0x3FFFFFFF)])
        done += 1
    save({"begun": begun, "ended": time.monotonic(), "tries": done, "wrong": wrong})


def _memory() -> dict[str, int]:
    """MiB: free on the device, and of this process on the host."""
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return {"device free": torch.cuda.mem_get_info()[0] >> 20, "host": resident >> 20}


def main() -> None:
    how, tries, out, seconds = sys.argv[1:5]

    def save(told: dict[str, Any]) -> None:
        Path(out).write_text(json.dumps(told))

    ways = {"fresh": fresh, "survived": survived, "fresh_crowd": fresh_crowd, "survived_crowd": survived_crowd}
    ways[how](int(tries), float(os.environ["SURVIVE_BEGUN"]) + float(seconds), save)


if __name__ == "__main__":
    main()
