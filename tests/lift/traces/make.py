"""Writes the traces anew, on the virtual GPU: `python -m tests.lift.traces.make PYTHON`, where PYTHON has torch, Triton
and tritonparse (0.6.0 wrote those that are stored)."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script

HERE = Path(__file__).parent
PARSE = "import sys; from tritonparse.parse.utils import unified_parse; unified_parse(sys.argv[1], out=sys.argv[2])\n"


def main(python: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _run(python, folder, "functions", {})
        [plain] = folder.glob("functions/*.ndjson")
        (HERE / "functions.ndjson.gz").write_bytes(gzip.compress(plain.read_bytes(), mtime=0))
        _run(python, folder, "full", {"TRITON_TRACE_COMPRESSION": "gzip"})
        [full] = folder.glob("full/*.bin.ndjson")
        (HERE / "full.bin.ndjson").write_bytes(full.read_bytes())
        subprocess.run([python, "-c", PARSE, str(folder / "functions"), str(folder / "parsed")], check=True)
        [parsed] = folder.glob("parsed/*.ndjson.gz")
        (HERE / "mapped.ndjson.gz").write_bytes(gzip.compress(gzip.decompress(parsed.read_bytes()), mtime=0))


def _run(python: str, folder: Path, how: str, more: dict[str, str]) -> None:
    script = folder / "program.py"
    script.write_text((HERE / "program.py").read_text())
    setup = Setup(
        python=python,
        environment={**os.environ, **more, "TRITON_CACHE_DIR": str(folder / "triton")},
        imports=("torch", "triton"),
        own=(str(folder),),
        scratch=str(folder),
        arch=90,
    )
    argv = (str(folder / how), how)
    pool = Pool(Script(script, argv, folder, asserts=False), setup, mode="virtual", jobs=1, seconds=120)
    run = pool.run(script.read_text())
    pool.close()
    assert run.driver_error == 716, run.stderr or run.trouble


if __name__ == "__main__":
    main(sys.argv[1])
