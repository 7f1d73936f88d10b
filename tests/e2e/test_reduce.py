"""From a failing script to a small one that fails alike, by the real command; whatever happens on the way."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from shrinkray_gpu.reduction.size import lines
from tests.e2e.command import only, plain, shrink, shrinking, step, well
from tests.e2e.programs import LOOKUP

INDEX = ("--oracle", "exception:IndexError")


def given(folder: Path, text: str = LOOKUP) -> Path:
    path = folder / "failing.py"
    path.write_text(text)
    return path


def reduced(folder: Path) -> Path:
    return folder / "repro_failing.py"


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What LOOKUP comes to when nothing happens on the way."""
    folder = tmp_path_factory.mktemp("undisturbed")
    given(folder)
    well(shrink("failing.py", *INDEX, cwd=folder))
    return reduced(folder).read_text()


def faulty(path: Path, *args: str, word: str = "IndexError") -> bool:
    """Whether `python FILE ARGS` dies of it."""
    done = plain(path, *args, cwd=path.parent)
    return done.returncode == 1 and word in done.stderr.splitlines()[-1]


def test_a_program_without_torch(tmp_path: Path, undisturbed: str) -> None:
    path = tmp_path / "result.py"
    path.write_text(undisturbed)
    assert faulty(path)
    assert lines(undisturbed) <= 3, undisturbed


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path, undisturbed: str) -> None:
    given(tmp_path)
    well(shrink("failing.py", *INDEX, "--seed", "0", cwd=tmp_path))
    assert reduced(tmp_path).read_text() == undisturbed


def test_check_of_what_does_not_show_it(tmp_path: Path) -> None:
    given(tmp_path, "print('well')\n")
    said = shrink("failing.py", *INDEX, "--check", cwd=tmp_path)
    assert said.code == 3 and "ended well" in said.message
    assert [path.name for path in tmp_path.iterdir()] == ["failing.py"]


@pytest.mark.parametrize("accepted", [4, 7])  # of 8; after 1, 2 and 5 it is killed in the next test
def test_kill_and_resume(tmp_path: Path, undisturbed: str, accepted: int) -> None:
    given(tmp_path)
    with shrinking("failing.py", *INDEX, "--verbose", cwd=tmp_path) as process:
        assert step(process, accepted), "it was done before it could be killed"
        process.kill()
        process.wait()
    assert faulty(tmp_path / "failing.shrink" / "best.py")
    scratch = tmp_path / "failing.shrink" / "scratch"
    (scratch / "t_of_the_killed").mkdir()
    well(shrink("failing.py", *INDEX, "--resume", cwd=tmp_path))
    assert not list(scratch.iterdir())
    assert reduced(tmp_path).read_text() == undisturbed


def test_killed_again_and_again(tmp_path: Path, undisturbed: str) -> None:
    given(tmp_path)
    for accepted in (1, 2, 5):  # counted anew each time: a resumed run accepts again what it accepted before
        with shrinking("failing.py", *INDEX, "--verbose", "--resume", cwd=tmp_path) as process:
            assert step(process, accepted)
    assert faulty(tmp_path / "failing.shrink" / "best.py")
    well(shrink("failing.py", *INDEX, "--resume", cwd=tmp_path))
    assert reduced(tmp_path).read_text() == undisturbed


def test_ctrl_c_leaves_the_best_so_far(tmp_path: Path, undisturbed: str) -> None:
    given(tmp_path)
    with shrinking("failing.py", *INDEX, "--verbose", cwd=tmp_path) as process:
        assert step(process, 3)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "the best so far" in out and "--resume" in out and "Traceback" not in err
    assert faulty(reduced(tmp_path))
    assert len(undisturbed) < len(reduced(tmp_path).read_text()) < len(LOOKUP)
    well(shrink("failing.py", *INDEX, "--resume", cwd=tmp_path))
    assert reduced(tmp_path).read_text() == undisturbed


def test_ctrl_c_before_the_search(tmp_path: Path) -> None:
    given(tmp_path, "import time\ntime.sleep(100)\n")
    with shrinking("failing.py", *INDEX, cwd=tmp_path) as process:
        assert process.stderr is not None and "running" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130 and "interrupted before the search" in err and "Traceback" not in err


def test_resume_takes_over_what_was_edited_by_hand(tmp_path: Path) -> None:
    given(tmp_path)
    with shrinking("failing.py", *INDEX, "--verbose", cwd=tmp_path) as process:
        assert step(process, 2)
    best = tmp_path / "failing.shrink" / "best.py"
    best.write_text("words = ['by', 'hand']\nprint(len(words))\nprint(words[5])\n")
    said = well(shrink("failing.py", *INDEX, "--resume", "--verbose", cwd=tmp_path))
    assert "edited by hand and still faults" in said.err
    text = reduced(tmp_path).read_text()
    assert "len" not in text and "Table" not in text and faulty(reduced(tmp_path))


def test_resume_leaves_an_edit_that_does_not_fault(tmp_path: Path, undisturbed: str) -> None:
    given(tmp_path)
    with shrinking("failing.py", *INDEX, "--verbose", cwd=tmp_path) as process:
        assert step(process, 2)
    (tmp_path / "failing.shrink" / "best.py").write_text("print('mended')\n")
    said = well(shrink("failing.py", *INDEX, "--resume", "--verbose", cwd=tmp_path))
    assert "does not fault" in said.err
    assert reduced(tmp_path).read_text() == undisturbed


def test_what_must_be_kept(tmp_path: Path) -> None:
    given(tmp_path, LOOKUP.replace("table = Table([1, 2, 3])", "table = Table([1, 2, 3])  # shrink: keep"))
    well(shrink("failing.py", *INDEX, "--keep", "total", cwd=tmp_path))
    text = reduced(tmp_path).read_text()
    assert "def total(count):" in text and "found += i * 2" in text
    assert "table = Table([1, 2, 3])" in text
    assert "json" not in text and faulty(reduced(tmp_path))


def test_json(tmp_path: Path) -> None:
    given(tmp_path, "import json\nprint(json)\nprint([1][3])\n")
    said = well(shrink("failing.py", *INDEX, "--json", "--final-runs", "2", cwd=tmp_path))
    told = said.result
    assert told["text"] == reduced(tmp_path).read_text() and told["output"] == str(reduced(tmp_path))
    assert told["before"][0] == 3 and told["after"][0] == lines(told["text"])
    assert (told["verified"], told["final_runs"], told["ended"]) == (2, 2, "done")
    assert sum(told["tries"].values()) > 0 and set(told["seconds"]) >= {"start", "search", "check"}
    assert said.err == ""


def test_out_of_time(tmp_path: Path, undisturbed: str) -> None:
    given(tmp_path)
    said = well(shrink("failing.py", *INDEX, "--max-time", "0.01", cwd=tmp_path))
    assert "out of time, the best so far" in said.out and "--resume" in said.out
    assert faulty(reduced(tmp_path))
    well(shrink("failing.py", *INDEX, "--resume", cwd=tmp_path))
    assert reduced(tmp_path).read_text() == undisturbed


def test_the_fault_seen_is_adopted(tmp_path: Path) -> None:
    given(tmp_path, "import json\nprint(json)\nprint({}['no such key'])\n")
    said = well(shrink("failing.py", cwd=tmp_path))
    assert "--oracle 'no such key'" in said.err
    assert faulty(reduced(tmp_path), word="KeyError: 'no such key'")


def test_what_is_rejected_stays_out(tmp_path: Path) -> None:
    given(tmp_path, "import json\nkeys = [1, 2]\nprint(json, keys[5])\n")
    well(shrink("failing.py", *INDEX, "--reject", "regex:of range: never", "--reject", "exit:0", cwd=tmp_path))
    assert faulty(reduced(tmp_path))


def test_arguments_environment_and_folder(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "numbers.txt").write_text("4 5 6")
    given(
        tmp_path,
        "import json\nimport os\nimport sys\n"
        "rows = [int(word) for word in open('numbers.txt').read().split()]\n"
        "print(json.dumps(rows))\n"
        "assert sys.argv[1] == '--at' and os.environ['STEP'] == '3'\n"
        "print(rows[int(sys.argv[2]) * int(os.environ['STEP'])])\n",
    )
    words = ("--env", "STEP=3", "--cwd", elsewhere, "--skip-pass", "observed", "--", "--at", "1")
    said = well(shrink("failing.py", *INDEX, *words, cwd=tmp_path))
    assert "json" not in reduced(tmp_path).read_text()
    shown = next(line for line in said.out.splitlines() if "shows the fault: " in line)
    for word in ("STEP=3", str(elsewhere), "--at 1"):
        assert word in shown, shown


def test_a_data_file_beside_the_script(tmp_path: Path) -> None:
    (tmp_path / "rows.txt").write_text("7 8 9")
    given(
        tmp_path,
        "import json\nfrom pathlib import Path\n"
        "rows = (Path(__file__).parent / 'rows.txt').read_text().split()\n"
        "print(json.dumps(rows))\nif rows[0] == '7':\n    raise IndexError(rows[1])\n",
    )
    well(shrink("failing.py", "--oracle", "exception:IndexError:^8$", cwd=tmp_path))
    assert faulty(reduced(tmp_path), word="IndexError: 8")
    assert (tmp_path / "rows.txt").read_text() == "7 8 9"


def test_a_test_script_decides(tmp_path: Path) -> None:
    given(tmp_path, "import json\nprint('left'[1])\nprint('right', json)\n")
    test = tmp_path / "test.sh"
    test.write_text(f'#!/bin/sh\n{sys.executable} "$1" | grep -q right\n')
    test.chmod(0o755)
    said = well(shrink("failing.py", "--oracle", "script:./test.sh", cwd=tmp_path))
    assert "right" in plain(reduced(tmp_path), cwd=tmp_path).stdout
    assert "left" not in reduced(tmp_path).read_text()
    assert "--check" in said.out


def test_nothing_is_imported_for_a_program_that_launches_nothing(tmp_path: Path) -> None:
    seen = '{"tor" + "ch", "tri" + "ton"} & set(sys.modules)'
    (tmp_path / "failing.py").write_text(f"import sys\n\nprint(1)\nraise KeyError('crowded' if {seen} else 'alone')\n")
    words = ("--oracle", "exception:KeyError:alone", "--arch", "sm_90", *only("statements"))
    said = shrink("failing.py", *words, cwd=tmp_path)
    assert said.code == 0 and "on the virtual GPU, a fork for each candidate" in said.err, said
    repro = (tmp_path / "repro_failing.py").read_text()
    assert "print" not in repro and "crowded" in repro, repro


def test_the_script_itself_is_never_touched(tmp_path: Path) -> None:
    path = given(tmp_path, "import json\nprint(json)\nprint([1][3])\n")
    well(shrink("failing.py", *INDEX, "--output", "small.py", cwd=tmp_path))
    assert path.read_text().startswith("import json\n")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["failing.py", "failing.shrink", "small.py"]
    assert faulty(tmp_path / "small.py")
