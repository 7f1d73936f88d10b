"""Compiles a kernel without a GPU."""

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


def build(kernel, signature, config, arch=90):
    constants = config.constants()
    types = {**signature, **{name: "constexpr" for name in constants}}
    names = kernel.arg_names
    values = {(names.index(name),): value for name, value in constants.items()}
    source = ASTSource(kernel, types, constexprs=values)
    return triton.compile(source, target=GPUTarget("cuda", arch, 32), options=config.options)
