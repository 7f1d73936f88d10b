"""What must not be touched: what the user marked, and what a call that deletes, writes or spawns hangs on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from pathlib import Path
from textwrap import dedent

import libcst as cst
import pytest

from shrinkray_gpu.passes import PASSES, Pass, inlining
from shrinkray_gpu.passes.host import configs
from shrinkray_gpu.passes.python import constants, expressions, numbers
from shrinkray_gpu.reduction.edit import Change, Edit, Insert, Remove, Replace, Unwrap
from shrinkray_gpu.reduction.keep import allowed_edits
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.rendering.render import render


def program_of(source: str) -> Program:
    return Program.from_text(dedent(source).lstrip("\n"))


def node(program: Program, text: str, kind: type[cst.CSTNode] = cst.CSTNode) -> cst.CSTNode:
    """The outermost node of this kind that reads like this."""
    found = [n for n, (a, b) in program.spans.items() if program.text[a:b] == text and isinstance(n, kind)]
    return max(found, key=lambda n: program.layout.outer[n][1] - program.layout.outer[n][0])


def passes(program: Program, *changes: Change, keep: str = "") -> bool:
    return bool(allowed_edits(program, [Edit("test", changes)], frozenset(keep.split())))


def removable_lines(source: str, keep: str = "") -> list[str]:
    """The lines whose statements may go, one at a time."""
    program = program_of(source)
    out = []
    for line in program.layout.outer:
        if isinstance(line, cst.SimpleStatementLine) and passes(program, Remove(line), keep=keep):
            first, last = program.spans[line]
            out.append(program.text[first:last])
    return out


class TestMarks:
    SOURCE = """
    def kernel(x):
        y = x
        return y
    class Config: block = 4
    BLOCK = 8
    a = 1  # shrink: keep
    b = 2
    # shrink: keep
    c = 3
    for i in d:  # shrink: keep
        e = 5
        f = 6
    # shrink: keep-begin
    g = 7
    if h:
        i = 8
    # shrink: keep-end
    j = "# shrink: keep"
    """

    def test_named_definitions_and_marked_statements_stay(self) -> None:
        assert removable_lines(self.SOURCE, keep="kernel BLOCK") == ["b = 2", 'j = "# shrink: keep"']
        assert removable_lines(self.SOURCE) == ["y = x", "return y", "BLOCK = 8", "b = 2", 'j = "# shrink: keep"']

    def test_of_a_marked_head_the_condition_stays(self) -> None:
        program = program_of("""
        for i in rows:  # shrink: keep-head
            if i > limit:  # shrink: keep-head
                a = 1
            elif i:
                b = 2
        while c:
            d = 3
        """)
        loop, test, other = (node(program, text) for text in ("rows", "i > limit", "c"))
        assert not passes(program, Replace(loop, ("[]",))) and not passes(program, Replace(test, ("True",)))
        assert passes(program, Replace(other, ("True",)))
        outer, inner = program.parents[loop], program.parents[test]
        assert isinstance(inner, cst.If)
        assert not passes(program, Remove(outer)) and not passes(program, Unwrap(inner, (inner.body,)))
        lines = removable_lines(program.text)
        assert lines == ["a = 1", "b = 2", "d = 3"]

    def test_of_an_assignment_whose_head_is_marked_the_value_stays(self) -> None:
        program = program_of("""
        out = f(x)  # shrink: keep-head
        print(out)
        """)
        [assignment], value = program.layout.nodes(cst.Assign), node(program, "f(x)")
        assert passes(program, Replace(assignment, (value,))) and not passes(program, Replace(value, ("None",)))
        assert removable_lines(program.text) == ["print(out)"]

    def test_of_marked_parts_each_stays(self) -> None:
        program = program_of("""
        kernel[(1,)](x, out, n=n, WIDTH=(width //
            2), SIDE=4)  # shrink: keep-parts n ;; width // 2
        """)
        arguments = [each for each in program.layout.nodes(cst.Arg)]
        goes = [passes(program, Remove(each)) for each in sorted(arguments, key=lambda each: program.spans[each])]
        assert goes == [True, True, False, False, True]
        keyword, value = (each for each in program.layout.nodes(cst.Name) if each.value == "n")
        assert passes(program, Replace(keyword, ("m",))) and not passes(program, Replace(value, ("m",)))
        assert not passes(program, Replace(node(program, "width"), ("8",)))
        assert removable_lines(program.text) == []

    def test_what_another_kept_statement_reads_need_not_be_read_elsewhere(self) -> None:
        source = """
        a = 1  # shrink: keep
        b = a + 1  # shrink: keep
        print(a)
        print(b)
        """
        assert removable_lines(source) == ["print(a)"]
        assert removable_lines(source + "kernel[1](a)\n") == ["print(a)"]

    def test_a_variable_is_read_in_the_function_that_has_it(self) -> None:
        source = """
        def f(n):
            a = n  # shrink: keep
            b = a
            return b
        def g(n):
            a = n
            return a
        """
        assert removable_lines(source) == ["return b", "a = n", "return a"]

    def test_of_a_marked_function_decorators_defaults_and_constants_stay(self) -> None:
        program = program_of("""
        @tuned(BLOCK=lambda width: width // 2)
        def kernel(x, n, BLOCK: tl.constexpr, SIDE: int = 4):  # shrink: keep-head
            a = 1
        """)
        [decorator] = program.layout.nodes(cst.Decorator)
        assert not passes(program, Remove(decorator))
        given = {each.name.value: each for each in program.layout.nodes(cst.Param)}
        goes = {name: passes(program, Remove(each)) for name, each in given.items()}
        assert goes == {"x": True, "n": True, "width": False, "BLOCK": False, "SIDE": False}
        assert removable_lines(program.text) == ["a = 1"]

    def test_nothing_inside_a_kept_definition_changes(self) -> None:
        program = program_of(self.SOURCE)
        function = node(program, "x", cst.Param)
        assert passes(program, Remove(function))
        assert not passes(program, Remove(function), keep="kernel")
        assert not passes(program, Insert(node(program, "return y"), (("pass",),)), keep="kernel")

    def test_statements_may_be_put_before_a_kept_one(self) -> None:
        program = program_of(self.SOURCE)
        assert passes(program, Insert(node(program, "a = 1", cst.SimpleStatementLine), (("pass",),)))

    def test_what_is_around_may_go_if_the_kept_part_stays(self) -> None:
        program = program_of(
            """
            if a:
                b = 1  # shrink: keep
                c = 2
            else:
                d = 3
            """
        )
        (question,) = program.module.body
        assert isinstance(question, cst.If) and isinstance(question.orelse, cst.Else)
        assert passes(program, Unwrap(question, (question.body,)))
        assert not passes(program, Unwrap(question, (question.orelse.body,)))
        assert passes(program, Remove(question.orelse))
        assert not passes(program, Remove(question))
        assert not passes(program, Remove(question.body))

    def test_the_end_mark_outlives_the_statement_below_it(self) -> None:
        source = "# shrink: keep-begin\na = 1\n# shrink: keep-end\nb = 2\nc = 3\n"
        program = program_of(source)
        smaller = render(program, [Edit("", (Remove(program.module.body[1]),))])
        assert smaller.text == "# shrink: keep-begin\na = 1\n# shrink: keep-end\nc = 3\n"
        assert removable_lines(smaller.text) == ["c = 3"]

    def test_what_a_kept_statement_assigns_is_still_read_somewhere(self) -> None:
        program = program_of("strides = swap(x)  # shrink: keep\nf(*strides)\ng(strides)\n")
        first, second = (node(program, call, cst.Expr) for call in ("f(*strides)", "g(strides)"))
        assert passes(program, Remove(first)) and not passes(program, Remove(second))
        assert not passes(program, Remove(first), Remove(second))
        alone = program_of("strides = swap(x)  # shrink: keep\nf(*strides)\n")
        read = [each for each in alone.layout.nodes(cst.Name) if each.value == "strides"][-1]
        assert not passes(alone, Replace(read, ("(1, 2)",)))

    def test_the_launch_that_is_passed_a_kept_value_goes_on_reading_it(self) -> None:
        """Not the kernel's parameter of that name, nor the grid."""
        program = program_of("rows = x[0] * x[1]  # shrink: keep\nk[(rows,)](x, rows)\ndef k(x, rows):\n    rows\n")
        read = [each for each in program.layout.nodes(cst.Name) if each.value == "rows"]
        assert [passes(program, Replace(each, ("2",))) for each in read] == [False, True, False, True, True]

    def test_a_class_field_is_no_variable(self) -> None:
        program = program_of("class C:\n    rid: int = 3  # shrink: keep\nfor rid in x:\n    print(rid)\n")
        assert passes(program, Remove(node(program, "for rid in x:\n    print(rid)", cst.For)))

    def test_a_field_of_that_name_is_no_mention(self) -> None:
        program = program_of("cfg = C()  # shrink: keep\nf(cfg)\nk[(1,)](x, self.cfg.n)\n")
        first, second = (node(program, call, cst.Expr) for call in ("f(cfg)", "k[(1,)](x, self.cfg.n)"))
        assert not passes(program, Remove(first)) and passes(program, Remove(second))

    def test_a_copy_of_a_kept_statement_goes_with_what_is_around_it(self) -> None:
        kept = "    rows = x[0]  # shrink: keep\n"
        program = program_of(f"def f(x):\n{kept}def g(x):\n{kept}    f(rows)\n")
        first, second = program.module.body
        assert passes(program, Remove(first)) and not passes(program, Remove(second))
        assert not passes(program, Remove(first), Remove(second))

    def test_an_edit_is_kept_or_dropped_whole(self) -> None:
        program = program_of("a = 1  # shrink: keep\nb = 2\n")
        first, second = program.module.body
        assert passes(program, Remove(second))
        assert not passes(program, Remove(second), Remove(first))

    def test_without_marks_everything_goes(self) -> None:
        program = program_of("a = 1\n")
        edits = [Edit("all", (Remove(program.module.body[0]),))]
        assert allowed_edits(program, edits, frozenset()) == edits


KEEP_THEIR_PATH = (
    """
    os.remove(p) | os.unlink(p) | os.system(p) | os.replace(p, q) | shutil.copy2(p, q) | subprocess.run([p]) | rm(p)
    subprocess.Popen(p, shell=True) | Path(p).unlink() | Path(p).write_text(data) | Path(p).mkdir() | o.remove(p)
    Path(p).rename(q) | Path(p).replace(q) | open(p, 'w') | open(p, mode) | open(p, mode='ab') | Path(p).open('x')
    torch.save(data, p) | torch.save(data, f=p) | np.save(p, data) | numpy.savez(p, data) | torch.jit.save(data, p)
    data.tofile(p) | data.to_csv(p) | data.to_csv(path_or_buf=p) | figure.savefig(p) | profiler.export_chrome_trace(p)
    atexit.register(os.remove, p) | functools.partial(rm, p) | list(map(o.remove, [p])) | tidy(p) | move(p, q)
""".strip()
    .replace("\n", "|")
    .split("|")
)
HARMLESS = (
    """
    open(p) | open(p, 'rb') | Path(p).open() | items.remove(p) | text.replace(p, q) | torch.load(p) | run(p)
    torch.save(p, 'fixed.pt') | np.save('fixed.npy', p) | Path('x').write_text(p) | dict.copy(p)
    p.tofile('fixed.bin') | atexit.register(print, p) | ctx.save_for_backward(p)
""".strip()
    .replace("\n", "|")
    .split("|")
)


def test_the_condition_of_a_kernel_s_assertion_stays_as_long_as_it_does() -> None:
    """`static_assert(0 == tl.float32, ...)` fails in the same words, and of nothing that was wrong."""
    program = program_of("""
    @triton.jit
    def kernel(x_ptr):
        tl.static_assert(x_ptr.dtype == tl.float32, "rows must be float32")
    """)
    assertion = node(program, 'tl.static_assert(x_ptr.dtype == tl.float32, "rows must be float32")', cst.Call)
    assert not passes(program, Replace(node(program, "x_ptr.dtype"), ("0",)))
    assert not passes(program, Replace(node(program, "x_ptr.dtype == tl.float32"), ("False",)))
    assert passes(program, Replace(assertion, ("0",)))


@pytest.mark.parametrize(("test", "may_go"), [("True", True), ("BLOCK > 4", False)])
def test_what_an_assertion_hangs_on_goes_only_where_it_is_decided(test: str, may_go: bool) -> None:
    program = program_of(f"""
    @triton.jit
    def kernel(n, BLOCK: tl.constexpr):
        if {test}:
            tl.static_assert(n > 1)
    """)
    (branch,) = program.layout.nodes(cst.If)
    assert isinstance(branch, cst.If)
    assert passes(program, Unwrap(branch, keep=(branch.body,))) == may_go


def test_the_target_of_a_compilation_stays_as_long_as_that() -> None:
    """For a GPU that there is none of, many kernels fail in the same words."""
    program = program_of("""
    for warps in (4, 8):
        triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": warps})
    """)
    target = node(program, 'target=GPUTarget("cuda", 90, 32)', cst.Arg)
    assert not passes(program, Replace(node(program, "90"), ("0",)))
    assert not passes(program, Remove(target))
    assert not passes(program, Replace(node(program, 'GPUTarget("cuda", 90, 32)', cst.Call), ("None",)))
    (loop,) = program.layout.nodes(cst.For)
    assert isinstance(loop, cst.For)
    assert passes(program, Unwrap(loop, keep=(loop.body,))) and passes(program, Remove(loop))
    computed = program_of('triton.compile(source, target=GPUTarget("cuda", arch, 32))')
    assert passes(computed, Replace(node(computed, "arch"), ("90",)))


class TestDangerousCalls:
    SOURCE = """
    import os, shutil
    from os.path import join
    root = "/tmp"
    name = "a" + "b"
    name += "c"
    other = 5
    shutil.rmtree(join(root, name))
    print(other, root)
    """

    def test_what_the_arguments_are_made_of_stays(self) -> None:
        assert removable_lines(self.SOURCE) == ["other = 5", "shutil.rmtree(join(root, name))", "print(other, root)"]

    def test_the_call_may_go_but_not_change(self) -> None:
        program = program_of(self.SOURCE)
        call = node(program, "shutil.rmtree(join(root, name))", cst.Call)
        inner = node(program, "join(root, name)", cst.Call)
        assert passes(program, Replace(call, ("0",)))
        assert passes(program, Replace(call, (inner,)))
        assert not passes(program, Replace(inner, (node(program, "root", cst.Arg),)))
        assert not passes(program, Remove(node(program, "name", cst.Arg)))
        assert not passes(program, Replace(node(program, '"b"'), ("''",)))
        assert not passes(program, Replace(node(program, '"a" + "b"'), ("''",)))
        assert passes(program, Replace(node(program, "5"), ("0",)))

    def test_the_call_may_go_together_with_what_it_needed(self) -> None:
        program = program_of(self.SOURCE)
        lines = [Remove(statement) for statement in program.module.body]
        assert passes(program, lines[6], lines[2], lines[3])
        assert not passes(program, lines[2])

    @pytest.mark.parametrize("call", KEEP_THEIR_PATH)
    def test_each_of_these_keeps_its_path(self, call: str) -> None:
        imports = "import os, shutil, subprocess, torch, numpy, numpy as np, os as o\nfrom os import remove as rm\n"
        imports += "from shutil import *\ntidy = shutil.rmtree\n"
        assert "p = 1" not in removable_lines(f"{imports}p = 1\n{call.strip()}\n")

    @pytest.mark.parametrize("call", HARMLESS)
    def test_these_are_harmless(self, call: str) -> None:
        assert "p = 1" in removable_lines(f"import torch\nimport numpy as np\np = 1\n{call.strip()}\n")

    def test_values_come_through_parameters_attributes_and_method_calls(self) -> None:
        source = """
        import shutil
        from argparse import ArgumentParser
        class Config:
            root: str = "/tmp/x"
            steps: int = 3
        parser = ArgumentParser()
        parser.add_argument("--out", default="/tmp/y")
        args = parser.parse_args()
        unrelated = 1
        def clean(folder, verbose):
            path = folder + "z"
            note = verbose
            shutil.rmtree(path)
        config = Config()
        clean(args.out, unrelated)
        shutil.rmtree(config.root)
        clean(config.root, 2)
        """
        assert removable_lines(source) == [
            "unrelated = 1",
            "note = verbose",
            "shutil.rmtree(path)",
            "clean(args.out, unrelated)",
            "shutil.rmtree(config.root)",
            "clean(config.root, 2)",
        ]

    def test_a_function_that_passes_its_parameter_on_is_as_dangerous(self) -> None:
        program = program_of(
            """
            import shutil
            def clean(folder, verbose): shutil.rmtree(folder)
            if wanted:
                clean("a", 5)
            """
        )
        question = program.module.body[2]
        assert isinstance(question, cst.If)
        assert not passes(program, Replace(node(program, '"a"'), ("''",)))
        assert not passes(program, Unwrap(question, (question.body,)))
        assert passes(program, Replace(node(program, "5"), ("0",)))
        assert passes(program, Remove(question))

    def test_without_the_dangerous_call_what_was_passed_on_to_it_is_anyone_s(self) -> None:
        program = program_of(
            """
            import os, shutil
            def clean(folder): shutil.rmtree(folder)
            def note(folder):
                clean(folder)
                os.remove(folder)
            note("a")
            """
        )
        deletes, removes = node(program, "shutil.rmtree(folder)"), node(program, "os.remove(folder)")
        put = Replace(node(program, '"a"'), ("'b'",))
        assert not passes(program, put) and not passes(program, put, Remove(program.module.body[1]))
        assert not passes(program, put, Remove(program.parents[deletes])), "another one is left"
        assert not passes(program, put, Remove(program.parents[removes]))
        assert passes(program, put, Remove(program.parents[deletes]), Remove(program.parents[removes]))

    def test_a_builtin_is_no_method_of_its_name(self) -> None:
        source = """
        import os
        class Log:
            def next(self): os.remove(self.path)
        {}print(next(iter([1, 2])))
        """
        inner = program_of(source.format(""))
        assert passes(inner, Replace(node(inner, "[1, 2]"), ("[]",)))
        bound = program_of(source.format("next = Log().next\n        "))
        assert not passes(bound, Replace(node(bound, "[1, 2]"), ("[]",)))

    def test_a_name_goes_on_to_stand_for_the_same_function(self) -> None:
        source = """
        from shutil import rmtree
        def rmtree(path):
            print(path)
        tidy = print
        rm = rmtree
        rm = print
        rmtree("a")
        rm("a")
        tidy("a")
        """
        assert removable_lines(source) == ["tidy = print", 'rmtree("a")', 'rm("a")', 'tidy("a")']
        program = program_of(source)
        assert not passes(program, Remove(program.module.body[1]))

    def test_names_of_other_functions_do_not_count(self) -> None:
        source = """
        import os
        def one():
            p = 1
            os.remove(p)
        def two():
            p = 2
            return p
        """
        lines = removable_lines(source)
        assert "p = 1" not in lines and "p = 2" in lines

    def test_a_call_is_not_freed_from_its_condition(self) -> None:
        program = program_of(
            """
            import os
            clean = False
            if clean:
                os.remove("a")
            elif other:
                pass
            clean and os.remove("b")
            """
        )
        question = program.module.body[2]
        assert isinstance(question, cst.If)
        assert not passes(program, Unwrap(question, (question.body,)))
        assert not passes(program, Replace(question.test, ("1",)))
        assert not passes(program, Remove(program.module.body[1]))
        assert not passes(program, Replace(node(program, 'clean and os.remove("b")', cst.BooleanOperation),
                                           (node(program, 'os.remove("b")', cst.Call),)))  # fmt: skip
        assert passes(program, Remove(question))
        assert passes(program, Remove(question.body))

    def test_nor_from_the_arm_before_it(self) -> None:
        program = program_of("import os\nif safe: pass\nelif also: pass\nelse: os.remove(a)\n")
        question = program.module.body[1]
        assert isinstance(question, cst.If) and isinstance(question.orelse, cst.If)
        assert not passes(program, Remove(question.body))
        assert not passes(program, Remove(question.orelse))
        assert passes(program, Remove(question))

    def test_nothing_is_deleted_that_was_not_before(self, tmp_path: Path) -> None:
        """The accident itself: every allowed removal of one line is run, and the precious file must live."""
        precious = tmp_path / "precious"
        source = program_of(
            f"""
            import os, shutil
            name = ""
            root = {str(tmp_path)!r}
            name = "scratch"
            if not name:
                root = "nowhere"
            shutil.rmtree(os.path.join(root, name))
            done = 1
            """
        )
        lines = [n for n in source.layout.outer if isinstance(n, cst.BaseStatement)]
        tried = 0
        for edit in allowed_edits(source, [Edit("", (Remove(line),)) for line in lines], frozenset()):
            (tmp_path / "scratch").mkdir(exist_ok=True)
            precious.write_text("x")
            exec(compile(render(source, [edit]).text, "candidate", "exec"), {})
            tried += 1
            assert precious.exists()
        assert tried == 2


@pytest.mark.parametrize(
    ("find", "source"),
    [
        (configs.find, "DIRS = {'a': 'x', 'b': 'y'}\nshutil.rmtree(DIRS[name])"),
        (constants.find, "target = prefix + x\nprefix = '/'\nshutil.rmtree(target)"),
        (expressions.find, "name = base + suffix\nshutil.rmtree(root / name)"),
        (numbers.find, "name = 'run%d' % 64\nshutil.rmtree(name)"),
        (numbers.find, "torch.save(x, 'run%d' % 64)"),
        (expressions.find, "open(root + 'log', 'w')"),
    ],
)
def test_what_names_a_file_or_folder_is_left_alone(find: Callable[[Program], Iterable[Edit]], source: str) -> None:
    program = program_of(f"import shutil, torch\n{source}\n")
    offered = list(find(program))
    left = [render(program, [edit]).text for edit in allowed_edits(program, offered)]
    assert offered and all(source.splitlines()[-1] not in text for text in left) and len(left) < len(offered)
    assert not any("(" in text.splitlines()[-1] for text in left)  # what is left takes the call away


CLEANING = """
import os, shutil
from os.path import join
from shutil import rmtree as clear

class Config:
    root = ROOT
    depth = 100

def folder(config, name, retries=3):
    for attempt in range(retries):
        path = join(config.root, name)
    if config.depth > 4:
        return path
    return join(path, "deeper")

root, name = ROOT, ""
name = "scratch"
config = Config()
count = 64 * 2
if not name:
    root = ""
with open(join(ROOT, "log"), "w") as log:
    try:
        if name != "" and count:
            shutil.rmtree(join(root, name))
        else:
            clear(root)
    finally:
        done = count + 1
clear(folder(config, name))
clear(folder(config, "scratch", retries=1))
target = join(root, "list")
target = join(target, name)
os.remove(target)
print(done)
"""
DELETED = {"/r/scratch", "/r/list/scratch"}


@pytest.mark.parametrize("one", [each for each in PASSES if not each.needs_values], ids=lambda each: each.name)
def test_no_pass_makes_a_script_delete_what_it_did_not(one: Pass, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every allowed edit of every pass is run, alone and all together; what it would delete is noted, not deleted."""
    deleted: list[str] = []
    opened: list[str] = []
    for where in ("shutil.rmtree", "os.remove"):
        monkeypatch.setattr(where, lambda path, *rest, **more: deleted.append(path))
    names = {"open": lambda path, *rest: opened.append(path) or nullcontext()}
    program = program_of(CLEANING.replace("ROOT", "'/r'"))
    edits = allowed_edits(program, one.find(program))
    for chosen in [[], edits, *([edit] for edit in edits)]:
        text = render(program, chosen).text
        with suppress(Exception):
            exec(compile(text, "candidate", "exec"), dict(names))
        assert set(deleted) <= DELETED and set(opened) <= {"/r/log"}, text
        assert chosen or set(deleted) == DELETED
        deleted.clear()


INLINED = """
def cut(n, block=32):
    x = torch.empty(n)
    grid = (triton.cdiv(n, block), 2)  # shrink: keep
    for at in range(n // 2):  # shrink: keep-head
        kernel[grid](x, 64 * 2)  # shrink: keep-parts 64 * 2
    return x


a = cut(64)
"""


def test_a_kept_statement_moves_with_the_function_around_it() -> None:
    program = program_of(INLINED)
    [edit] = allowed_edits(program, inlining.find(program))
    assert render(program, [edit]).text.strip().splitlines() == [
        "a = torch.empty(64)",
        "grid = (triton.cdiv(64, 32), 2)  # shrink: keep",
        "for at in range(64 // 2):  # shrink: keep-head",
        "    kernel[grid](a, 64 * 2)  # shrink: keep-parts 64 * 2",
    ]


@pytest.mark.parametrize(
    "changed",
    [INLINED.replace("64 * 2", "n * 2"), INLINED.replace("block=32):", "block=32):  # shrink: keep-head")],
    ids=["an expression that a mark quotes", "the head of the function"],
)
def test_what_would_change_on_the_way_does_not(changed: str) -> None:
    program = program_of(changed)
    assert list(inlining.find(program)) and not allowed_edits(program, inlining.find(program))
