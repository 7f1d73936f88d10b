"""What a peer is given of a seeded fault, and what its result is called, on the virtual GPU."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import peers
import pytest
import seeded_peers
from seeding import cases, packages, reducing, runs
from seeding.operators import by_name
from seeding.programs import Program

KERNEL = """\
import triton
import triton.language as tl

from {package}.block import SIZE

@triton.jit
def add(x, y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i) + 1)

def launch(x):
    useless = 1
    add[(1,)](x, x, BLOCK=SIZE)
"""
CALL = "import torch\n{imported}\nx = torch.zeros(16, device='cuda')\nlaunch(x)\n"
REPRO = KERNEL.replace("from {package}.block import SIZE\n", "") + CALL
SED = "#!/bin/bash\n# As C-Vise is called: options, the test, the file.\nsed -i /useless/d $7\nbash $6 $7\n"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A package whose kernel is one module away from what calls can import, and two."""
    folder = tmp_path_factory.mktemp("site")
    package = folder / "one"
    package.mkdir()
    for name in ("__init__", "block", "kernel", "near", "far"):
        (package / f"{name}.py").touch()
    (package / "block.py").write_text("SIZE = 16\n")
    (package / "kernel.py").write_text(KERNEL.format(package="one"))
    (package / "near.py").write_text("from one.kernel import launch\n")
    (package / "far.py").write_text("from one.near import launch\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packages, "SITE", folder)
        patch.setattr(packages, "BUILD", folder / "build")
        cases._texts.cache_clear()
        cases._source.cache_clear()
        yield folder
    cases._texts.cache_clear()
    cases._source.cache_clear()


@pytest.fixture(scope="module")
def ask(site: Path) -> Iterator[reducing.Ask]:
    with runs.lanes(runs.Machine(90), [site]) as pool:
        yield partial(reducing.outcome, pool)


def fault(module: str) -> cases.Planted:
    """An extent that is one too many, in the kernel that this module leads to."""
    program = Program("one", module, CALL.format(imported=f"from one.{module} import launch"))
    return next(cases.places(program, ["add"], [by_name("extent")]))


def verdict(text: str, ask: reducing.Ask, folder: Path) -> tuple[str, str]:
    planted = fault("near")
    told, besides = seeded_peers.judged(planted, seeded_peers.form_of(planted, folder, ask), text, ask, folder)
    return told.verdict, besides


@pytest.mark.parametrize("module", ["kernel", "near"])
def test_the_fault_is_pasted_into_the_call(module: str, ask: reducing.Ask, tmp_path: Path) -> None:
    form = seeded_peers.form_of(fault(module), tmp_path, ask)
    assert form.pasted and "tl.arange(0, BLOCK + 1)" in form.text
    assert seeded_peers.last_line(form, runs.Machine(90)) == "arange's range must be a power of 2"


def test_what_is_too_far_away_stays_in_the_package(ask: reducing.Ask, tmp_path: Path) -> None:
    form = seeded_peers.form_of(fault("far"), tmp_path, ask)
    assert not form.pasted and form.text == fault("far").program.text
    assert seeded_peers.last_line(form, runs.Machine(90)) == "arange's range must be a power of 2"


def test_a_program_without_the_fault_is_none_for_a_peer(site: Path) -> None:
    form = seeded_peers.Form(fault("near").program.text, False, seeded_peers._variables(site))
    with pytest.raises(SystemExit, match="shows no fault"):
        seeded_peers.last_line(form, runs.Machine(90))


def test_true_slipped_and_not_reduced(ask: reducing.Ask, tmp_path: Path) -> None:
    alone = REPRO.format(imported="").replace("=SIZE", "=16").replace("    useless = 1\n", "")
    assert verdict(alone.replace("BLOCK)", "BLOCK + 1)"), ask, tmp_path) == ("true", "true")
    assert verdict(alone.replace("BLOCK)", "7)"), ask, tmp_path) == ("slipped", "slipped")
    importing = alone.replace("BLOCK)", "BLOCK + 1)").replace("import torch\n", "import torch\nimport one\n")
    assert verdict(importing, ask, tmp_path) == ("not reduced", "true")
    whole = seeded_peers.form_of(fault("near"), tmp_path, ask).text
    assert verdict(whole, ask, tmp_path) == ("not reduced", "")


def test_a_peer_reduces_with_a_test_of_words(ask: reducing.Ask, tmp_path: Path) -> None:
    """A tool of one line stands for the peers, called as C-Vise is: it finds the package in its test's process."""
    tool = tmp_path / "sed.sh"
    tool.write_text(SED)
    tool.chmod(0o755)
    given = Namespace(timeout=120.0, lanes=1)
    told = seeded_peers._by_peer(peers.Tool("cvise", str(tool)), fault("near"), runs.Machine(90), ask, given)
    assert (told["tries"], told["lines"], told["pasted"]) == (1, told["before"] - 1, True)
    assert (told["verdict"], told["import let pass"]) == ("not reduced", "true")


def test_the_table_has_a_row_a_tool() -> None:
    figures = {"before": 100, "lines": 8, "seconds": 60.5}
    tools = {"ours": {"verdict": "true", **figures}, "cvise": {"verdict": "not reduced", **figures, "lines": 99}}
    told = seeded_peers.table({"faults": {"a": {"tools": tools}, "b": {"tools": {"ours": tools["ours"]}}}})
    assert "| ours | 2 | 2 | 0 | 0 | 0 | 0 | 2 | 2 | 100 | 8 | 60.5 |" in told
    assert "| cvise | 1 | 0 | 0 | 0 | 0 | 1 | 0 | 0 | 100 | 99 | 60.5 |" in told
