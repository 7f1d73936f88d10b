"""What the guards cost: one reduction with them and one without, on this machine, in this order, nothing beside them.

    python benchmarks/guards.py corpus/tma_misaligned/failing.py --oracle "misaligned address"
    python benchmarks/guards.py FILE --oracle SPEC --arch sm_90          no GPU

Guards are controls and fingerprints (`control` and `fingerprint` among the tries). Their share is of the tries of the
guarded reduction; both reductions start in a folder of their own, with empty caches.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from shrinkray_gpu.job.reduce import reduce  # noqa: E402
from shrinkray_gpu.options import Options  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--oracle", action="append", required=True)
    parser.add_argument("--arch", help="sm_90: on the virtual GPU")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--json", type=Path, help="write the figures there too")
    given = parser.parse_args()
    arch = int(given.arch.removeprefix("sm_")) if given.arch else None
    figures: dict[str, Any] = {}
    for name, guards in (("guarded", True), ("unguarded", False)):
        with tempfile.TemporaryDirectory() as folder:
            options = Options(
                oracle=tuple(given.oracle),
                arch=arch,
                jobs=given.jobs,
                guards=guards,
                output=Path(folder, "repro.py"),
                report=False,
            )
            result = reduce(given.file, options, say=lambda text: print("   ", text))
        figures[name] = {
            "tries": dict(result.tries),
            "seconds": {key: round(value, 1) for key, value in result.seconds.items()},
            "lines": result.after[0],
            "tokens": result.after[1],
            "text": result.text,
            "slips": result.slips,
        }
        print(name, json.dumps({key: value for key, value in figures[name].items() if key != "text"}))
    tries = figures["guarded"]["tries"]
    guard_tries = tries.get("control", 0) + tries.get("fingerprint", 0)
    figures["guard tries, share of the others"] = round(guard_tries / (sum(tries.values()) - guard_tries), 3)
    figures["search seconds, guarded against unguarded"] = round(
        figures["guarded"]["seconds"]["search"] / figures["unguarded"]["seconds"]["search"], 2
    )
    figures["same result"] = figures["guarded"]["text"] == figures["unguarded"]["text"]
    print(json.dumps({key: value for key, value in figures.items() if not isinstance(value, dict)}, indent=1))
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
