"""Passes for code of the host that launches kernels: configurations, repeats, launches, observed values."""
