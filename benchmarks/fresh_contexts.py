"""Tries a second in lanes whose contexts are fresh, by how many go on at once: what more lanes bring there.

    python benchmarks/fresh_contexts.py FILE ... [--at-once 1 2 4 8] [--json results/fresh_contexts_h100.json]

Each FILE is a script that ends within seconds, such as a lifted one, and the same without its fault. None is reduced.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from shrinkray_gpu.job.asked import setup_of  # noqa: E402
from shrinkray_gpu.options import Options  # noqa: E402
from shrinkray_gpu.runner.pool import Pool, Script  # noqa: E402

FEWEST = 6
"""Tries for each number at once; four rounds of them, where that is more."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--at-once", nargs="+", type=int, default=[1, 2, 4, 8])
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    rows = []
    for path in given.files:
        for row in measured(path.absolute(), given.at_once):
            rows.append(row)
            print(json.dumps(row), flush=True)
    if given.json:
        given.json.write_text(json.dumps({"command": " ".join(["python", *sys.argv]), "rows": rows}, indent=1) + "\n")


def measured(path: Path, at_once: list[int]) -> list[dict[str, Any]]:
    text, rows = path.read_text(), []
    with tempfile.TemporaryDirectory(prefix="fresh-", ignore_cleanup_errors=True) as folder:
        setup = setup_of(path, Path(folder), Options(oracle=("any",)))
        Path(setup.scratch).mkdir(parents=True, exist_ok=True)
        pool = Pool(Script(path, cwd=path.parent), setup, mode="fork", jobs=max(at_once), seconds=60)
        try:
            pool.start(text)
            pool.run(text, fresh=True)
            for count in at_once:
                begun = time.monotonic()
                with ThreadPoolExecutor(count) as threads:
                    runs = list(threads.map(lambda _: pool.run(text, fresh=True), range(max(FEWEST, 4 * count))))
                each = sorted(run.seconds for run in runs)
                rows.append(
                    {
                        "file": path.name,
                        "at once": count,
                        "tries": len(runs),
                        "a second": round(len(runs) / (time.monotonic() - begun), 2),
                        "median, s": round(each[len(each) // 2], 2),
                        "slowest, s": round(each[-1], 2),
                        "driver errors": sum(run.driver_error > 0 for run in runs),
                    }
                )
        finally:
            pool.close()
    return rows


if __name__ == "__main__":
    main()
