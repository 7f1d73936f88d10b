"""The final layout of a result, as a person would have written it."""

from shrinkray_gpu.passes.layout.layout import layout

__all__ = ["layout"]
