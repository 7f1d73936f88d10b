"""Whose each word of a command line is."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from shrinkray_gpu.cli.arguments import OwnOptions, Words, split
from shrinkray_gpu.cli.reduce import reduce_command

OWN = OwnOptions.of(reduce_command.params)
LAUNCHERS = ("torchrun",)


def words(*args: str) -> Words:
    return split(args, OWN, modules=True, launchers=LAUNCHERS)


@pytest.mark.parametrize(
    "args, ours, theirs",
    [
        ("run.py", "run.py", ""),
        ("run.py --oracle x", "run.py --oracle x", ""),
        ("run.py --op x", "run.py", "--op x"),
        ("run.py --op x --oracle y 5 -n 3 -1", "run.py --oracle y", "--op x 5 -n 3 -1"),
        ("run.py --op=x --oracle=y --check", "run.py --oracle=y --check", "--op=x"),
        ("--arch sm_90 run.py --out x --check", "--arch sm_90 run.py --check", "--out x"),
        ("run.py --check -- --check --orcale", "run.py --check", "--check --orcale"),
        ("--check -- -run.py --check", "--check -- -run.py", "--check"),
        ("--op run.py x", "--op run.py", "x"),
        ("run.py torchrun --op", "run.py", "torchrun --op"),
        ("run.py -h", "run.py -h", ""),
        ("run.py -v --width", "run.py", "-v --width"),
        ("run.py --oracle", "run.py --oracle", ""),
        ("run.py - -o small.py", "run.py -o small.py", "-"),
    ],
)
def test_behind_file_what_is_no_option_of_ours_is_the_program_s(args: str, ours: str, theirs: str) -> None:
    found = words(*args.split())
    assert (found.ours, found.theirs, found.command) == (ours.split(), theirs.split(), [])


@pytest.mark.parametrize(
    "args, command, theirs",
    [
        ("-m pkg.bench --check", "-m pkg.bench", "--check"),
        ("-mpkg.bench -- x", "-mpkg.bench", "-- x"),
        ("-m", "-m", ""),
        ("torchrun --nproc-per-node 1 run.py --check", "torchrun", "--nproc-per-node 1 run.py --check"),
    ],
)
def test_behind_a_module_all_is_the_module_s(args: str, command: str, theirs: str) -> None:
    found = words("--oracle", "-m", *args.split())
    assert (found.ours, found.command, found.theirs) == (["--oracle", "-m"], command.split(), theirs.split())


@pytest.mark.parametrize(
    "slip, meant",
    [
        ("--orcale", "--oracle"),
        ("--max_time", "--max-time"),
        ("--ORACLE", "--oracle"),
        ("--time-out=5", "--timeout"),
        ("--orac", "--oracle"),
        ("--arc", "--arch"),
        ("--kepe", "--keep"),
        ("-orepro.py", "-o repro.py"),
    ],
)
def test_a_slip_is_not_handed_on(slip: str, meant: str) -> None:
    with pytest.raises(click.UsageError, match=f"Did you mean '{meant}'. If it is for run.py, write it behind --"):
        words("run.py", slip, "x")


@pytest.mark.parametrize(
    "word", ["--op", "--out", "--batch", "--steps", "--chunk", "--lr", "--no-cache", "--fwd", "--cuda", "-k", "-abc"]
)
def test_what_programs_usually_take_is_no_slip(word: str) -> None:
    assert words("run.py", word).theirs == [word]


def test_what_looks_like_a_slip_is_the_program_s_where_that_names_it(tmp_path: Path) -> None:
    script = tmp_path / "run.py"
    script.write_text("parser.add_argument('--model')  # not --oracel\n")
    assert words(str(script), "--model", "1").theirs == ["--model", "1"]
    with pytest.raises(click.UsageError, match="Did you mean '--oracle'"):
        words(str(script), "--oracel", "1")


def test_a_file_and_a_module() -> None:
    with pytest.raises(click.UsageError, match="not both: run.py. What run.py is to get comes behind --"):
        words("run.py", "-m", "x")
