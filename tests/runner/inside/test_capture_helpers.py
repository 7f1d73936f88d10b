"""Inductor's private helpers stand alone once copied: each of them, with all that it calls and reads."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

COPY = """
import json, sys
from torch._inductor.runtime import triton_helpers
from shrinkray_gpu.runner.inside.capture.kernelsource import Sources
from shrinkray_gpu.runner.inside.capture.live_values import is_jit

def copied(value):
    sources = Sources()
    sources.function(value)
    order = ["import", "constant", "function"]
    definitions = sorted(sources.definitions, key=lambda definition: order.index(definition["kind"]))
    return "".join(definition["text"] for definition in definitions)

helpers = {name: value for name, value in vars(triton_helpers).items() if is_jit(value)}
print(json.dumps({name: copied(value) for name, value in helpers.items()}))
"""
MAKE = """
import importlib, pathlib, sys, triton
sys.path.insert(0, ".")
for file in sorted(pathlib.Path(".").glob("helper_*.py")):
    made = getattr(importlib.import_module(file.stem), file.stem[len("helper_"):])
    made.cache_key  # Triton resolves every name that the kernel reads
print(sorted(name for name in sys.modules if name.startswith("torch._inductor")))
"""


def test_a_helper_needs_nothing_of_inductor(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    # In processes of their own: Inductor writes to the environment of the one that imports it.
    environment = {**os.environ, "PYTHONPATH": os.getcwd(), "TORCHINDUCTOR_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", COPY], capture_output=True, text=True, env=environment)
    texts = json.loads(done.stdout or done.stderr)
    assert {"maximum", "promote_to_tensor", "welford", "any", "max2"} <= set(texts)
    for name, text in texts.items():
        assert not re.search(r"inductor|triton_helpers|triton_compat", text)
        head = "import torch\nimport triton\nimport triton.language as tl\n"
        (tmp_path / f"helper_{name}.py").write_text(head + text)
    done = subprocess.run([sys.executable, "-c", MAKE], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.strip() == "[]", done.stderr
