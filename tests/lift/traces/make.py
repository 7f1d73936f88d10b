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
from tests.lift.test_capture_inductor import HEAD, PLAIN, RUN

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
        _inductor(python, folder)
        [parsed] = folder.glob("parsed/*.ndjson.gz")
        (HERE / "mapped.ndjson.gz").write_bytes(gzip.compress(gzip.decompress(parsed.read_bytes()), mtime=0))


def _inductor(python: str, folder: Path) -> None:
    """What Inductor's autotuner compiles and launches: two trials, and the launch."""
    init = (
        f"import tritonparse.structured_logging as s\ns.init({str(folder / 'inductor')!r}, enable_trace_launch=True)\n"
    )
    pool, text = _lanes(python, folder, "inductor", {}, init + HEAD + PLAIN + RUN)
    run = pool.run(text)
    pool.close()
    assert run.failure is None, run.stderr or run.trouble
    [plain] = folder.glob("inductor/*.ndjson")
    (HERE / "inductor.ndjson.gz").write_bytes(gzip.compress(plain.read_bytes(), mtime=0))


def _run(python: str, folder: Path, how: str, more: dict[str, str]) -> None:
    pool, text = _lanes(python, folder, how, more, (HERE / "program.py").read_text())
    run = pool.run(text)
    pool.close()
    assert run.driver_error == 716, run.stderr or run.trouble


def _lanes(python: str, folder: Path, how: str, more: dict[str, str], text: str) -> tuple[Pool, str]:
    script = folder / "program.py"
    script.write_text(text)
    setup = Setup(
        python=python,
        environment={**os.environ, **more, "TRITON_CACHE_DIR": str(folder / "triton")},
        imports=("torch", "triton"),
        own=(str(folder),),
        scratch=str(folder),
        arch=90,
    )
    argv = (str(folder / how), how)
    return Pool(Script(script, argv, folder, asserts=False), setup, mode="virtual", jobs=1, seconds=120), text


if __name__ == "__main__":
    main(sys.argv[1])
