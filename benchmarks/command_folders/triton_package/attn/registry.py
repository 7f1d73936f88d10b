"""Kernels by name."""

_KERNELS = {}


def register(name, signature):
    def registered(kernel):
        _KERNELS[name] = (kernel, signature)
        return kernel

    return registered


def kernels():
    import attn.kernels  # noqa: F401

    return dict(_KERNELS)
