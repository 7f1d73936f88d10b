from __future__ import annotations

from shrinkray_gpu.passes.python import arguments
from shrinkray_gpu.reduction.program import Program
from tests.passes.offers import program
from tests.passes.outcomes import lines, offers


def test_an_unused_parameter_goes_with_its_arguments() -> None:
    text = """
        def f(a, b, c=1):
            return b
        f(1, 2)
        f(b=3, a=4, c=5)
    """
    found = offers(arguments, text)
    assert found["remove parameter a of f"] == lines("""
        def f(b, c=1):
            return b
        f(2)
        f(b=3, c=5)
    """)


def test_launches_are_calls() -> None:
    text = """
        @triton.jit
        def kernel(x, n, BLOCK: tl.constexpr):
            tl.store(x, BLOCK)
        kernel[(1,)](x, n, BLOCK=64, num_warps=4)
    """
    found = offers(arguments, text)
    assert "kernel[(1,)](x, BLOCK=64, num_warps=4)" in found["remove parameter n of kernel"]
    assert found["put 64 for parameter BLOCK of kernel"] == lines("""
        @triton.jit
        def kernel(x, n):
            tl.store(x, 64)
        kernel[(1,)](x, n, num_warps=4)
    """)


def test_so_are_the_tables_of_a_kernel_that_is_only_compiled() -> None:
    text = """
        @triton.jit
        def kernel(x, n, BLOCK: tl.constexpr):
            tl.store(x, BLOCK)
        source = ASTSource(kernel, {"x": "*fp32", "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": 64})
        other = {"n": 1, "rows": 2}
    """
    assert offers(arguments, text)["remove parameter n of kernel"] == lines("""
        @triton.jit
        def kernel(x, BLOCK: tl.constexpr):
            tl.store(x, BLOCK)
        source = ASTSource(kernel, {"x": "*fp32", "BLOCK": "constexpr"}, {"BLOCK": 64})
        other = {"n": 1, "rows": 2}
    """)


def test_a_constant_of_a_kernel_that_is_only_compiled_is_written_in_its_body() -> None:
    text = """
        @triton.jit
        def kernel(x, BLOCK: tl.constexpr, KIND):
            tl.store(x, BLOCK)
        source = ASTSource(kernel, {"x": "*fp32", "BLOCK": "constexpr", "KIND": "i32"}, {"BLOCK": 64})
    """
    found = offers(arguments, text)
    assert found["put 64 for parameter BLOCK of kernel"] == lines("""
        @triton.jit
        def kernel(x, KIND):
            tl.store(x, 64)
        source = ASTSource(kernel, {"x": "*fp32", "KIND": "i32"}, {})
    """)
    assert [what for what in found if what.startswith("put")] == ["put 64 for parameter BLOCK of kernel"]


def test_what_is_divisible_by_16_is_so_after_a_parameter_less() -> None:
    text = """
        @triton.jit
        def kernel(n, x, m, y):
            tl.store(x, y)
        source = ASTSource(kernel, {"n": "i32", "x": "*fp32"}, {}, {(0,): A, (1,): B, (3,): C})
    """
    found = offers(arguments, text)
    assert "{(0,): B, (2,): C}" in found["remove parameter n of kernel"]
    assert "{(0,): A, (1,): B, (2,): C}" in found["remove parameter m of kernel"]
    edits = [edit for edit in arguments.find(Program.from_text(lines(text))) if edit.what.startswith("remove")]
    assert len({edit.rivals for edit in edits}) == 1 and edits[0].rivals  # two at once would count one twice


def test_the_one_literal_argument_is_written_in_the_body() -> None:
    found = offers(arguments, "def f(a):\n    return -a ** 2\nf(-3)\nf(a=-3)\n")
    assert found["put -3 for parameter a of f"] == "def f():\n    return -(-3) ** 2\nf()\nf()\n"


def test_a_parameter_that_is_assigned_to_starts_out_with_the_value() -> None:
    found = offers(arguments, "def f(n):\n    n += 1\n    return n\nf(2)\n")
    assert found["put 2 for parameter n of f"] == "def f():\n    n = 2\n    n += 1\n    return n\nf()\n"


def test_different_arguments_are_no_constant_and_neither_are_those_we_cannot_see() -> None:
    assert not any("put" in what for what in offers(arguments, "def f(a): return a\nf(1)\nf(2)\n"))
    assert not any("put" in what for what in offers(arguments, "def f(a): return a\nf(1)\nmap(f, xs)\n"))


def test_one_parameter_for_two_that_get_the_same() -> None:
    text = """
        @triton.jit
        def kernel(x, y, n, BLOCK: tl.constexpr):
            tl.store(y, tl.load(x) + n)
        a = torch.zeros(8, device="cuda")
        b = torch.zeros(8,  device="cuda")
        kernel[(1,)](a, b, 8, BLOCK=8)
    """
    assert offers(arguments, text)["x for parameter y of kernel"] == lines("""
        @triton.jit
        def kernel(x, n, BLOCK: tl.constexpr):
            tl.store(x, tl.load(x) + n)
        a = torch.zeros(8, device="cuda")
        b = torch.zeros(8,  device="cuda")
        kernel[(1,)](a, 8, BLOCK=8)
    """)
    assert "f(a, c)" in offers(arguments, "def f(x, y, z): return x + y * z\nf(a, a, c)\n")["x for parameter y of f"]


def test_what_a_kernel_gets_twice_may_be_the_mistake() -> None:
    text = """
        @triton.jit
        def kernel(x, stride, other_stride):
            tl.store(x + stride, other_stride)
        def launch(a, b, c):
            kernel[(1,)](a, a.stride(0), a.stride(0))
            return b * c
        launch(x, y, y)
    """
    found = [{edit.what for edit in find(program(text))} for find in (arguments.find, arguments.find_apart)]
    assert found[0] - found[1] == {"stride for parameter other_stride of kernel"}
    assert "b for parameter c of launch" in found[1]


def test_tensors_of_other_shapes_are_not_the_same() -> None:
    text = "def f(x, y): return x + y\na = torch.zeros(8)\nb = torch.zeros(9)\nf(a, b)\n"
    assert not any("for parameter" in what for what in offers(arguments, text))


def test_a_parameter_that_changes_is_not_the_other_one() -> None:
    found = offers(arguments, "def f(x, y):\n y += 1\n return x + y\nf(a, a)\n")
    assert not any("for parameter" in what for what in found)


def test_a_default_that_is_never_overridden() -> None:
    assert offers(arguments, "def f(a=7): return g(a)\nf()\n")["put 7 for parameter a of f"] == (
        "def f(): return g(7)\nf()\n"
    )


def test_left_to_the_default() -> None:
    found = offers(arguments, "def f(a, b=7): return g(a, b)\nf(x, y)\nf(z, b=w)\n")
    assert found["leave b of f to its default"] == "def f(a, b=7): return g(a, b)\nf(x)\nf(z)\n"


def test_star_arguments_are_not_touched() -> None:
    assert offers(arguments, "def f(a, b): return 1\nf(*xs)\n") == {}
    found = offers(arguments, "def f(a, b): return 1\nf(1, **options)\n")
    assert found.keys() == {"remove parameter a of f"}  # b may be among the options


def test_methods_and_init() -> None:
    text = """
        class Loss:
            def __init__(self, beta, scale):
                self.beta = beta
            def compute(self, x, unused):
                return x * self.beta
        loss = Loss(0.5, scale=2)
        loss.compute(x, 1)
    """
    found = offers(arguments, text)
    assert "loss = Loss(0.5)" in found["remove parameter scale of __init__"]
    assert "loss.compute(x)" in found["remove parameter unused of compute"]
    assert not any("self" in what for what in found)


def test_an_autograd_function_and_what_its_backward_returns() -> None:
    text = """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, flag):
                return x
            @staticmethod
            def backward(ctx, dy):
                return dy, None
        F.apply(x, True)
    """
    result = offers(arguments, text)["remove parameter flag of forward"]
    assert "def forward(ctx, x):" in result and "return dy," in result and "None" not in result
    assert "F.apply(x)" in result


def test_a_string_does_not_enter_an_f_string() -> None:
    found = offers(arguments, 'def f(name):\n    print(f"{name}")\nf("a")\n')
    assert found['put "a" for parameter name of f'] == 'def f():\n    name = "a"\n    print(f"{name}")\nf()\n'


def test_a_parameter_goes_with_the_statements_that_read_it() -> None:
    text = """
        def f(x, check):
            y = g(x)
            if check:
                h(y)
            return y
        f(x, a < b)
    """
    assert offers(arguments, text)["remove parameter check of f and its uses"] == lines("""
        def f(x):
            y = g(x)
            return y
        f(x)
    """)


def test_one_pointer_for_two_where_its_tensor_has_as_many_elements() -> None:
    text = """
        @triton.jit
        def kernel(a, b):
            tl.store(b, tl.load(a))
        a = torch.zeros(64, 64, dtype=torch.int8)
        kernel[(1,)](a, torch.zeros((16, 16)))
    """
    found = offers(arguments, text)
    assert found["a serves for parameter b of kernel"] == lines("""
        @triton.jit
        def kernel(a):
            tl.store(a, tl.load(a))
        a = torch.zeros(64, 64, dtype=torch.int8)
        kernel[(1,)](a)
    """)
    assert "b serves for parameter a of kernel" not in found
