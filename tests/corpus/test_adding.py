"""What a reduction tells of itself becomes a `case.toml`. The replay that decides is tests/e2e/test_corpus_add.py's."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tomlkit

from shrinkray_gpu.command.driver import Command
from shrinkray_gpu.corpus import addition
from shrinkray_gpu.corpus.addition import CaseWords, add, document
from shrinkray_gpu.corpus.case import Case, load
from shrinkray_gpu.corpus.expectation import CaseOutcome, Status
from shrinkray_gpu.corpus.machine import ReplayEnvironment, lacking
from shrinkray_gpu.errors import NotReproduced, UsageError
from shrinkray_gpu.oracle import Fault
from shrinkray_gpu.result.command_script import command_fields
from tests.corpus.making import LOOKUP, outcome

DEVICE: dict[str, Any] = {
    "phase": "device", "klass": "misaligned address", "kernel": "jsd", "code": 716, "text": "",
    "instruction": "UTMALDG", "space": "shared", "size": 0, "access": "", "construct": "descriptor load", "child": "",
    "near": "copy",
}  # fmt: skip
H100 = {"gpu": "NVIDIA H100", "driver": "580.159.04", "triton": "3.6.0+git1", "torch": "2.11.0", "python": "3.12.3"}
CPU = {"triton": "3.7.1", "torch": "2.13.0", "python": "3.11.7"}


def told(**changes: Any) -> dict[str, Any]:
    usual = {
        "original": "/x/failing.py",
        "output": "/x/repro_failing.py",
        "spec": "misaligned address",
        "oracle": ["misaligned address"],
        "fingerprint": {"original": DEVICE, "repro": None},
        "versions": H100,
        "arch": None,
        "mode": "warm",
        "rates": {},
        "verified": 3,
        "final_runs": 3,
    }
    return {**usual, **changes}


def written(tmp_path: Path, text: str) -> Case:
    """The case that a `case.toml` with this text is."""
    folder = tmp_path / "some"
    folder.mkdir(exist_ok=True)
    (folder / "case.toml").write_text(text)
    (folder / "repro_some.py").write_text(LOOKUP)
    return load(folder)


def test_a_fault_of_a_gpu(tmp_path: Path) -> None:
    case = written(tmp_path, document(told()))
    assert case.title == "device fault: misaligned address (CUDA error 716) in kernel jsd at UTMALDG"
    assert (case.klass, case.mechanism) == ("misaligned address", "not known yet")
    # The kernel is renamed in a reduction, and the last launch is only told.
    assert case.fault == Fault(
        "device",
        "misaligned address",
        code=716,
        instruction="UTMALDG",
        space="shared",
        construct="descriptor load",
    )
    assert case.needs.gpu and not case.needs.architecture
    assert [(str(range_), what) for range_, what in case.expect] == [(">=3.6.0", "faults")]
    seen = dict(case.seen[0])
    assert len(seen.pop("date")) == 10 and seen == H100
    assert (case.runs, case.cold, case.argv, case.environment, case.reject) == (0, False, (), {}, ())


def test_on_the_virtual_gpu_it_needs_the_architecture_alone(tmp_path: Path) -> None:
    case = written(tmp_path, document(told(arch=90, versions=CPU, mode="virtual")))
    assert (case.needs.gpu, case.needs.architecture, case.seen[0]["arch"]) == (False, "sm_90", "sm_90")


def test_what_builds_extensions_needs_nvcc(tmp_path: Path) -> None:
    repro = tmp_path / "repro_failing.py"
    repro.write_text("from torch.utils.cpp_extension import load_inline\n")
    case = written(tmp_path, document(told(output=str(repro), arch=90, versions=CPU, mode="virtual")))
    assert (case.needs.tools, case.needs.gpu, case.needs.architecture) == (("nvcc",), False, "sm_90")


def test_a_compiler_s_fault_needs_no_gpu(tmp_path: Path) -> None:
    fault = {**DEVICE, "phase": "compile", "klass": "ConvertNVGPUToLLVM", "code": 0}
    case = written(tmp_path, document(told(fingerprint={"original": fault}, oracle=["compile:WGMMA"])))
    assert not case.needs.gpu


@pytest.mark.parametrize(
    ("oracle", "klass", "more"),
    [
        ("hang:3", "no end within the time limit", {}),
        ("nondeterministic", "", {}),
        ("device-side assert", "device-side assert triggered", {}),
        ("misaligned address", "misaligned address", {"rates": {"the original": "5 of 9"}, "verified": 10,
                                                      "final_runs": 20}),
    ],
)  # fmt: skip
def test_what_only_a_gpu_shows_is_kept_and_not_run_without_one(
    tmp_path: Path, oracle: str, klass: str, more: dict[str, Any]
) -> None:
    phase = "timeout" if oracle.startswith("hang") else "device"
    fault = {**dict.fromkeys(DEVICE, ""), "code": 0, "size": 0, "phase": phase, "klass": klass} if klass else None
    mechanism = "It is a long story. " * 20
    text = document(
        told(oracle=[oracle], spec=oracle, fingerprint={"original": fault}, **more),
        CaseWords(mechanism=mechanism, upstream=("https://x/1", "https://x/2")),
    )  # fmt: skip
    case = written(tmp_path, text)
    assert max(map(len, text.splitlines())) <= 120 and case.mechanism.split() == mechanism.split()
    assert (case.oracle, case.needs.gpu, case.runs) == ((oracle,), True, 10 if more else 0)
    assert case.expect[0][1] == ("flaky" if more else "faults")
    place = ReplayEnvironment("python", 90, False, {"triton": "3.6.0"})
    assert lacking(case, case.question(), place) == "it needs a real GPU, and --arch launches nothing"


def test_how_it_was_run_is_kept(tmp_path: Path) -> None:
    how = {"argv": ["--mode", "fast"], "environment": {"DEBUG": "1"}, "reject": ["exit:3"], "timeout": 7.5}
    case = written(tmp_path, document(told(**how, mode="cold")))
    assert (case.argv, case.environment, case.reject) == (("--mode", "fast"), {"DEBUG": "1"}, ("exit:3",))
    assert (case.timeout, case.cold) == (7.5, True)


def test_secrets_of_its_environment_are_not(tmp_path: Path) -> None:
    text = document(told(environment={"HF_TOKEN": "hf_Xy12", "DEBUG": "1"}))
    assert "hf_Xy12" not in text and written(tmp_path, text).environment == {"DEBUG": "1"}


@pytest.mark.parametrize(("shown", "runs"), [(20, 3), (18, 3), (10, 10), (3, 43), (1, 100), (0, 100)])
def test_a_flaky_one_is_run_as_often_as_it_takes(tmp_path: Path, shown: int, runs: int) -> None:
    flaky = told(rates={"the original": "9 of 20 runs", "the repro": "..."}, verified=shown, final_runs=20)
    case = written(tmp_path, document(flaky))
    assert case.runs == runs and case.expect[0][1] == "flaky"


def test_without_a_fault_the_oracle_is_title_and_all(tmp_path: Path) -> None:
    case = written(tmp_path, document(told(fingerprint={}, spec="sass:UTMALDG", oracle=["sass:UTMALDG"])))
    assert (case.title, case.klass, case.fault) == ("sass:UTMALDG", "as the oracle says", None)


def test_the_user_knows_better(tmp_path: Path) -> None:
    text = document(told(), CaseWords('A "quoted" title', "TMA", "Two\nlines.", ("https://x/1",)))
    case = written(tmp_path, text)
    assert (case.title, case.klass, case.mechanism) == ('A "quoted" title', "TMA", "Two\nlines.")
    assert case.upstream == ("https://x/1",)
    assert tomlkit.parse(text)["title"] == case.title


@pytest.fixture
def reduced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A reduction's folder, and a replay that says what the repro does by its text."""

    def replay(cases: Sequence[Case], **_: Any) -> list[CaseOutcome]:
        shows = cases[0].repro.read_text() == LOOKUP
        return [outcome(cases[0], Status.FAULTS if shows else Status.FIXED, why="it ended well")]

    monkeypatch.setattr(addition, "replay", replay)
    folder = tmp_path / "failing.shrink"
    for path in (folder, tmp_path / "corpus"):
        path.mkdir()
    for name in ("failing.py", "repro_failing.py"):
        (tmp_path / name).write_text(LOOKUP)
    paths = {"original": str(tmp_path / "failing.py"), "output": str(tmp_path / "repro_failing.py")}
    (folder / "result.json").write_text(json.dumps(told(**paths)))
    return folder


def test_a_case_is_a_folder_of_its_own(reduced: Path) -> None:
    corpus = reduced.parent / "corpus"
    case = add(reduced, corpus)
    assert case.folder == corpus / "failing"
    assert sorted(path.name for path in case.folder.iterdir()) == ["case.toml", "failing.py", "repro_failing.py"]
    assert [path.name for path in corpus.iterdir()] == ["failing"]
    assert add(reduced, corpus, name="other").repro.read_text() == LOOKUP


def test_the_modules_of_the_original_come_along(reduced: Path) -> None:
    folder = reduced.parent
    (folder / "failing.py").write_text(f"import json\nimport shop.till\nfrom luck import draw\n{LOOKUP}")
    (folder / "luck.py").write_text("import other\ndraw = 1\n")
    for name in ("other.py", "unused.py", "shop/__init__.py", "shop/till.py", "shop/unused.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("")
    case = add(reduced, folder / "corpus")
    taken = {path.relative_to(case.folder).as_posix() for path in case.folder.rglob("*") if path.is_file()}
    ours = {"case.toml", "failing.py", "repro_failing.py"}
    assert taken == {*ours, "luck.py", "other.py", "shop/__init__.py", "shop/till.py"}
    assert (case.folder / "luck.py").read_text() == "import other\ndraw = 1\n"


def test_a_module_with_the_name_of_the_original_is_refused(reduced: Path) -> None:
    folder = reduced.parent
    (folder / "main.py").write_text(f"import failing\n{LOOKUP}")
    told_of_it = json.loads((reduced / "result.json").read_text())
    (reduced / "result.json").write_text(json.dumps({**told_of_it, "original": str(folder / "main.py")}))
    with pytest.raises(UsageError, match="cannot be kept under its own name, which failing.py has"):
        add(reduced, folder / "corpus")
    assert not list((folder / "corpus").iterdir())


def test_recorded_values_are_an_artifact(reduced: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = reduced.parent
    loads = f'torch.load(Path(__file__).with_name("repro_failing.pt"))\n{LOOKUP}'
    (folder / "repro_failing.py").write_text(loads)
    for name in ("repro_failing.pt", "repro_failing_2.pt"):
        (folder / name).write_bytes(b"values")
    monkeypatch.setattr(addition, "replay", lambda cases, **_: [outcome(cases[0], Status.FAULTS)])
    case = add(reduced, folder / "corpus")
    assert case.artifacts == {"repro_failing.pt": hashlib.sha256(b"values").hexdigest()}
    assert not (case.folder / "repro_failing_2.pt").exists()


def test_one_that_does_not_reproduce_leaves_nothing(reduced: Path) -> None:
    (reduced.parent / "repro_failing.py").write_text("print('mended')\n")
    with pytest.raises(NotReproduced, match="nothing was added: .* does not show its fault now. fixed: it ended well"):
        add(reduced, reduced.parent / "corpus")
    assert not list((reduced.parent / "corpus").iterdir())


def test_what_is_refused(reduced: Path) -> None:
    corpus = reduced.parent / "corpus"
    (corpus / "taken").mkdir()
    result = reduced / "result.json"

    def refused(wanted: str, folder: Path = reduced, to: Path = corpus, name: str = "") -> None:
        with pytest.raises(UsageError, match=wanted):
            add(folder, to, name=name)

    refused("is there already: give another --name", name="taken")
    refused("'No Name' is no name for a case", name="No Name")
    refused("'../x' is no name for a case", name="../x")
    refused("cannot write into /proc: .*Name another corpus with --to", to=Path("/proc"))
    refused("cannot create .*: No such file or directory. Name another corpus with --to", to=corpus / "none" / "none")
    refused("is not a folder: name the one that a reduction left", folder=corpus / "none")
    refused("has no result.json, which a reduction writes when it ends", folder=corpus)
    whole = result.read_text()
    for text, why in (("{", "Expecting"), ("[]", "it does not say 'original'"), ('{"original": ""}', "'output'")):
        result.write_text(text)
        refused(f"is not what a reduction writes \\(.*{why}")
    result.write_text(whole)
    (reduced.parent / "failing.py").unlink()
    refused("failing.py, of which .*result.json tells, is not there any more")
    assert [path.name for path in corpus.iterdir()] == ["taken"]


@pytest.mark.parametrize(
    ("says", "why"),
    [
        ({"verified": 0, "final_runs": 3}, "none of the 3 clean runs of .* showed its fault"),
        ({"same": "NOT the same fault: instruction is 'STG' instead of 'LDG'"}, "'STG' instead of 'LDG'. Reduce again"),
    ],
)
def test_a_result_that_its_own_reduction_denies_is_refused_whatever_a_replay_sees(
    reduced: Path, says: dict[str, Any], why: str
) -> None:
    told_of_it = json.loads((reduced / "result.json").read_text())
    (reduced / "result.json").write_text(json.dumps({**told_of_it, **says}))
    with pytest.raises(NotReproduced, match=why):
        add(reduced, reduced.parent / "corpus")
    assert not list((reduced.parent / "corpus").iterdir())


COMMAND = Command("mine.bench", ("--n", "7"), Path("unset"))


def of_command(tmp_path: Path, command: Command) -> tuple[Case, list[str]]:
    """The case of a reduction of this command, and what was said."""
    (repro := tmp_path / "repro.py").write_text(LOOKUP)
    said: list[str] = []
    facts = told(
        original=str(command.path), output=str(repro), command=command.command_line, entered=command_fields(command)
    )
    return addition.lay_out(tmp_path / "some", facts, say=said.append), said


def test_a_command_is_kept_as_the_script_that_it_enters_with_its_modules(tmp_path: Path) -> None:
    (package := tmp_path / "mine").mkdir()
    (package / "__init__.py").write_text("")
    (package / "rows.py").write_text("ROWS = 7\n")
    (package / "bench.py").write_text('"""Times rows."""\n\nfrom .rows import ROWS\n\nprint(ROWS)\n')
    case, said = of_command(tmp_path, replace(COMMAND, cwd=tmp_path, file=package / "bench.py"))
    text = case.original.read_text()
    assert text.startswith("# -m mine.bench --n 7, as a script: ") and "from mine.rows import ROWS\n" in text
    assert "sys.argv[1:] = ['--n', '7']" in text and said == []
    assert (case.folder / "mine" / "rows.py").read_text() == "ROWS = 7\n"
    assert "No failing.py" not in (case.folder / "case.toml").read_text()


def test_where_a_command_enters_no_file_of_the_users_the_case_says_so(tmp_path: Path) -> None:
    case, said = of_command(tmp_path, replace(COMMAND, cwd=tmp_path))
    why = "no single file of yours says what -m mine.bench --n 7 runs (or it is not there any more)"
    assert said == [f"the case has no failing.py: {why}"] and not case.original.exists()
    assert (case.folder / "case.toml").read_text().startswith(f"# No failing.py: {why}.\n")
