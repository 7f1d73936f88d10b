import pytest

from attn import kernels
from attn.build import build


@pytest.mark.parametrize("name", ["norm", "rope", "forward"])
def test_kernel_compiles(name, config):
    kernel, signature = kernels()[name]
    built = build(kernel, signature, config)
    assert "ptx" in built.asm


def test_every_kernel_has_a_signature():
    for kernel, signature in kernels().values():
        assert set(signature) <= set(kernel.arg_names)
