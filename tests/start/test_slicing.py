"""The backward slice of a launch's argument: in each program exactly the lines that say so are in it."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from shrinkray_gpu.start.host_code import HostCode
from shrinkray_gpu.start.slicing import Slicer

LOOPS = """
    def positions(head, tokens):
        found = []  # in
        for _ in range(tokens):  # head
            found.append(head)  # in
            if head > 8:  # head
                head = 0  # in
            seen = len(found)
        return found  # in

    table = positions(3, 4)  # in
    unused = positions
    print(table)
    kernel[(1,)](table)
    """

OBJECTS = """
    @dataclass
    class Config:
        width: int = 4  # in
        depth: int = 5  # in

        @property
        def half(self):
            return self.width // 2  # in

    class Layer:
        def __init__(self, config, name):
            self.config = config  # in
            self.name, self.step = name, 0  # in

        def __call__(self, x, scale):
            y = x * scale
            kernel[(1,)](self.config.half + self.step)
            return y

    layer = Layer(Config(6), other())  # in
    x = torch.zeros(4)
    for step in range(3):  # head
        x = layer(x, 2)  # in
    """

CALLED_OBJECT = """
    class Plans:
        def __init__(self):
            self.kept = {}  # in

        def __call__(self, width):
            key = (width,)  # in
            if key not in self.kept:  # head
                self.kept[key] = width * 2  # in
            return self.kept[key]  # in

        def other(self):
            return 3

    plans = Plans()  # in
    block = plans(16)  # in
    kernel[(1,)](block)
    """

FIELDS = """
    class Router:
        def __init__(self, experts, top_k, name):
            self.experts, self.top_k = experts, top_k  # in
            self.name = name  # in
            self.calls = 0

        def rows(self, scores):
            order = scores.argsort()  # in
            return order  # in

    class Logger:
        def __init__(self, name):
            self.place = name

    router = Router(8, 2, "first")  # in
    placed = router.rows(scores())  # in
    kernel[(1,)](placed)
    """

CACHE = """
    class Cache:
        def __init__(self):
            self.entries = {}  # in
            self.hits = 0

        def get(self, lengths):
            key = max(lengths)  # in
            if key in self.entries:  # head
                self.hits += 1
                return self.entries[key]  # in
            self.entries[key] = sum(lengths)  # in
            return self.entries[key]  # in

    def batches():
        for n in (1, 2):  # head
            yield [n, 3]  # in

    cache = Cache()  # in
    for lengths in batches():  # head
        total = cache.get(lengths)  # in
        kernel[(1,)](total)
    """

LAUNCHES = """
    @triton.jit
    def fill(x_ptr, y_ptr, n):
        at = y_ptr + tl.arange(0, 4)
        tl.store(at, tl.load(x_ptr))

    @triton.jit
    def read(y_ptr, z_ptr):
        tl.store(z_ptr, tl.load(y_ptr))

    x = torch.zeros(4)  # in
    y = torch.zeros(4)  # in
    z = torch.zeros(4)
    n = 4  # in
    fill[(1,)](x, y, n)  # in
    read[(1,)](y, z)
    kernel[(1,)](y)
    """

SCOPES = """
    n = 1
    m = 2  # in

    def inner(n, *, k):
        total = n + m  # in
        k = n
        return total  # in

    def aside(m):
        m += 1
        return m

    def outer(values):
        while values:  # head
            value = values.pop()  # in
            if value < 0:  # head
                continue  # in
            total = inner(value, k=n)  # in
            kernel[(1,)](total)

    data = [1, 2]  # in
    outer(data)  # in
    aside(n)
    """

CHANGED = """
    def fill(rows, other):
        rows[0] = 5  # in
        return other

    rows, spare = [0], [1]  # in
    fill(rows, spare)  # in
    shuffle(rows)  # in
    shuffle(spare)
    torch.cuda.synchronize()
    if (n := len(rows)) > 1:
        pass
    kernel[(1,)](
        rows)
    """


METHODS = """
    class Batch:
        def __init__(self, ids):
            self.ids = ids  # in

        def to(self, device):
            return Batch(self.ids.to(device))  # in

        def first(self, count, name):
            return self.ids[:count]  # in

    kind = torch.int16  # in
    count, name = 3, "a"  # in
    ids = torch.arange(4).to(kind)  # in
    batch = Batch(ids).to("cuda")  # in
    found = batch.first(count, name)  # in
    kernel[(1,)](found)
    """

UNNAMED = """
    class Words:
        def __init__(self):
            self.rows = {}  # in
            self.seen = 0

        def __len__(self):
            return len(self.rows)  # in

        def __repr__(self):
            return f"{self.seen} words"

        def add(self, word):
            self.rows.setdefault(word, 1)  # in
            self.seen += 1

    words = Words()  # in
    words.add("a")  # in
    print(words)
    count = len(words)  # in
    kernel[(1,)](count)
    """

COMPARED = """
    x = torch.zeros(4)  # in
    y = x.clone().requires_grad_(True)
    y.sum().backward()
    torch.testing.assert_close(x, y)
    kernel[(1,)](x)
    """

NEVER_CALLED = """
    class Pool:
        def __init__(self, blocks):
            self.free = list(range(blocks))  # in

        def take(self):
            return self.free.pop()  # in

        def release(self, block):
            self.free.append(block)

    pool = Pool(8)  # in
    block = pool.take()  # in
    log.info("block %s", block)
    kernel[(1,)](block)
    """


def test_where_no_kernel_ran_none_has_made_anything() -> None:
    tree = ast.parse(dedent(LAUNCHES))
    launch = tree.body[-1]
    assert isinstance(launch, ast.Expr) and isinstance(launch.value, ast.Call)
    found = Slicer(HostCode(tree, launched=False)).behind([launch], launch.value.args)
    assert [ast.unparse(each) for each in found.statements] == ["y = torch.zeros(4)"]


def test_a_first_launch_does_not_hang_on_the_loop_next_around_it() -> None:
    program = """
    count = 0
    for size in sizes:
        count += 1
    for step in range(steps):
        for row in range(rows):
            kernel[(1,)](count)
    """
    tree = ast.parse(dedent(program))
    [launch] = [node for node in ast.walk(tree) if isinstance(node, ast.Expr)]
    assert isinstance(launch.value, ast.Call)
    for first, heads in ((True, ["range(steps)", "sizes"]), (False, ["range(rows)", "range(steps)", "sizes"])):
        found = Slicer(HostCode(tree)).behind([launch], launch.value.args, first=first)
        assert sorted(ast.unparse(each.iter) for each in found.heads if isinstance(each, ast.For)) == heads


@pytest.mark.parametrize(
    "program",
    [pytest.param(text, id=name) for name, text in list(globals().items()) if name.isupper()],
)
def test_exactly_what_the_value_hangs_on(program: str) -> None:
    text = dedent(program)
    tree = ast.parse(text)
    [launch] = [
        node for node in ast.walk(tree) if isinstance(node, ast.Expr) and ast.unparse(node).startswith("kernel")
    ]
    assert isinstance(launch.value, ast.Call)
    found = Slicer(HostCode(tree)).behind([launch], launch.value.args)
    assert not found.is_open
    lines = text.split("\n")
    marked = {mark: [n for n, line in enumerate(lines, 1) if line.endswith(f"# {mark}")] for mark in ("in", "head")}
    assert sorted({each.lineno for each in found.statements}) == marked["in"]
    assert sorted(each.lineno for each in found.heads) == marked["head"]


FILLED = """
    @triton.jit
    def other(x, out):
        tl.store(out, tl.load(x))

    def fill(x, out):
        other[(4,)](x, out)  # content

    n = torch.tensor([3])  # in
    other[(1,)](n, n)  # in
    like = torch.zeros(int(n.item()))  # in
    other[(1,)](n, like)  # content
    like.fill_(7)  # content
    table = torch.empty_like(like, dtype=torch.int32)  # in
    fill(like, table)  # content
    part = table.view(-1)  # in
    fill(like, part)  # content
    kernel[(1,)](part)
    """


@pytest.mark.parametrize("shape", [True, False])
def test_what_is_written_into_a_tensor_changes_no_shape(*, shape: bool) -> None:
    text = dedent(FILLED)
    tree = ast.parse(text)
    launch = tree.body[-1]
    assert isinstance(launch, ast.Expr) and isinstance(launch.value, ast.Call)
    values = launch.value.args
    found = Slicer(HostCode(tree)).behind([launch], values, shaped=values if shape else ())
    ends = ("# in",) if shape else ("# in", "# content")
    lines = [n for n, line in enumerate(text.split("\n"), 1) if line.endswith(ends)]
    assert sorted({each.lineno for each in found.statements}) == lines


@pytest.mark.parametrize(
    "program",
    [
        "def f(n):\n    kernel[(1,)](n)\nTABLE['f'](3)\n",
        "def f(n, *, block):\n    kernel[(1,)](block)\nf(3)\n",
        "def f(n):\n    kernel[(1,)](n)\nsetattr(pool, 'g', partial(f, 3))\npool.g()\n",
        "def more(h):\n    return lambda n: h(n + 1)\n@more\ndef f(n):\n    kernel[(1,)](n)\nf(3)\n",
    ],
)
def test_what_is_called_or_passed_by_a_way_that_nobody_sees_is_told(program: str) -> None:
    tree = ast.parse(program)
    [launch] = [
        node for node in ast.walk(tree) if isinstance(node, ast.Expr) and ast.unparse(node).startswith("kernel")
    ]
    assert isinstance(launch.value, ast.Call)
    assert Slicer(HostCode(tree)).behind([launch], launch.value.args).is_open


def test_a_long_chain_is_followed() -> None:
    chain = "x0 = 1\n" + "".join(f"x{n} = x{n - 1} + 1\n" for n in range(1, 3000)) + "kernel[(1,)](x2999)\n"
    tree = ast.parse(chain)
    launch = tree.body[-1]
    assert isinstance(launch, ast.Expr) and isinstance(launch.value, ast.Call)
    assert len(Slicer(HostCode(tree)).behind([launch], launch.value.args).statements) == 3000


@pytest.mark.parametrize(
    ("body", "written"),
    [
        ("tl.store(x + tl.program_id(0) * n + tl.arange(0, B), 0.0)", {"x"}),
        ("at = x + n * B\n    tl.store(at, tl.load(y + n))", {"x"}),
        ("for i in range(0, n, B):\n        y += i\n        tl.store(y[:, None] + x // n, 0.0)", {"y"}),
        ("helper(x, n)", {"x", "n"}),
        ("tl.atomic_add(y + tl.load(x), 1)", {"y"}),
    ],
)
def test_a_kernel_writes_through_what_may_be_a_pointer(body: str, written: set[str]) -> None:
    kernel = f"@triton.jit\ndef kernel(x, y, n, B: tl.constexpr):\n    {body}\n"
    tree = ast.parse(f"{kernel}x, y, n, b = 1, 2, 3, 4\nkernel[(1,)](x, y, n, B=b)\n")
    code, launch = HostCode(tree), tree.body[-1]
    assert {name for (_, name), found in code.definitions.items() if launch in found} == written
