"""Where a verdict stops at the compiler: programs without some pass, with other Tritons, their PTX in other ptxas."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from pathlib import Path

import pytest

from shrinkray_gpu.corpus import environments
from shrinkray_gpu.device import toolkit
from shrinkray_gpu.evidence.evidence import Evidence
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.oracle.statistics import Rate, by_chance
from shrinkray_gpu.questions.blame import narrowing
from shrinkray_gpu.questions.blame.blame import Blame, unknown
from shrinkray_gpu.questions.blame.experiments import CompilerExperiment, Laboratory, Tried, clean_runs_needed
from shrinkray_gpu.questions.blame.narrowing import narrowed
from shrinkray_gpu.questions.blame.of_compiler import BY_FRONT_END, BY_LIBRARY, BY_PTXAS, OWN_EXCEPTION
from shrinkray_gpu.questions.blame.trials import BlameTrials
from shrinkray_gpu.questions.explanation import explain
from shrinkray_gpu.runner.knob_settings import parse_setting
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.private_setup import private_setup
from shrinkray_gpu.runner.run import Compilation, Run
from tests.chance import EVEN
from tests.versions import environments as others

ROOT = Path(__file__).parents[3]
HEAD = "import torch, triton, triton.language as tl\n"
SWAP = """@triton.jit
def swap(x):
    tl.atomic_cas(x, 0, 1)
swap[(1,)](torch.zeros(1, device="cuda", dtype=torch.int32))
torch.cuda.synchronize()
"""
FEW_REGISTERS = """@triton.jit
def dot(x, y, B: tl.constexpr):
    at = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    tl.store(y + at, tl.dot(tl.load(x + at), tl.load(x + at)))
x, y = (torch.zeros(64, 64, device="cuda", dtype=each) for each in (torch.float16, torch.float32))
dot[(1,)](x, y, B=64, maxnreg=24)
torch.cuda.synchronize()
"""
ON_TURING = """@triton.jit
def narrow(x, y):
    at = tl.arange(0, 64)
    tl.store(y + at, tl.load(x + at).to(tl.bfloat16).to(tl.float8e5))
narrow[(1,)](torch.zeros(64, device="cuda"), torch.zeros(64, device="cuda", dtype=torch.float8_e5m2))
torch.cuda.synchronize()
"""
BROKEN = """#!/bin/sh
# A ptxas that refuses one kernel, of such a level of optimisation: `{refused}` are the words for which it does.
case " $* " in {spared}) exec {ptxas} "$@" ;; esac
for each; do
    case $each in *.ptx) if grep -q "entry swap" "$each"; then
        echo "ptxas $each, line 7; error   : {words}" >&2; exit 255
    fi ;; esac
done
exec {ptxas} "$@"
"""


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which experiments there is time for is no question of how busy this machine is."""
    monkeypatch.setattr(narrowing, "SECONDS", 280.0)
    monkeypatch.setattr(narrowing, "RELEASE_SECONDS", 280.0)


def changes(tried: Tried, outcome: str) -> set[str]:
    return {each.change for each in tried.experiments if each.outcome == outcome}


@pytest.mark.usefixtures("unhurried")
def test_the_passes_without_which_no_copy_is_misplaced_are_evidence_and_no_class() -> None:
    others.ptxas("13.0")
    told = explain(ROOT / "corpus/tma_misaligned/repro_tma_misaligned.py", arch=90, ptxas=["13.0"]).blame
    assert told.whose == "compiler or below" and "without add_" in told.why, told.why
    assert "is the compiler's choice" in told.why and any("--triton" in each for each in told.next)
    asked = [each for each in told.tried.experiments if each.kind == "ptxas"]
    assert [each.outcome for each in asked] == ["accepts"] * 3 and "ptxas 13.0 (13.0." in asked[2].change
    assert {"num_stages=1", "without add_pipeline", "without add_schedule_loops"} <= changes(told.tried, "gone")
    assert "without add_prefetch" in changes(told.tried, "stays")
    tried = [each for each in told.tried.experiments if each.outcome == "gone"]
    error = by_chance(Rate(0, tried[0].runs), told.tried.unaltered)
    assert all(each.shown == 0 for each in tried) and error * len(told.tried.experiments) <= 0.05
    shown = told.to_json()["tried"]
    assert shown["unaltered"]["sightings"] >= 5 and {
        "kind",
        "change",
        "outcome",
        "why",
        "shown",
        "runs",
        "line",
    } == set(shown["experiments"][0])


@pytest.mark.usefixtures("unhurried")
def test_what_a_later_triton_takes_without_its_own_exception_was_the_front_end_s() -> None:
    others.python("3.9.0")
    told = explain(ROOT / "corpus/topk_one/repro_topk_one.py", arch=90, tritons=["3.9.0"]).blame
    assert told.whose == "front end" and told.why.endswith("Fixed in triton 3.9.0"), told.why
    assert changes(told.tried, "gone") == {"triton 3.9.0"} and not any("--triton" in each for each in told.next)


@pytest.mark.usefixtures("unhurried")
def test_what_a_later_triton_accepts_may_have_been_right_or_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    older, later = others.python("3.6.0"), others.python("3.9.0")
    monkeypatch.setattr(environments, "with_triton", lambda version, **given: later)
    path = ROOT / "corpus/constexpr_return/repro_constexpr_return.py"
    assert explain(path, arch=90, python=older).blame.whose == "kernel source"
    told = explain(path, arch=90, python=older, tritons=["3.9.0"]).blame
    assert told.whose == "not known" and "may just accept more" in told.why and "Fixed" not in told.why, told.why


@pytest.mark.parametrize(
    ("spared", "words", "whose"),
    [
        ('*" -O0 "* | *opt-level*', "Cannot schedule block 7", "ptxas"),
        ('"none"', "Unexpected instruction types", "compiler or below"),
    ],
)
def test_a_ptxas_that_refuses_what_triton_made(tmp_path: Path, spared: str, words: str, whose: str) -> None:
    real = toolkit.find("ptxas", sys.executable, {})
    broken = tmp_path / "ptxas"
    broken.write_text(BROKEN.format(spared=spared, ptxas=real, words=words, refused="entry swap"))
    broken.chmod(0o755)
    program = tmp_path / "program.py"
    program.write_text(HEAD + SWAP)
    told = explain(program, arch=90, environment={"TRITON_PTXAS_PATH": str(broken)}).blame
    assert told.whose == whose and told.place == "program.py:5", told
    first, second = (each for each in told.tried.experiments if each.kind == "ptxas")
    assert first.outcome == "refuses" and second.outcome == ("accepts" if whose == "ptxas" else "refuses")
    assert ("is taken by ptxas at hand at -O0" in told.why) == (whose == "ptxas")


def test_version_and_target_of_ptx_are_no_kernel_s(tmp_path: Path) -> None:
    broken, words = tmp_path / "ptxas", "Unsupported .version 9.9; current version is '8.5'"
    real = toolkit.find("ptxas", sys.executable, {})
    broken.write_text(BROKEN.format(spared='"none"', ptxas=real, words=words, refused="entry swap"))
    broken.chmod(0o755)
    program = tmp_path / "program.py"
    program.write_text(HEAD + SWAP)
    told = explain(program, arch=90, environment={"TRITON_PTXAS_PATH": str(broken)}).blame
    assert told.whose == "compiler or below" and "Triton's choice" in told.why, told


def test_an_instruction_that_the_target_lacks_was_written_by_a_pass(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(HEAD + ON_TURING)
    told = explain(program, arch=75, python=others.python("3.9.0")).blame
    assert (told.whose, told.named) == ("compiler pass", "ConvertTritonGPUToLLVM"), told
    assert "this pass wrote min.f16x2" in told.by and "requires .target sm_80" in told.why, told


def test_too_few_registers_may_be_what_the_launch_asks_for(tmp_path: Path) -> None:
    others.ptxas("13.0")
    program = tmp_path / "program.py"
    program.write_text(HEAD + FEW_REGISTERS)
    told = explain(program, arch=90, ptxas=["13.0"]).blame
    assert told.whose == "not known" and "Insufficient registers" in told.why
    assert "refused in the same words by ptxas 13.0 (13.0." in told.why, told.why
    assert any("--triton" in each for each in told.next) and not any("--ptxas" in each for each in told.next)


def test_a_fault_that_comes_and_goes_is_told_as_gone_after_enough_runs(tmp_path: Path, draws: Path) -> None:
    text = (ROOT / "corpus/flatten_hoisted_loop/repro_flatten_hoisted_loop.py").read_text()
    assert text.count("flatten=True") == 1
    text = EVEN.format(draws=str(draws)) + text.replace("flatten=True", "flatten=FLAT").replace(
        "import triton.language as tl\n", "import triton.language as tl\nFLAT = tl.constexpr(LUCK < 0.5)\n", 1
    )
    path = tmp_path / "program.py"
    setup = private_setup(
        tmp_path, dict(os.environ), python=sys.executable, imports=(), own=(), arch=90, writable=[draws]
    )
    with closing(Pool(Script(path), setup, mode="virtual", jobs=1, seconds=60)) as pool:
        seen = next(run for run in (pool.run(text) for _ in range(7)) if Fault.of(run))
        laboratory = Laboratory(pool, text, seen)
        unaltered, _ = laboratory.unaltered(60)
        assert unaltered.sightings == 5 and unaltered.runs >= 8
        ways = [("pass", parse_setting(f"skip={name}")) for name in ("add_fuse_nested_loops", "add_prefetch")]
        ended, other = laboratory.try_all(ways, unaltered, seconds=60)
    assert ended.outcome == "gone" and ended.runs == clean_runs_needed(unaltered, 2) > 5
    assert other.outcome == "stays" and other.shown == 1


@pytest.mark.parametrize(
    ("shown", "runs", "changes", "needed"), [(5, 5, 1, 2), (5, 5, 30, 7), (5, 10, 1, 7), (1, 30, 1, 0), (0, 9, 1, 0)]
)
def test_how_many_clean_runs_it_takes(shown: int, runs: int, changes: int, needed: int) -> None:
    assert clean_runs_needed(Rate(shown, runs), changes) == needed


DIES = Run("virtual", None, signal=11, virtual=True, compiles=(Compilation("k", ""),))
GONE = {
    "pass": CompilerExperiment("pass", "without add_pipeline", "gone", "", 0, 7),
    "knob": CompilerExperiment("knob", "ptxas=-O0", "gone", "", 0, 7),
    "later": CompilerExperiment("triton", "triton 3.9.0", "gone", "", 0, 2),
    "earlier": CompilerExperiment("triton", "triton 3.6.0", "gone", "", 0, 2),
}


@pytest.mark.parametrize(
    ("told", "gone", "in_llvm", "ttir", "whose", "words"),
    [
        (unknown("it dies"), ["pass"], False, "", "compiler pass", "With any one of these"),
        (unknown("it dies"), ["pass"], True, "", "compiler or below", "With any one of these"),
        (unknown("it dies"), ["knob"], False, "", "compiler or below", "ptxas=-O0"),
        (unknown("it dies"), ["later"], False, "", "compiler or below", "Fixed in triton 3.9.0"),
        (unknown("it dies"), ["later"], False, "tt.elementwise_inline_asm", "not known", "may just accept more"),
        (unknown("it dies"), [], False, "", "not known", "it dies"),
        (Blame("not known", "own", OWN_EXCEPTION), ["earlier"], False, "", "not known", "Not in triton 3.6.0"),
        (Blame("host program", "a size", BY_FRONT_END), ["earlier"], False, "", "not known", "or this front end is"),
        (
            Blame("kernel source", "no", BY_FRONT_END),
            ["earlier", "later"],
            False,
            "",
            "front end",
            "Fixed in triton 3.9",
        ),
        (Blame("kernel source", "no", BY_LIBRARY), ["later"], False, "", "front end", "Fixed in triton 3.9.0"),
        (Blame("not known", "no", BY_LIBRARY), ["earlier"], False, "", "not known", "Not in triton 3.6.0"),
        (Blame("kernel source", "it wraps", "Triton's IR"), ["later"], False, "", "kernel source", "accept more"),
    ],
)
def test_how_far_experiments_narrow_a_death(
    told: Blame, gone: list[str], in_llvm: bool, ttir: str, whose: str, words: str
) -> None:
    setup = Setup("python", {}, (), (), "/nowhere", arch=90)
    trials = BlameTrials("", Script(Path("/nowhere/program.py")), setup, 1.0, DIES)
    trials.__dict__.update(dumped={"ttir": ttir}, compiles_to_llvm=in_llvm)
    seen = Evidence("program.py", Fault("compile", "SIGSEGV"), "", run=DIES, versions={"triton": "3.7.1"})
    found = narrowed(told, seen, trials, Tried(Rate(5, 5), tuple(GONE[each] for each in gone)))
    assert found.whose == whose and words in found.why, found
    assert found.named == ("add_pipeline" if whose == "compiler pass" else "")


CHOSEN = "\t// begin inline asm\n\tld.a.b %r1;\n\t// end inline asm\n\tmin.bf16 %r1, %r2;\n"
WRITTEN = "\t// begin inline asm\n\t@%p1 min.bf16 %r1, %r2;\n\t// end inline asm\n"
FORBIDDEN = "Feature '.bf16' requires .target sm_80 or higher"
BEGUN = [("Canonicalizer", "tt.min"), ("ToLLVM", "tt.min"), ("CSE", 'inline_asm "@$4 min.bf16 $0, $1;"')]


@pytest.mark.parametrize(
    ("ptx", "line", "words", "other", "begun", "whose"),
    [
        (WRITTEN, 2, FORBIDDEN, "refuses", BEGUN, "compiler pass"),
        (CHOSEN, 4, FORBIDDEN, "refuses", BEGUN, "compiler or below"),
        (WRITTEN, 2, "Modifier '.cg' cannot be combined", "refuses", BEGUN, "compiler or below"),
        (WRITTEN, 2, FORBIDDEN, "accepts", BEGUN, "compiler or below"),
        (WRITTEN, 2, FORBIDDEN, "refuses", BEGUN[2:], "compiler or below"),
        (WRITTEN, 2, FORBIDDEN, "refuses", [("ToLLVM", "[9 bytes left out]"), BEGUN[2]], "compiler or below"),
    ],
)
def test_whose_ptx_is_that_the_target_forbids(
    ptx: str, line: int, words: str, other: str, begun: list[tuple[str, str]], whose: str
) -> None:
    setup = Setup("python", {}, (), (), "/nowhere", arch=75)
    trials = BlameTrials("", Script(Path("/nowhere/program.py")), setup, 1.0, DIES)
    trials.__dict__.update(dumped={"ttir": "tt.func", "ptx": ptx}, _begun=begun)
    seen = Evidence("program.py", Fault("compile", "PTXASError"), "", run=DIES, versions={"triton": "3.7.1"})
    asked = [
        CompilerExperiment("ptxas", "ptxas at hand (12.4.99)", "refuses", words, line=line),
        CompilerExperiment("ptxas", "ptxas 13.0 (13.0.48)", other, "in the same words", line=line),
    ]
    told = Blame("not known", "ptxas refuses what it is given", BY_PTXAS)
    found = narrowed(told, seen, trials, Tried(Rate(5, 5), tuple(asked)))
    assert (found.whose, found.named) == (whose, "ToLLVM" if whose == "compiler pass" else ""), found
