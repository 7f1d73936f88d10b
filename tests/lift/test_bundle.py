"""Many modules become one file: real small packages, run before and after as plain Python."""

from __future__ import annotations

import ast
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from shrinkray_gpu.lift.bundle import Bundle, bundle

Files = dict[str, str]
Same = Callable[..., Bundle]


@pytest.fixture
def made(tmp_path: Path) -> Callable[[Files], Path]:
    def make(files: Files) -> Path:
        for name, text in files.items():
            path = tmp_path / "project" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path / "project"

    return make


def output(script: Path, cwd: Path) -> str:
    run = subprocess.run(
        [sys.executable, "-B", "-S", str(script)], cwd=cwd, capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.fixture
def same(tmp_path: Path, made: Callable[[Files], Path]) -> Same:
    """same(files): `main.py` of these says the same as one file, which lies where no module is."""

    def check(files: Files, obstacles: int = 0) -> Bundle:
        project = made(files)
        script = project / "main.py"
        before = output(script, project)
        assert before, "the program shows nothing"
        result = bundle(script, script.read_text(), roots=[project])
        assert len(result.obstacles) == obstacles, result.obstacles
        apart = tmp_path / "apart"
        apart.mkdir()
        one = (project if obstacles else apart) / "one_file.py"
        one.write_text(result.text)
        assert output(one, apart) == before, result.text
        return result

    return check


# The ways to import


@pytest.mark.parametrize(
    "lines",
    [
        "import pkg.mod\nprint(pkg.mod.f(3))",
        "import pkg.mod as m\nprint(m.f(3), m.SIZE)",
        "import pkg, pkg.mod, sys\nprint(pkg.mod.f(3))",
        "from pkg import mod\nprint(mod.f(3))",
        "from pkg import mod as other\nprint(other.f(3))",
        "from pkg.mod import f\nprint(f(3))",
        "from pkg.mod import f as g, SIZE\nprint(g(SIZE))",
        "from pkg.mod import *\nprint(f(3), SIZE)",
        "def later():\n    from pkg.mod import f\n    return f(3)\nprint(later())",
        "def later():\n    import pkg.mod\n    return pkg.mod.f(3)\nprint(later())",
        "class Holder:\n    from pkg.mod import f\n    import pkg.mod as own\nprint(Holder.f(3), Holder.own.SIZE)",
        "if True:\n    from pkg.mod import f\nprint(f(3))",
        "try:\n    from pkg.mod import f\nexcept ImportError:\n    f = None\nprint(f(3))",
        "try:\n    from pkg.gone import f\nexcept ImportError:\n    from pkg.mod import f\nprint(f(3))",
        "try:\n    from pkg.mod import gone\nexcept ImportError as error:\n    print('no', type(error).__name__)",
        "import pkg.mod; print(pkg.mod.f(3)); from pkg.mod import f; print(f(4))",
        "with open(__file__):\n    import pkg.mod as m\nprint(m.f(3))",
        "if __name__ == '__main__':\n    from pkg.mod import f\n    print(f(3))",
    ],
)
@pytest.mark.parametrize("init", ["", "from .mod import f\n", "from . import mod\n", "from .mod import *\n", None])
def test_every_form_of_import(lines: str, init: str | None, same: Same) -> None:
    mod = (
        '"""Doc."""\nSIZE = 4\n_secret = 1\ndef f(x):\n    return g(x) + SIZE\ndef g(x):\n    return x * 10 + _secret\n'
    )
    files = {"main.py": lines + "\n", "pkg/mod.py": mod}
    result = same(files if init is None else {**files, "pkg/__init__.py": init})
    assert "pkg.mod" in result.modules
    assert not any(
        isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").startswith("pkg"))
        for node in ast.walk(ast.parse(result.text))
    )


def test_the_result_reads_well(made: Callable[[Files], Path]) -> None:
    project = made(
        {
            "main.py": '"""Shows it."""\n\nimport torch\n\nfrom kernels import add\n\nadd(torch)\n',
            "kernels.py": '"""Kernels."""\nimport torch\n\n# Adds.\ndef add(x):\n    print(x is torch)\n\n\n'
            'if __name__ == "__main__":\n    add(1)\n',
        }
    )
    result = bundle(project / "main.py", (project / "main.py").read_text(), roots=[project])
    assert result == Bundle(
        '"""Shows it."""\n\nimport torch\n\n\n# kernels.py\n# Adds.\ndef add(x):\n    print(x is torch)\n\n\n'
        "# main.py\nadd(torch)\n",
        ("kernels",),
    )


def test_a_script_alone_stays_as_it_is(made: Callable[[Files], Path]) -> None:
    text = "import os\nfrom math import *\n\nprint(os.sep, pi)\n"
    project = made({"main.py": text})
    assert bundle(project / "main.py", text, roots=[project]) == Bundle(text)


# Names


def test_names_that_clash_are_kept_apart(same: Same) -> None:
    same(
        {
            "main.py": "import a\nimport b\nimport math as np\n\ndef f():\n    return 'main'\n\nx = 1\n"
            "def show(x, a_f=5):\n    b_f = 2\n    return [a.f() for a_x in 'ab'], b.f(), f(), x, np.pi, a_f, b_f\n"
            "print(show(x=3), a.x, b.x)\n",
            "a.py": "import cmath as np\nx = 'ax'\ndef f():\n    return ('a', x, np.pi, np.phase(1))\n",
            "b.py": "x = 'bx'\ndef f(x=x):\n    global count\n    count = x\n    return ('b', x, count)\ncount = 0\n",
        }
    )


def test_a_builtin_that_one_module_redefines_stays_for_the_others(same: Same) -> None:
    result = same(
        {
            "main.py": "from a import top\nprint(max(1, 2), top([3, 4]))\n",
            "a.py": "def max(x):\n    return ('mine', x)\ndef top(x):\n    return max(x)\n",
        }
    )
    assert "a_max" in result.text


def test_a_local_variable_hides_no_global(same: Same) -> None:
    same(
        {
            "main.py": "import conf\n\ndef show(size):\n    block = conf.block\n    def inner(f=conf.size):\n"
            "        return conf.size + size + f\n    return inner(), [conf.x for x in range(2)], block\n\n"
            "class K:\n    block = conf.block * 2\n    size = conf.size\n    def m(self):\n"
            "        return conf.block\n\n"
            "print(show(1), K.block, K().m(), (lambda x: conf.x + x)(1))\n",
            "conf.py": "size, block, x = 10, 20, 30\n",
        }
    )


def test_what_is_assigned_to_a_module_is_seen_by_it_alone(same: Same) -> None:
    same(
        {
            "main.py": "import ops\nfrom ops import scale, level\nimport kernels\n\ndef fake(x):\n"
            "    return ('fake', x)\n\n"
            "print(ops.run(1), scale, level)\nops.kernel = fake\nops.scale = 7\n"
            "def deeper():\n    '''Doc.'''\n    ops.level += 1\n    ops.new = 'new'\ndeeper()\n"
            "print(ops.run(1), scale, level, kernels.kernel(2), ops.new)\n",
            "ops.py": "from kernels import kernel\nscale = 2\nlevel = 0\ndef run(x):\n"
            "    return kernel(x), scale, level\n",
            "kernels.py": "def kernel(x):\n    return ('real', x)\n",
        }
    )


def test_a_counter_that_a_module_rebinds(same: Same) -> None:
    same(
        {
            "main.py": "import state\nfrom state import count, bump\nbump(); bump()\nprint(count, state.count)\n",
            "state.py": "count = 0\ndef bump():\n    global count\n    count += 1\n",
        }
    )


def test_nested_scopes_and_patterns(same: Same) -> None:
    same(
        {
            "main.py": "import a, b\n\nvalue = 'main'\n"
            "def outer():\n    seen = []\n    def inner():\n        nonlocal seen\n        seen = [*seen, a.value]\n"
            "    inner()\n    match seen:\n        case [value]:\n            return value, b.value, a.Shape(x=1).x\n\n"
            "print(outer(), value, f'{a.value!r:>8} {b.value=!s}'.replace('b_value', 'b.value'))\n",
            "a.py": "value = 'a'\nclass Shape:\n    value = 3\n    def __init__(self, x):\n"
            "        self.x = x + self.value\n",
            "b.py": "value = 'b'\n",
        }
    )


# Packages and order


def test_order_is_that_of_the_imports(same: Same) -> None:
    result = same(
        {
            "main.py": "print('main')\nimport pkg.b\nprint('between')\nimport pkg.a\nprint('end')\n",
            "pkg/__init__.py": "print('pkg')\n",
            "pkg/a.py": "print('a begins')\nfrom . import c\nprint('a ends')\n",
            "pkg/b.py": "from .a import *\nprint('b')\n",
            "pkg/c.py": "print('c')\n",
        }
    )
    assert result.modules[-1] == "pkg.b"


def test_a_circle_of_imports(same: Same) -> None:
    same(
        {
            "main.py": "from pkg import even, odd\nprint(even(10), odd(7))\n",
            "pkg/__init__.py": "from .a import even\nfrom .b import odd\n",
            "pkg/a.py": "from . import b\n\ndef even(n):\n    return n == 0 or b.odd(n - 1)\n",
            "pkg/b.py": "import pkg.a as a\n\ndef odd(n):\n    from .a import even\n    return n != 0 and even(n - 1) "
            "and a.even(n - 1)\n",
        }
    )


def test_a_function_named_as_its_module(same: Same) -> None:
    same(
        {
            "main.py": "import pkg\nfrom pkg import flash\nfrom pkg.flash import helper\n"
            "print(flash(2), pkg.flash(3), helper())\n",
            "pkg/__init__.py": "from .flash import flash\n",
            "pkg/flash.py": "def helper():\n    return 1\ndef flash(x):\n    return x + helper()\n",
        }
    )


def test_future_lines_come_to_the_top(same: Same) -> None:
    result = same(
        {
            "main.py": "'''Doc.'''\nimport a\nprint(a.f(1), __doc__)\n",
            "a.py": "from __future__ import annotations\n\ndef f(x: Undefined) -> Nothing:\n    return x\n",
        }
    )
    assert result.text.count("__future__") == 1


def test_what_is_for_type_checkers_is_dropped(same: Same) -> None:
    result = same(
        {
            "main.py": "from a import f\nprint(f(1))\n",
            "a.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from gone import T\n\ndef f(x: 'T'):\n"
            "    return x\n",
        }
    )
    assert "gone" not in result.text


def test_a_module_within_a_block(same: Same) -> None:
    """`noisy` does something on import: it stays within the `if`, indented, its strings untouched."""
    noisy = 'TEXT = """one\n  two\n"""\nprint("noisy")\n\ndef f():\n    return TEXT\n'
    same(
        {"main.py": "import sys\nif sys.argv:\n    print(1)\n    from noisy import f\nprint(f())\n", "noisy.py": noisy}
    )


# Modules as objects


def test_a_module_as_an_object(same: Same) -> None:
    same(
        {
            "main.py": "import a\nimport b\n\ndef use(module, name):\n    return getattr(module, name)()\n\n"
            "print(use(a, 'f'), use(b, 'f'), getattr(a, 'x'), hasattr(b, 'x'), [n for n in vars(b) if n[0] != '_'])\n"
            "table = {'a': a, 'b': b}\nprint([table[key].f() for key in table])\n",
            "a.py": "x = 1\ndef f():\n    return 'af'\n",
            "b.py": "def f():\n    return 'bf'\n",
        }
    )


def test_a_module_changed_as_an_object(same: Same) -> None:
    same(
        {
            "main.py": "import a\nfrom a import run\nsetattr(a, 'level', 5)\nprint(run(), a.level)\n",
            "a.py": "level = 1\ndef run():\n    return level\n",
        }
    )


def test_one_of_two_modules(same: Same) -> None:
    same(
        {
            "main.py": "try:\n    import fast as impl\nexcept ImportError:\n    import slow as impl\n"
            "print(impl.f(2))\n",
            "fast.py": "import not_there_at_all\ndef f(x):\n    return x\n",
            "slow.py": "def f(x):\n    return x * 2\n",
        }
    )


# Files


def test_a_module_knows_its_name_and_file(same: Same, tmp_path: Path) -> None:
    result = same(
        {
            "main.py": "from pkg import data\nprint(data.load(), data.NAME, data.__name__)\n",
            "pkg/__init__.py": "",
            "pkg/data.py": "import logging\nfrom pathlib import Path\n\nHERE = Path(__file__).parent\n"
            "NAME = f'{__name__} {logging.getLogger(__name__).name}'\n"
            "def load():\n    return (HERE / 'sub' / 'numbers.txt').read_text()\n",
            "pkg/sub/numbers.txt": "1 2 3\n",
        }
    )
    assert result.data == (tmp_path / "project" / "pkg" / "sub" / "numbers.txt",)


def test_a_file_below_the_working_folder_is_named_from_there(tmp_path: Path) -> None:
    """The same text wherever the project lies, as on another host. What lies elsewhere keeps its whole path."""
    texts = set()
    for name in ("here", "on_another_host"):
        project, beside = tmp_path / name, tmp_path / "beside"
        for path, text in {
            project / "main.py": "from pkg import coin\nimport far\nprint(coin.seen(), far.HERE)\n",
            project / "pkg" / "coin.py": "from pathlib import Path\ndef seen():\n"
            "    return Path(__file__).with_name('in.txt').read_text()\n",
            project / "pkg" / "in.txt": "1 2 3\n",
            beside / "far.py": "HERE = __file__\n",
        }.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        script = project / "main.py"
        one = bundle(script, script.read_text(), roots=[project, beside], cwd=project, relative=True)
        assert not one.obstacles and str(beside / "far.py") in one.text
        script.write_text(one.text)
        assert output(script, project) == f"1 2 3\n {beside / 'far.py'}\n"
        texts.add(one.text)
    assert len(texts) == 1 and str(tmp_path / "here") not in texts.pop()


@pytest.mark.parametrize(
    "path",
    [
        "'data/in.bin'",
        "os.path.join('data', 'in.bin')",
        "os.path.join(os.path.dirname(os.path.abspath(__file__)), 'data', 'in.bin')",
        "Path(__file__).resolve().parents[0] / 'data/in.bin'",
        "Path('data').joinpath('in.txt').with_suffix('.bin')",
    ],
)
def test_data_files_of_a_single_script(path: str, made: Callable[[Files], Path]) -> None:
    text = f"import os\nfrom pathlib import Path\nopen({path}).read()\nopen('data/none.bin')\nopen('/etc/hostname')\n"
    project = made({"main.py": text, "data/in.bin": "x"})
    assert bundle(project / "main.py", text, roots=[project]) == Bundle(text, data=(project / "data" / "in.bin",))


# What cannot be merged


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"a.py": "def __getattr__(name):\n    return 4\n", "main.py": "import a\nprint(a.x)\n"}, "__getattr__"),
        (
            {
                "a.py": "print('side effect')\nx = 4\n",
                "main.py": "def f():\n    import a\n    return a.x\nprint(f())\n",
            },
            "side effect",
        ),
        ({"a.py": "x = __spec__.name\n", "main.py": "import a\nprint(a.x)\n"}, "__spec__"),
        (
            {"a.py": "x = 4\n", "main.py": "import a, importlib\nprint(importlib.import_module('a') is a)\n"},
            "by its name in a string",
        ),
        (
            {
                "a.py": "def f():\n    return 4\n",
                "main.py": "import a\nfrom unittest.mock import patch\nwith patch('a.f', lambda: 5):\n"
                "    print(a.f())\n",
            },
            "by its name in a string",
        ),
        ({"a.py": "def f(:\n", "main.py": "try:\n    import a\nexcept SyntaxError:\n    print('bad')\n"}, "not Python"),
        (
            {"a.py": "x = list(globals())\ny = 1\n", "main.py": "import a\ny = 2\ny_ = a.y\nprint(y, y_)\n"},
            "",
        ),
    ],
)
def test_what_cannot_be_merged_stays_an_import(files: Files, why: str, same: Same) -> None:
    result = same(files, obstacles=1 if why else 0)
    assert all(each.startswith("a: ") and why in each for each in result.obstacles)
    assert ("import a" in result.text) == bool(why)


def test_all_that_an_unmerged_module_needs_stays_with_it(same: Same) -> None:
    """`state` must not be there twice."""
    result = same(
        {
            "main.py": "import state\nimport other\nfrom pkg.odd import read\nstate.x.append(1)\n"
            "print(read(), other.y)\n",
            "state.py": "x = []\n",
            "other.py": "y = 1\n",
            "pkg/odd.py": "import state\ndef read():\n    return state.x, __spec__.name\n",
        },
        obstacles=3,
    )
    assert result.modules == ("other",)
    assert "pkg.odd: it reads __spec__" in result.obstacles


def test_folders_that_the_script_puts_on_the_path(same: Same) -> None:
    result = same(
        {
            "main.py": "import os, sys\nsys.path.insert(0, os.path.join(os.path.dirname(__file__), 'src'))\n"
            "import a\nprint(a.x)\n",
            "src/a.py": "x = 1\n",
        }
    )
    assert result.modules == ("a",)


# Anything


MODULES = ("a", "p.b", "p.c", "p.q.d", "p", "p.q")
WORDS = ("f", "g", "x", "max", "b", "p")


class Writing:
    """A random program of some modules. What it looks up may well not be there; that is shown, too."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def files(self) -> Files:
        files = {"main.py": self.module("main", MODULES) + "print('done')\n"}
        for number, name in enumerate(MODULES):
            package = name in ("p", "p.q")
            later = () if package and self.random.random() < 0.5 else MODULES[number + 1 : 4]
            path = name.replace(".", "/") + ("/__init__.py" if package else ".py")
            files[path] = self.module(
                name, later if not package else tuple(m for m in MODULES if m.startswith(name + "."))
            )
        return files

    def module(self, name: str, others: tuple[str, ...]) -> str:
        choose = self.random.choice
        refs: list[str] = ["'lit'"]
        lines = []
        for _ in range(self.random.randint(1, 6)):
            kind = self.random.randint(0, 9)
            word = choose(WORDS)
            if kind <= 4 and others:
                line, ref = self.imported(choose(others))
                lines.append(line)
                refs += ref
            elif kind == 5:
                lines.append(f"{word} = ({name + '.' + word!r}, {self.some(refs)})")
                refs.append(word)
            elif kind == 6:
                lines.append(f"print({name!r}, {self.some(refs)})")
            elif kind == 7:
                lines.append(
                    f"def {word}({choose(WORDS)}=1):\n    {choose(WORDS)} = 2\n    return {name!r}, {self.some(refs)}"
                )
                refs.append(f"{word}()")
            elif kind == 8 and others:
                line, ref = self.imported(choose(others))
                inner = [*refs, *ref]
                if "*" not in line and "\n" not in line:
                    lines.append(
                        f"def {word}(y=0):\n    {line}\n    return {name!r}, {self.some(inner)}, {self.some(inner)}"
                    )
                    refs.append(f"{word}()")
            elif kind == 9:
                dots = [ref.removesuffix("()") for ref in refs if "." in ref and ref != "'lit'"]
                if dots:
                    new = self.some(refs)
                    target = choose(dots)
                    if self.random.random() < 0.5:
                        lines.append(f"{target} = {new}")
                    else:
                        lines.append(f"def change():\n    {target} = {new}\nchange()")
        return "\n".join(lines) + "\n"

    def some(self, refs: list[str]) -> str:
        return f"show(lambda: {self.random.choice(refs)})"

    def imported(self, other: str) -> tuple[str, list[str]]:
        choose = self.random.choice
        word, alias = choose(WORDS), choose(WORDS)
        above, _, last = other.rpartition(".")
        forms = [
            (f"import {other}", [f"{other}.{word}", f"{other}.{word}()"]),
            (f"import {other} as {alias}", [f"{alias}.{word}", f"{alias}.{word}()"]),
            (f"from {other} import *", [word, f"{word}()"]),
            (f"try:\n    from {other} import {word} as {alias}\nexcept ImportError:\n    {alias} = 'none'", [alias]),
        ]
        if above:
            forms.append((f"from {above} import {last} as {alias}", [f"{alias}.{word}", f"{alias}.{word}()"]))
        line, refs = choose(forms)
        return line, refs


SHOW = """
def show(look, depth=[0]):
    if depth[0] > 6:
        return "deep"
    depth[0] += 1
    try:
        value = look()
        return value if isinstance(value, (str, int, tuple)) else "thing"
    except (NameError, AttributeError, TypeError) as error:
        return "fails"
    finally:
        depth[0] -= 1

import builtins
builtins.show = show
"""


@settings(max_examples=40, deadline=None, phases=[Phase.generate])  # each one is two processes
@given(st.integers(0, 10**9))
def test_any_program(seed: int) -> None:
    files = Writing(Random(seed)).files()
    files["main.py"] = SHOW + files["main.py"]
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        for name, text in files.items():
            path = project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        result = bundle(project / "main.py", files["main.py"], roots=[project])
        (project / "one.py").write_text(result.text)
        before, after = (
            subprocess.run(
                [sys.executable, "-B", "-S", str(project / each)],
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=60,
            )
            for each in ("main.py", "one.py")
        )
        assume(before.returncode == 0)
        assert (after.stdout, after.returncode) == (before.stdout, 0), (result.text, after.stderr)


def test_a_package_on_the_way_may_stay_unread(made: Callable[[Files], Path], tmp_path: Path) -> None:
    """It loads modules by their names, which no single file can. What is wanted lies in a module that does not."""
    loading = "from importlib import import_module\nimport_module(f'pkg.ways.{max('a', 'b')}')\n"
    files = {"pkg/__init__.py": loading, "pkg/ways/b.py": "", "pkg/base.py": "one = 1\n"}
    files["pkg/rows.py"] = "from pkg.base import one\nrows = one + 1\n"
    project = made({**files, "pkg/sub/__init__.py": "two = 2\n"})
    asked = {"pkg.rows import rows": "2\n", "pkg.sub import two as rows": "2\n", "pkg import x as rows": ""}
    for wanted, said in asked.items():
        (script := project / "main.py").write_text(f"from {wanted}\nprint(rows)\n")
        assert bundle(script, script.read_text(), roots=[project]).obstacles
        bare = bundle(script, script.read_text(), roots=[project], bare=True)
        assert bool(bare.obstacles) is not bool(said), "what it defines itself takes the package"
        (one := tmp_path / "one_file.py").write_text(bare.text)
        assert not said or output(one, tmp_path) == said, bare.text
