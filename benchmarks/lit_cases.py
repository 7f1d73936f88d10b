"""The IR cases of the corpus as tests of `lit`: each fails where its pass does, and passes where that is mended.

    pip install lit filecheck      # both are plain Python
    python benchmarks/lit_cases.py 3.6.0,3.7.1,3.9.0

`lit` reads the `RUN:` lines and `FileCheck` the labels, as in Triton's own tests. No wheel has `triton-opt`: what
stands in for it here runs the passes by the Python binding of a wheel and prints the module that they leave. So this
shows that a file is a test, and not that a build of `triton-opt` knows its passes by these names. Figures:
benchmarks/results/lit_cases.json.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from shrinkray_gpu.corpus import environments  # noqa: E402
from shrinkray_gpu.corpus.case import Case, cases  # noqa: E402
from shrinkray_gpu.corpus.expectation import expected_status  # noqa: E402
from shrinkray_gpu.intermediate.compiler import IrCompiler  # noqa: E402
from shrinkray_gpu.intermediate.ir_file import ir_in  # noqa: E402
from shrinkray_gpu.intermediate.pass_table import PassCall, read_run_line  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "lit_cases.json"
CONFIG = """\
import lit.formats
config.name, config.suffixes, config.test_format = "cases", [".mlir"], lit.formats.ShTest(False)
config.environment["PATH"] = {path!r}
"""


def opt(python: str, words: list[str]) -> int:
    """`triton-opt FILE -PASS ...` by the wheel of this interpreter."""
    (calls,) = read_run_line(shlex.join(["triton-opt", *words]))
    file = Path(words[0])
    with IrCompiler(python, os.environ, "") as compiler:
        steps = [compiler.table.step(call, "") for call in (*calls, PassCall("cse"))]
        trial = compiler.run(ir_in(file.read_text(), file).text, steps, snapshots=True)
    if trial.step < len(steps) - 1:
        print(trial.said or trial.raised, file=sys.stderr)
        return 1
    print(trial.before)
    return 0


def verdicts(chosen: list[Case], release: str) -> dict[str, str]:
    """What `lit` says of each case with this release: `PASS` or `FAIL`."""
    python = environments.with_triton(release, python=sys.executable)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tool = folder / "triton-opt"
        tool.write_text(f'#!/bin/sh\nexec {sys.executable} {__file__} --opt {python} "$@"\n')
        tool.chmod(0o755)
        (folder / "FileCheck").symlink_to(shutil.which("filecheck") or "filecheck")
        (folder / "lit.cfg").write_text(CONFIG.format(path=f"{folder}:{os.environ['PATH']}"))
        for case in chosen:
            shutil.copy(case.repro, folder / f"{case.name}.mlir")
        done = subprocess.run(["lit", "-j2", "-a", name], capture_output=True, text=True)
    lines = [line.split() for line in done.stdout.splitlines() if " :: " in line and line.startswith(("PASS", "FAIL"))]
    return {words[3].removesuffix(".mlir"): words[0].rstrip(":") for words in lines}


def main() -> None:
    if sys.argv[1] == "--opt":
        sys.exit(opt(sys.argv[2], sys.argv[3:]))
    chosen = [case for case in cases(ROOT / "corpus") if case.is_ir]
    rows: dict[str, dict[str, str]] = {case.name: {} for case in chosen}
    for release in sys.argv[1].split(","):
        said = verdicts(chosen, release)
        for case in chosen:
            expected = expected_status(case, release)
            rows[case.name][release] = f"{said.get(case.name, 'none')} ({expected.value if expected else 'not said'})"
    for name, row in rows.items():
        print(name.ljust(24), ", ".join(f"{release} {said}" for release, said in row.items()))
    about = "What lit says of each IR case, and what the case expects. By benchmarks/lit_cases.py."
    RESULTS.write_text(json.dumps({"about": about, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
