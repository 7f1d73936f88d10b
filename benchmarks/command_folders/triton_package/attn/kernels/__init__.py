from attn.kernels import forward, norm, rope  # noqa: F401
