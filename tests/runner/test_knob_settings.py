"""What can be typed as a way to run a program, and what each of them turns."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.runner.knob_settings import KNOWN, PLAIN, KnobSetting, parse_setting

KNOBS = {
    "num_stages=1": ("num_stages=1", {"num_stages": "1"}),
    " num_warps = 8 ": ("num_warps=8", {"num_warps": "8"}),
    "num_ctas=2": ("num_ctas=2", {"num_ctas": "2"}),
    "maxnreg=064": ("maxnreg=64", {"maxnreg": "64"}),
    "serial": ("serial", {"serial": "1"}),
    "serialised": ("serial", {"serial": "1"}),
    "ptxas=-O0": ("ptxas=-O0", {"ptxas": "0"}),
    "ptxas=O1": ("ptxas=-O1", {"ptxas": "1"}),
    "llvm=0": ("llvm=-O0", {"llvm": "0"}),
    "skip=add_pipeline": ("skip=add_pipeline", {"skip": "add_pipeline"}),
    "int64": ("int64", {"int64": "1"}),
}


@pytest.mark.parametrize("text", KNOBS)
def test_a_knob_goes_to_any_lane(text: str) -> None:
    name, knobs = KNOBS[text]
    assert parse_setting(text) == KnobSetting(name, knobs=knobs)
    assert parse_setting(text).cheap


OTHERS = {
    "no-caching": KnobSetting("exact-allocation", environment={"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}),
    "CUDA_LAUNCH_BLOCKING=1": KnobSetting("CUDA_LAUNCH_BLOCKING=1", environment={"CUDA_LAUNCH_BLOCKING": "1"}),
    "PTXAS_OPTIONS=--opt-level=1": KnobSetting(
        "PTXAS_OPTIONS=--opt-level=1", environment={"PTXAS_OPTIONS": "--opt-level=1"}
    ),
    "EMPTY=": KnobSetting("EMPTY=", environment={"EMPTY": ""}),
    f"python={sys.executable}": KnobSetting(f"python={sys.executable}", python=sys.executable),
}


@pytest.mark.parametrize("text", OTHERS)
def test_what_a_process_must_start_with_needs_a_worker_of_its_own(text: str) -> None:
    assert parse_setting(text) == OTHERS[text]
    assert not parse_setting(text).cheap


def test_the_interpreter_is_an_environment_whose_launches_are_counted() -> None:
    way = parse_setting("interpreter")
    assert (way.environment, way.knobs, way.cheap) == ({"TRITON_INTERPRET": "1"}, {"interpreter": "1"}, False)
    assert parse_setting("TRITON_INTERPRET=1") == way


@pytest.mark.parametrize("text", [*KNOBS, *OTHERS, "interpreter", PLAIN.name])
def test_a_way_is_what_its_name_says(text: str) -> None:
    way = parse_setting(text)
    assert parse_setting(way.name) == way
    assert len({way, parse_setting(way.name)}) == 1


def test_an_interpreter_is_named_as_in_a_shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "other-python").symlink_to(sys.executable)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert parse_setting("python=other-python").python == str(tmp_path / "other-python")


REFUSED = {
    "numstages=1": "did you mean 'num_stages'",
    "NUM_STAGES=1": "did you mean 'num_stages'",
    "exact_allocation": "did you mean 'exact-allocation'",
    "interpret": "did you mean 'interpreter'",
    "zzz": "no knob is called 'zzz'. There are num_stages=N",
    "http_proxy=x": "no knob is called 'http_proxy'",
    "": "no knob is called ''",
    "num_stages": "type num_stages=N",
    "num_stages=": "type num_stages=N",
    "num_stages=two": "a whole number from 0 on, for example num_stages=1",
    "num_stages=-1": "a whole number from 0 on",
    "num_warps=3": "a power of two from 1 to 64",
    "num_warps=128": "a power of two from 1 to 64",
    "maxnreg=0": "a whole number from 1 to 255",
    "serial=2": "takes no value",
    "serial=": "nothing after the =",
    "ptxas=-O4": "type ptxas=-O0 to ptxas=-O3",
    "ptxas=fast": "type ptxas=-O0 to ptxas=-O3",
    "llvm=-O1": "type llvm=-O0",
    "skip=pipeline": "type it as in its compiler.py, skip=add_pipeline",
    "zeroed-outputs=1": "takes no value",
    "zeroed-outputs-but": "type zeroed-outputs-but=KERNEL",
    "zeroed-outputs-but=a b": "names no kernel",
    "usual-type": "type usual-type=PARAMETER",
    "other-type=a b": "names no parameter",
    "other-constant=8": "names no parameter",
    "python=/no/such/python": "cannot run the interpreter /no/such/python",
    "python=/bin/echo": "not a Python interpreter",
    "TMPDIR=/tmp": "shrink sets it",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_makes_no_sense_is_refused_with_what_to_type(text: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_setting(text)
    assert REFUSED[text] in str(error.value)


def test_each_kind_says_what_it_does_and_can_be_typed() -> None:
    for name, form in KNOWN.items():
        assert form.usage.startswith(name) and form.meaning
        if "=" not in form.usage:
            assert all(parse_setting(alias) == parse_setting(name) for alias in form.aliases)
