"""Which lifted scripts are taken for the program's own fault. What the instruments say is given here: a core dump needs
a GPU, where `tests/gpu/lifting/guessed_rows.py` shows the slip."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu.evidence.dump_runs import DumpRun
from shrinkray_gpu.oracle.fault import Fault, Reference
from shrinkray_gpu.oracle.same import SameFaultOracle
from shrinkray_gpu.oracle.sticky import StickyOracle
from shrinkray_gpu.runner.run import Launch, Run
from shrinkray_gpu.same_fault.of_lifted import OriginalFingerprint
from shrinkray_gpu.start import Start
from tests.e2e.programs import NARROW_TILES
from tests.start.test_choice import begun, given

MARKS = Fault("device", "an illegal memory access was encountered", "marks", 700, instruction="STG", space="global")
GATHERS = replace(MARKS, kernel="gathers", instruction="LDG")
UNNAMED = replace(MARKS, kernel="", instruction="", space="", near="gathers")
"""What a plain run of both says: a launch returns before its kernel runs."""

RUN = Run("cold", 1, driver_error=700, launches=(Launch("marks", "1", (1,)), Launch("gathers", "2", (1,))))


@pytest.fixture
def identity() -> Iterator[Callable[..., OriginalFingerprint]]:
    opened = []

    def make(
        *own: Fault | None, lifted: tuple[Fault | None, ...] = (), seen: Fault | None = None
    ) -> OriginalFingerprint:
        """The instruments see these, one after another; `seen` in the run that was made before."""
        of_program, of_lifted = iter(own), iter(lifted)
        reference = Reference(UNNAMED, frozenset({"marks", "gathers"}))
        opened.append(
            OriginalFingerprint(
                reference,
                "program",
                RUN,
                look=lambda text, run: next(of_program),
                look_at_lifted=lambda text, run: next(of_lifted),
                seen=lambda: seen,
            )
        )
        return opened[-1]

    yield make
    for one in opened:
        one.close()


def test_another_kernel_with_the_same_words_is_another_fault(identity: Callable[..., OriginalFingerprint]) -> None:
    run = replace(RUN, launches=RUN.launches[1:])
    assert "instruction is 'LDG' instead of 'STG'" in identity(MARKS, lifted=(GATHERS,)).slip("lifted", run)
    alike = replace(GATHERS, instruction="STG")
    slip = identity(MARKS, lifted=(alike,)).slip("lifted", run)
    assert slip == "the fault is in kernel gathers instead of marks"
    assert identity(MARKS, lifted=(MARKS,)).slip("lifted", replace(RUN, launches=RUN.launches[:1])) == ""


def test_where_the_instruments_see_nothing_they_are_asked_once_more(
    identity: Callable[..., OriginalFingerprint],
) -> None:
    one = identity(None, MARKS, lifted=(None, MARKS))
    assert one.fault == MARKS and one.slip("lifted", RUN) == "" and one.looks == 4


def test_of_a_program_in_which_they_see_nothing_everyday_words_decide(
    identity: Callable[..., OriginalFingerprint],
) -> None:
    one = identity(None, None)
    assert one.fault is None and one.slip("lifted", RUN) == ""


def test_another_fault_in_their_run_of_the_program_is_not_what_is_looked_for(
    identity: Callable[..., OriginalFingerprint],
) -> None:
    other = replace(MARKS, klass="misaligned address", code=716)
    assert identity(other, MARKS).fault == MARKS


def test_what_a_run_told_on_the_way_is_not_asked_again(identity: Callable[..., OriginalFingerprint]) -> None:
    one = identity(seen=MARKS)
    assert one.fault == MARKS and one.slip("lifted", RUN, MARKS) == "" and one.looks == 0
    run = replace(RUN, launches=RUN.launches[1:])
    assert "instruction is 'LDG' instead of 'STG'" in one.slip("lifted", run, GATHERS)


def test_a_dump_of_another_fault_than_the_run_s_counts_for_nothing(
    identity: Callable[..., OriginalFingerprint],
) -> None:
    one = identity(MARKS, seen=replace(MARKS, klass="misaligned address", code=716))
    assert one.fault == MARKS and one.looks == 1


def test_a_script_in_which_they_see_nothing_is_not_taken(identity: Callable[..., OriginalFingerprint]) -> None:
    assert "see no fault in it" in identity(MARKS, lifted=(None, None)).slip("lifted", RUN)


def looked(folder: Path, look: Callable[[str], Fault]) -> tuple[Start, list[str]]:
    program = given(folder, NARROW_TILES, "misaligned address")
    program = replace(
        program,
        setup=replace(program.setup, arch=90),
        script=replace(program.script, asserts=False),
        look=lambda text, script, run: look(text),
    )
    said: list[str] = []
    start = begun(program, said)
    if start.lanes is not None:
        start.lanes.close()
    return start, said


STATIC = Fault("device", "misaligned address", "row_sums", 716, instruction="UTMALDG", space="shared")


LIFTING = "lifting the launch that faults ..."


def test_a_lifted_script_with_another_fault_is_left_and_said(tmp_path: Path) -> None:
    """All runs are real; only in what the instruments say do the two programs differ."""
    other = replace(STATIC, instruction="LDS")
    start, said = looked(tmp_path, lambda text: STATIC if text == NARROW_TILES else other)
    assert not start.lifted and start.program.text == NARROW_TILES
    slip = "its fault is another one: instruction is 'LDS' instead of 'UTMALDG'"
    assert set(said) == {LIFTING, f"a lifted launch was not taken, since {slip}"}


def test_what_they_saw_of_the_program_goes_along_with_the_lifted_script(tmp_path: Path) -> None:
    start, said = looked(tmp_path, lambda text: STATIC)
    assert start.alone and start.fault == STATIC and said == [LIFTING]
    assert start.tries["fingerprint"] == 2
    again = begun(given(tmp_path, NARROW_TILES, "misaligned address"), [], resume=True)
    assert again.fault == STATIC
    assert (again.program.text, again.alone, again.tries) == (start.program.text, True, {}), "chosen once, at first"


HUSHED = """
def hushed(*_, wait=torch.cuda.synchronize):
    with contextlib.suppress(RuntimeError):
        wait()

if "CUDA_COREDUMP_FILE" in os.environ:
    torch.cuda.synchronize = torch.Tensor.item = hushed
"""


@pytest.mark.parametrize("hides", ["if 'CUDA_COREDUMP_FILE' in os.environ:\n    raise SystemExit\n", HUSHED])
def test_where_a_dump_hides_the_fault_from_its_user_the_program_is_run_without_one(tmp_path: Path, hides: str) -> None:
    """It may keep it away, or only from those who wait for the GPU: then the driver still holds the error."""
    text = f"import contextlib\nimport os\nimport torch\n{hides}{NARROW_TILES}"
    program = given(tmp_path, text, "misaligned address")
    program = replace(program, setup=replace(program.setup, arch=90), script=replace(program.script, asserts=False))
    made: list[DumpRun] = []

    def dumping(peak: int | None) -> DumpRun:
        folder = tmp_path / f"dump{len(made)}"
        folder.mkdir()
        made.append(DumpRun(program.setup, tmp_path / "no cuda-gdb", folder, memory=False))
        return made[-1]

    start = begun(replace(program, look=lambda text, script, run: STATIC, dumping=dumping), [])
    if start.lanes is not None:
        start.lanes.close()
    assert start.alone and start.fault == STATIC
    assert isinstance(start.oracle, SameFaultOracle) and isinstance(start.oracle.inner, StickyOracle)
    assert start.oracle.inner.shown == "raised"
    assert len(made) == 1 and not made[0].folder.exists()
