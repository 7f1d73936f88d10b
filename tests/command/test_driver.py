"""`-m MODULE ARGS...` as a driver script: it does what `python -m` does, and shows what pytest would hide."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from shrinkray_gpu.cli.reduce import reduce_command
from shrinkray_gpu.command.driver import Command, pytest_files, unittest_files
from shrinkray_gpu.command.entry import EntryFile, entry_files, plain_script
from shrinkray_gpu.command.module_search import locate
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.lift.bundle import bundle
from shrinkray_gpu.oracle import obstacle
from shrinkray_gpu.runner.run import Failure, Run

TELLS = """\
import os, sys
from pkg.numbers import SEVEN
print(__name__, __spec__.name, os.path.basename(sys.argv[0]), sys.argv[1:], os.path.samefile(sys.path[0], "."), SEVEN)
if "fail" in sys.argv:
    raise LookupError("as asked")
sys.exit(3)
"""


def folder(root: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1"}


def python(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], cwd=cwd, env=environment(), capture_output=True, text=True)


def located(cwd: Path, module: str, *args: str) -> Command:
    return locate(module, args, python=sys.executable, cwd=cwd, environment=environment())


def driven(cwd: Path, module: str, *args: str) -> subprocess.CompletedProcess[str]:
    """Its driver, run as a script."""
    command = located(cwd, module, *args)
    command.path.write_text(command.text)
    try:
        return python(str(command.path), cwd=cwd)
    finally:
        command.path.unlink()


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return folder(tmp_path, {"pkg/__init__.py": "", "pkg/tells.py": TELLS, "pkg/numbers.py": "SEVEN = 7\n"})


@pytest.mark.parametrize("args", [(), ("--n", "7"), ("fail", "it's", "-m", "x y")], ids=["none", "some", "odd"])
def test_a_module_runs_as_python_m_runs_it(package: Path, args: tuple[str, ...]) -> None:
    here, there = driven(package, "pkg.tells", *args), python("-m", "pkg.tells", *args, cwd=package)
    assert there.stdout.startswith("__main__ pkg.tells tells.py")
    assert (here.stdout, here.returncode) == (there.stdout, there.returncode)
    assert here.stderr.splitlines()[-1:] == there.stderr.splitlines()[-1:]


def test_a_package_runs_its_main(package: Path) -> None:
    (package / "pkg" / "__main__.py").write_text(TELLS)
    assert driven(package, "pkg", "a").stdout == python("-m", "pkg", "a", cwd=package).stdout != ""


def test_one_module_alone_does_not_pass_for_its_driver(tmp_path: Path) -> None:
    folder(tmp_path, {"bench.py": "print(__name__)\n"})
    command = located(tmp_path, "bench")
    assert command.path != tmp_path / "bench.py" and command.file == tmp_path / "bench.py"
    assert driven(tmp_path, "bench").stdout == "__main__\n"


@pytest.mark.parametrize(
    "module, args, stem",
    [
        ("mypkg.bench", ("--n", "7"), "mypkg_bench"),
        ("pytest", ("-q", "tests/test_attention.py::test_bwd[8-x]"), "pytest_test_attention"),
        ("pytest", ("--deselect", "a.py::b", "tests"), "pytest_tests"),
    ],
)
def test_the_name_of_the_result(module: str, args: tuple[str, ...], stem: str) -> None:
    assert Command(module, args, Path("/work")).stem == stem


def test_test_files_among_the_arguments() -> None:
    words = ["-k", "x.py", "a/test_x.py::Test::test_y[1-2]", "--ignore=b.py", "test_z.py"]
    assert pytest_files(words) == [(Path("a/test_x.py"), "Test::test_y[1-2]"), (Path("test_z.py"), "")]


FAILING = """\
import sys, unittest, warnings
import pytest
from pkg.numbers import SEVEN

class Odd(ArithmeticError):
    pass

@pytest.fixture
def broken():
    raise KeyError("in a fixture")

@pytest.mark.xfail
def test_expected():
    raise ValueError

def test_own_type():
    print("printed", file=sys.stderr)
    raise Odd(SEVEN)

def test_assertion():
    assert SEVEN == 8, "seven"

def test_fixture(broken):
    pass

def test_left():
    sys.exit(5)

class TestOld(unittest.TestCase):
    def test_old(self):
        self.assertEqual(SEVEN, 8)

def test_passes():
    print("well")
"""


@pytest.fixture
def tests(package: Path) -> Path:
    return folder(package, {"tests/test_it.py": FAILING, "tests/test_no.py": "from pkg import nothing\n"})


@pytest.mark.parametrize(
    "node, end",
    [
        ("test_it.py::test_own_type", "test_it.Odd: 7"),
        ("test_it.py::test_assertion", "AssertionError: seven"),
        ("test_it.py::test_fixture", "KeyError: 'in a fixture'"),
        ("test_it.py::TestOld::test_old", "AssertionError: 7 != 8"),
        ("test_it.py", "test_it.Odd: 7"),
        ("test_no.py", "ImportError: cannot import name 'nothing' from 'pkg'"),
    ],
)
def test_the_failing_tests_exception_ends_the_driver(tests: Path, node: str, end: str) -> None:
    done = driven(tests, "pytest", f"tests/{node}")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(end), done.stderr
    frames = [line for line in done.stderr.splitlines() if line.startswith("  File ")]
    assert "pytest_test_" in frames[0]
    assert not any("/_pytest/" in line or "/pluggy/" in line for line in frames) or "ImportError" in end


def test_what_is_printed_is_seen_and_nothing_is_written(tests: Path) -> None:
    before = {path for path in tests.rglob("*")}
    done = driven(tests, "pytest", "tests/test_it.py::test_own_type")
    assert done.stderr.startswith("printed\n")
    assert "raise Odd" not in done.stdout, "source around the failure is no output of the program"
    assert {path for path in tests.rglob("*")} == before


@pytest.mark.parametrize("node, status", [("test_passes", 0), ("test_left", 5), ("test_expected", 0)])
def test_other_ends(tests: Path, node: str, status: int) -> None:
    assert driven(tests, "pytest", f"tests/test_it.py::{node}").returncode == status


def test_settings_that_run_tests_elsewhere_or_write_give_way(tests: Path) -> None:
    pytest.importorskip("xdist")
    (tests / "pytest.ini").write_text("[pytest]\naddopts = -n 2 --dist loadfile --strict-config -ra\n")
    done = driven(tests, "pytest", "tests/test_it.py::test_own_type")
    assert done.stderr.splitlines()[-1] == "test_it.Odd: 7"
    assert "2 workers" not in done.stdout


@pytest.mark.parametrize("args", [("tests/test_it.py::test_none",), ("--nope",), ("tests", "-k", "nothing")])
def test_no_test_at_all(tests: Path, args: tuple[str, ...]) -> None:
    (tests / "tests" / "test_no.py").unlink()
    assert driven(tests, "pytest", *args).stderr.splitlines()[-1].endswith("UsageError: no test was run")


def test_a_plugin_that_cannot_be_loaded(tests: Path) -> None:
    """Then pytest ends with the status of an error of its own, and no test has begun."""
    (tests / "lost-1.dist-info").mkdir()
    (tests / "lost-1.dist-info" / "METADATA").write_text("Name: lost\nVersion: 1\n")
    (tests / "lost-1.dist-info" / "entry_points.txt").write_text("[pytest11]\nlost = no_such_module\n")
    done = driven(tests, "pytest", "tests/test_it.py::test_passes")
    assert done.stderr.splitlines()[-1].endswith("UsageError: no test was run"), done.stderr
    failed = Failure("pytest.UsageError", "no test was run")
    said = obstacle(Run(mode="plain", exit=1, failure=failed, stderr=done.stderr))
    assert said == "pytest ran no test: ModuleNotFoundError: No module named 'no_such_module'"


SKIPPED = """\
import pytest

@pytest.mark.skipif(True, reason="needs a GPU")
def test_marked(): pass

def test_skips(): pytest.skip("no")

@pytest.mark.xfail(reason="known")
def test_expected(): raise ValueError

def test_fine(): pass
"""


def test_tests_that_are_all_skipped_are_told_and_others_are_not(tests: Path) -> None:
    (tests / "tests" / "test_no.py").write_text(SKIPPED)
    for name, why in (("marked", "needs a GPU"), ("skips", "no")):
        done = driven(tests, "pytest", f"tests/test_no.py::test_{name}")
        assert done.stderr.splitlines()[-1].endswith(f"UsageError: each test is skipped: {why}")
    for words in ("expected", "fine or skips"):
        assert driven(tests, "pytest", "tests/test_no.py", "-k", words).returncode == 0


CHILD = """\
import multiprocessing
from pkg.numbers import SEVEN

def work(queue):
    queue.put(SEVEN)

def test_child():
    context = multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    process = context.Process(target=work, args=(queue,))
    process.start()
    process.join()
    assert process.exitcode == 0 and queue.get() == 7
"""


def test_a_spawned_child_does_not_run_the_driver_again(package: Path) -> None:
    folder(package, {"test_child.py": CHILD})
    command = located(package, "pytest", "test_child.py")
    run = "import sys; exec(compile(sys.argv.pop(), 'not_on_disk.py', 'exec'))"
    done = python("-c", run, command.text.replace("__spec__ =", "__file__ = 'not_on_disk.py'\n__spec__ ="), cwd=package)
    assert done.returncode == 0 and "1 passed" in done.stdout, done


CALLED = """\
import pytest
import torch

@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
@pytest.mark.parametrize("m, n", [(1, 0.5), pytest.param(2, "x", id="odd"), (3, [4])])
def test_many(m, n, dtype, more=None):
    pass

@pytest.mark.parametrize("mode", ["a", None, True], ids=["first", "second", "third"])
class TestKind:
    def test_kind(self, mode):
        pass

def test_with_fixture(tmp_path):
    pass
"""


def test_calls_have_the_ids_that_pytest_gives(package: Path) -> None:
    folder(
        package, {"t/__init__.py": "", "t/test_c.py": CALLED, "torch.py": "float16 = object()\nfloat32 = object()\n"}
    )
    listed = python("-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "t/test_c.py", cwd=package)
    ids = [line for line in listed.stdout.splitlines() if "::" in line and "fixture" not in line]
    assert len(ids) == 9, listed
    for each in ids:
        text = plain_text(located(package, "pytest", each))
        assert text is not None and text.count("(") == 1 + text.count("TestKind()"), (each, text)
        assert driven_text(package, text) == 0
    every = plain_text(located(package, "pytest", "t/test_c.py::test_many"))
    assert every is not None and [line[:9] for line in every.splitlines()].count("test_many") == 6
    assert every.startswith("import torch\nfrom t.test_c import test_many\n")


def plain_text(command: Command) -> str | None:
    plain = plain_script(command)
    return plain.text if plain is not None else None


def driven_text(cwd: Path, text: str) -> int:
    return python("-c", text, cwd=cwd).returncode


def test_calls_outside_a_package(tests: Path) -> None:
    text = plain_text(located(tests, "pytest", "tests/test_it.py::test_own_type"))
    assert text is not None
    done = python("-c", text, cwd=tests)
    assert done.stderr.splitlines()[-1] == "test_it.Odd: 7"


@pytest.mark.parametrize("node", ["test_absent", "test_own_type[1]"])
def test_no_calls_where_pytest_does_more(tests: Path, node: str) -> None:
    assert plain_text(located(tests, "pytest", f"tests/test_it.py::{node}")) is None


RELATIVE = """\
\"\"\"A module.\"\"\"
from __future__ import annotations
import sys
from . import numbers
from .numbers import SEVEN as seven
if True:
    from .deep.inner import (
        EIGHT,
    )
print(sys.argv[1:], numbers.SEVEN, seven, EIGHT, __name__)
"""


@pytest.mark.parametrize("args", [(), ("--n", "7")])
def test_a_module_as_a_script(package: Path, args: tuple[str, ...]) -> None:
    inner = "from ..numbers import SEVEN\nEIGHT = SEVEN + 1\n"
    folder(package, {"pkg/rel.py": RELATIVE, "pkg/deep/__init__.py": "", "pkg/deep/inner.py": inner})
    plain = plain_script(located(package, "pkg.rel", *args))
    assert plain is not None and "from ." not in plain.text
    there = python("-m", "pkg.rel", *args, cwd=package).stdout
    assert there == f"{list(args)} 7 7 8 __main__\n" == python("-c", plain.text, cwd=package).stdout
    one = bundle(package / "rel.py", plain.text, roots=plain.roots)
    assert python("-c", one.text, cwd=package / "pkg" / "deep").stdout == there


@pytest.mark.parametrize(
    "node, end",
    [
        ("test_own_type", "Odd: 7"),
        ("test_fixture", "KeyError: 'in a fixture'"),
        ("TestOld::test_old", "AssertionError: 7 != 8"),
    ],
)
def test_a_test_in_one_file(tests: Path, node: str, end: str) -> None:
    plain = plain_script(located(tests, "pytest", f"tests/test_it.py::{node}"))
    assert plain is not None
    one = bundle(tests / "pytest_test_it.py", plain.text, roots=plain.roots)
    assert python("-c", one.text, cwd=tests / "tests").stderr.splitlines()[-1] == end


def test_what_a_command_enters(tests: Path) -> None:
    assert entry_files(located(tests, "pkg.tells")) == (EntryFile(tests / "pkg" / "tells.py"),)
    both = located(tests, "pytest", "tests/test_it.py::test_a", "tests/test_it.py::test_b", "-x")
    assert entry_files(both) == (EntryFile(tests / "tests" / "test_it.py", ("test_a", "test_b")),)


@pytest.mark.parametrize(
    "module, args, words",
    [
        ("nope", (), "no such module"),
        ("pkg.nope", (), "no such module"),
        ("pkg.tells.nope", (), "no such module"),
        ("pkg", (), "has no __main__"),
        ("pytest", ("tests/nope.py::test",), "no test file tests/nope.py"),
        ("unittest", ("tests/nope.py",), "no test file tests/nope.py"),
    ],
)
def test_what_is_not_there(package: Path, module: str, args: tuple[str, ...], words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        located(package, module, *args)
    assert "\n" not in str(caught.value)


def test_a_package_is_not_run_to_find_a_module_in_it(package: Path) -> None:
    (package / "pkg" / "__init__.py").write_text("raise RuntimeError('this fault is for the run to show')\n")
    assert located(package, "pkg.tells").file == package / "pkg" / "tells.py"


@pytest.mark.parametrize(
    "words, module, args, file",
    [
        (["--jobs", "2", "-m", "pkg.bench", "--n", "7", "--jobs", "x"], "pkg.bench", ("--n", "7", "--jobs", "x"), None),
        (["-mpkg.bench", "./a//b", "--", "-m"], "pkg.bench", ("./a//b", "--", "-m"), None),
        (["--quiet", "-m", "pytest"], "pytest", (), None),
        (["x.py", "--", "-m", "pytest"], None, ("-m", "pytest"), Path("x.py")),
        (["--oracle", "-m", "x.py"], None, (), Path("x.py")),
    ],
)
def test_all_that_follows_is_the_modules(
    words: list[str], module: str | None, args: tuple[str, ...], file: Path | None
) -> None:
    given = reduce_command.make_context("shrink", list(words)).params
    assert (given["module"], given["args"], given["file"]) == (module, args, file)


RANKS = """\
import os, sys
print(__name__, sys.argv, os.path.samefile(sys.path[0], os.path.dirname(__file__)))
ends = ("_RANK", "WORLD_SIZE", "MASTER_ADDR", "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_MAX_RESTARTS")
print(*[f"{name} {os.environ[name]}" for name in sorted(os.environ) if name.endswith(ends)], sep="\\n")
"""


def test_one_process_of_torchrun_is_what_torchrun_starts(tmp_path: Path) -> None:
    folder(tmp_path, {"sub/ranks.py": RANKS})
    words = ("torch.distributed.run", "--nproc-per-node", "1", "sub/ranks.py", "--op", "x y")
    there, here = python("-m", *words, cwd=tmp_path), driven(tmp_path, *words)
    assert there.stdout.startswith("__main__ ['sub/ranks.py', '--op', 'x y'] True\n"), there
    ours, theirs = (said.stdout.replace("127.0.0.1", "localhost") for said in (here, there))
    assert "\nLOCAL_RANK 0\n" in theirs and ours == theirs
    plain = plain_script(located(tmp_path, *words))
    assert plain is not None and plain.roots == (tmp_path / "sub", tmp_path)
    (tmp_path / "plain.py").write_text(plain.text)
    said = python("plain.py", cwd=tmp_path).stdout
    assert said.startswith("__main__ ['plain.py', '--op', 'x y']")
    assert said.splitlines()[1:] == here.stdout.splitlines()[1:]


def test_unittest_takes_files_and_dotted_names(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    for name in ("test_a.py", "tests/test_b.py"):
        (tmp_path / name).touch()
    named = unittest_files(["-v", "test_a.py", "tests.test_b.More.test_c", "test_a", "nowhere.test"], tmp_path)
    assert named == [(Path("test_a.py"), ""), (Path("tests/test_b.py"), "More::test_c"), (Path("test_a.py"), "")]


def test_what_python_has_itself_is_no_file_to_reduce(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text("import unittest\n")
    found = {module: locate(module, args, python=sys.executable, cwd=tmp_path, environment=os.environ).file for
             module, args in (("unittest", ("test_a.py",)), ("timeit", ()), ("pip", ()))}  # fmt: skip
    assert found["unittest"] == tmp_path / "test_a.py" and found["timeit"] is None
    assert found["pip"] is not None and found["pip"].name == "__main__.py"


def test_unittest_becomes_calls_of_the_tests_it_names(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text(
        "import unittest\n\n\nclass Rows(unittest.TestCase):\n    def setUp(self):\n        self.n = 3\n\n"
        "    def test_one(self):\n        pass\n\n    def test_two(self):\n        assert self.n == 4, 'four'\n"
    )
    for word in ("test_a.Rows.test_two", "test_a.py"):
        plain = plain_script(locate("unittest", (word,), python=sys.executable, cwd=tmp_path, environment=os.environ))
        assert plain is not None
        with pytest.raises(AssertionError, match="four"):
            exec(compile(plain.text, "plain.py", "exec"), {"__name__": "__main__"})
        assert ("test_one()" in plain.text) == (word == "test_a.py")


def test_the_driver_of_unittest_raises_what_failed_first(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text(
        "import unittest\n\n\nclass Rows(unittest.TestCase):\n    def test_one(self):\n"
        "        with self.subTest(n=1):\n            raise LookupError('gone')\n\n"
        "    def test_two(self):\n        self.fail('later')\n"
    )

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = locate("unittest", words, python=sys.executable, cwd=tmp_path, environment=os.environ)
        return subprocess.run([sys.executable, "-c", command.text], cwd=tmp_path, capture_output=True, text=True)

    failed = run("test_a.py")
    assert failed.returncode == 1 and failed.stderr.rstrip().endswith("LookupError: gone")
    assert "later" not in failed.stderr and "unittest/case.py" not in failed.stderr
    assert run("test_a.Rows.test_two").stderr.rstrip().endswith("AssertionError: later")
    assert run("-k", "nothing", "test_a").returncode != 0
